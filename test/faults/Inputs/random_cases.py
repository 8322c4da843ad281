"""Runs cases of the property test with planted faults, each until a case fails,
and says which.

usage: random_cases.py BUILD WORK GRAPHS FAULT...

BUILD/test/faults has the worker in which faults are planted. `none` plants none:
all graphs have to pass.
"""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "property"))
import cases
from worker import Worker

SEED = "planted"
STRATEGIES = 4  # Per graph.


def catcher(build, folder, faults, graphs):
    os.environ["SOAP_FAULT"] = faults
    worker = Worker(build / "test" / "faults", folder, level=0)
    try:
        for number, (graph, reference) in enumerate(graphs):
            runs = cases.draw_runs(SEED, number, STRATEGIES)
            _, failures = cases.check(worker, graph, reference, runs)
            if failures:
                return f"graph {number}: {failures[0].message.splitlines()[0]}"
        return f"no graph of {len(graphs)}"
    finally:
        worker.stop()


def main():
    build, work = map(pathlib.Path, sys.argv[1:3])
    os.environ["LD_LIBRARY_PATH"] = str(build / "test" / "faults")
    graphs = [cases.draw_graph(SEED, number)[:2] for number in range(int(sys.argv[3]))]
    for faults in sys.argv[4:]:
        print(f"{faults}: caught by {catcher(build, work, faults, graphs)}", flush=True)


main()
