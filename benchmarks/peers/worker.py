"""A process that holds one model in one engine: `python -m peers.worker JSON`. It says "ready" in a line of JSON, then
answers every number of steps on its standard input with the times that they took; an empty line ends it."""

import json
import os
import sys
import time

import numpy as np

from .engines import ENGINES
from .networks import feeds


def measure(engine, steps):
    wall, cpu = [], []
    for _ in range(steps):
        before = time.perf_counter(), time.process_time()
        engine.step()
        wall.append(1e3 * (time.perf_counter() - before[0]))
        cpu.append(1e3 * (time.process_time() - before[1]))
    return {"wall": wall, "cpu": cpu}


def main():
    task = json.loads(sys.argv[1])
    os.sched_setaffinity(0, task["cores"])
    # Answers alone go to the standard output: libraries print.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(value):
        print(json.dumps(value), file=answers, flush=True)
    try:
        engine = ENGINES[task["engine"]](task["model"], feeds(task["model"]), len(task["cores"]), task)
        engine.step()
        np.savez(task["outputs"], **engine.outputs())
        # Of the second step: the first one may do more.
        answer({"ready": measure(engine, 1)["wall"][0]})
    except Exception as error:  # pylint: disable=broad-except
        answer({"error": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"})
        return
    for line in sys.stdin:
        if not line.strip():
            break
        answer(measure(engine, int(line)))


if __name__ == "__main__":
    main()
