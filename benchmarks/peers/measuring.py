"""One row: a network in all engines, step by step in turn."""

import json
import pathlib
import statistics
import subprocess
import sys

import numpy as np

from .networks import write

# A turn of an engine takes about so long, and has at least so many steps.
TURN_MS, TURN_STEPS = 400, 2


class Worker:
    def __init__(self, engine, model, cores, work, build, compile_options):
        self.outputs = work / f"{engine}.npz"
        # "soap+--no-fuse": SOAP with more options of the compiler; of OpenVINO, NAME=VALUE of a property.
        name, *more = engine.split("+")
        task = {"engine": name, "model": str(model), "cores": cores, "work": str(work), "build": str(build),
                "compile": compile_options, "options": more, "outputs": str(self.outputs)}
        with open(work / f"{engine}.log", "w") as log:
            self.process = subprocess.Popen([sys.executable, "-m", "peers.worker", json.dumps(task)], text=True,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        self.wall, self.cpu = [], []
        first = self.answer()
        self.error = first.get("error")
        if not self.error:
            self.steps = max(TURN_STEPS, round(TURN_MS / first["ready"]))

    def answer(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"error": f"ended with code {self.process.wait()}"}

    def turn(self):
        """The medians of one turn."""
        print(self.steps, file=self.process.stdin, flush=True)
        times = self.answer()
        if "error" in times:
            self.error = times["error"]
            return
        self.wall.append(statistics.median(times["wall"]))
        self.cpu.append(statistics.median(times["cpu"]))

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def difference(ours, theirs):
    """The largest over all outputs of the norm of the difference over the norm."""
    a, b = np.load(ours), np.load(theirs)
    names = set(a.files) & set(b.files)
    if len(names) < len(a.files):
        return None
    return max(float(np.linalg.norm((a[name] - b[name]).ravel()) / max(np.linalg.norm(b[name].ravel()), 1e-30))
               for name in names)


def measure_row(name, batch, arguments):
    """What the state file keeps of a row."""
    work = arguments.work / f"{name}.b{batch}"
    work.mkdir(parents=True, exist_ok=True)
    model = work / "model.onnx"
    if not model.exists():
        write(name, batch, model, arguments.build)
    workers = {engine: Worker(engine, model, arguments.cores, work, arguments.build, arguments.compile)
               for engine in arguments.engines}
    alive = [worker for worker in workers.values() if not worker.error]
    # The first turn of each warms caches up and is dropped.
    for turn in range(arguments.rounds + 1):
        for worker in alive[turn % len(alive):] + alive[:turn % len(alive)]:
            if not worker.error:
                worker.turn()
    record = {"row": row_name(name, batch, arguments), "network": name, "batch": batch, "engines": {}}
    ours = workers.get(first_soap(arguments.engines))
    for engine, worker in workers.items():
        worker.end()
        record["engines"][engine] = {"error": worker.error} if worker.error else {
            "wall": worker.wall[1:], "cpu": worker.cpu[1:],
            "difference": difference(ours.outputs, worker.outputs)
            if ours and worker is not ours and not ours.error else None}
    if not arguments.keep:
        pathlib.Path(f"{model}.data").unlink(missing_ok=True)
        model.unlink()
    return record


def first_soap(engines):
    return next((engine for engine in engines if engine.startswith("soap")), None)


def row_name(name, batch, arguments):
    label = f".{arguments.label}" if arguments.label else ""
    return f"{name}.b{batch}.c{len(arguments.cores)}{label}"
