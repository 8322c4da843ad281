#!/usr/bin/env python3
"""Any strategy is right: random graphs of every operator that the importer
knows, under random strategies on one to eight devices. Several devices must
equal one device, one device onnxruntime, within 1e-4 of the norm; what moves
must be what was planned. The last step of two is compared, so that nothing of
the first may be left over.

  run.py --build-dir=build/release [--cases=1000] [--seed=1]
  run.py --build-dir=build/release --repeat=FOLDER
  run.py --build-dir=build/release --check-operators

Runs in the environment of scripts/setup.sh. A failure is made small, written to
a folder of --failures and printed with the command that repeats it. Exit code 1
if a case fails, or if something that a strategy can do did not occur.
"""

import argparse
import concurrent.futures
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from xml.sax.saxutils import quoteattr

import numpy as np
import onnx

import cases
import graphs
import judge
import operators
import shrink
import tables
from worker import Worker

ROOT = pathlib.Path(__file__).resolve().parents[2]
GRAPHS_PER_WORKER = 150  # Code that was linked in is never freed.
MAX_SHRUNK = 5  # Failures per job that are made small.

class Job:
    """A worker and the cases that it is given."""

    def __init__(self, options):
        self.options = options
        self.tool = Worker(options.build_dir,
                           tempfile.mkdtemp(prefix="job", dir=options.scratch),
                           options.level)
        self.served = self.shrunk = 0

    def finish(self):
        """Ends the worker; what it has to say, if it did not end well."""
        code = self.tool.finish()
        return f"the worker ended with {code}: {self.tool.said()}" if code else ""

    def run(self, number):
        """All strategies of one graph: their number, what they cover, the largest
        difference, and the folders of failures."""
        options = self.options
        graph, reference, _ = cases.draw_graph(options.seed, number)
        count = min(options.strategies, options.cases - number * options.strategies)
        runs = cases.draw_runs(options.seed, number, count)
        answers, failures = cases.check(self.tool, graph, reference, runs)
        coverage = tables.Coverage()
        coverage.add_graph(graph)
        for answer in answers:
            if "coverage" in answer:
                coverage.add(answer["coverage"])
        folders = []
        for index, failure in enumerate(failures):
            folder = pathlib.Path(options.failures) / f"{options.seed}-{number}-{index}"
            message = failure.message
            if self.shrunk < MAX_SHRUNK:
                self.shrunk += 1
                failure = shrink.shrink(self.tool, failure)
            write(failure, folder)
            folders.append((str(folder), message, failure.message))
        self.served += 1
        if self.served % GRAPHS_PER_WORKER == 0 and (message := self.finish()):
            folders.append((None, message, ""))
        difference = max((answer.get("difference", 0) for answer in answers), default=0)
        return number, count, coverage, difference, folders


# -- Failures


def write(failure, folder):
    folder.mkdir(parents=True, exist_ok=True)
    failure.graph.save(folder / "graph.onnx")
    for name, value in failure.graph.inputs.items():
        np.save(folder / f"{name}.npy", value)
    run = dict(failure.run or {"devices": 1, "strategy": "single"})
    if failure.run and failure.strategy:
        run["strategy"] = failure.strategy
        (folder / "strategy.json").write_text(json.dumps(failure.strategy, indent=1))
    (folder / "run.json").write_text(json.dumps(run))


def read(folder):
    model = onnx.load(folder / "graph.onnx")
    inputs = {value.name: np.load(folder / f"{value.name}.npy")
              for value in model.graph.input}
    return graphs.Graph(model, inputs), json.loads((folder / "run.json").read_text())


def describe(folder):
    graph, run = read(pathlib.Path(folder))
    shapes = {name: list(value.shape) for name, value in graph.inputs.items()}
    lines = [f"inputs {shapes}"]
    lines += onnx.printer.to_text(graph.model.graph).splitlines()[1:]
    if isinstance(run["strategy"], dict):
        lines.append(f"on {run['devices']} devices:")
        lines += [json.dumps(entry) for entry in run["strategy"]["ops"]]
        if isinstance(run["strategy"].get("order"), list):
            lines.append(f"order {run['strategy']['order']}")
    else:
        lines.append(str(run))
    return "\n".join("    " + line[:300] for line in lines)


def repeat(folder, arguments):
    """Runs a written failure again; the exit code."""
    graph, run = read(folder)
    print(describe(folder))
    outputs = judge.evaluate(graph.model, graph.inputs)
    job = Job(arguments)
    _, failures = cases.check(job.tool, graph, outputs, [run])
    if message := job.finish():
        failures.append(cases.Failure(graph, run, None, message))
    for failure in failures:
        print(f"FAILED: {failure.message}")
    print(f"{len(failures)} failed")
    return 1 if failures else 0


# -- The run


def write_junit(path, results, missing):
    total = sum(count for _, count, *_ in results) + 1
    with open(path, "w") as file:
        file.write(f'<testsuite name="property" tests="{total}">\n')
        for number, count, _, _, folders in results:
            for index in range(count):
                name = quoteattr(f"graph {number} strategy {index}")
                body = ""
                if index < len(folders):
                    body = f"<failure message={quoteattr(folders[index][1][:500])}/>"
                file.write(f'<testcase classname="property" name={name}>{body}'
                           "</testcase>\n")
        body = f"<failure message={quoteattr('; '.join(missing))}/>" if missing else ""
        file.write(f'<testcase classname="property" name="everything occurs">{body}'
                   "</testcase>\n</testsuite>\n")


def known_operators(build):
    """What the importer computes, as it lists it."""
    listed = subprocess.run([f"{build}/bin/soap-translate", "--list-onnx-ops"],
                            capture_output=True, text=True, check=True).stdout
    rows = [line.split("|")[1:-1] for line in listed.splitlines()[2:]]
    folds = {"Constant", "ConstantOfShape"}
    return [name for name, _, becomes, _ in ([c.strip() for c in row] for row in rows)
            if becomes != "folds" and name not in folds]


def differences(build):
    """Where operators.py has other operators than the importer, or other sets."""
    known, drawn = set(known_operators(build)), set(operators.FUNCTIONS)
    lines = [f"a generator of {name} in test/property/operators.py"
             for name in sorted(known - drawn)]
    lines += [f"{name} of test/property/operators.py in the importer"
              for name in sorted(drawn - known)]
    for name, (since, until) in operators.SETS.items():
        if not any(since <= opset <= until for opset in graphs.OPSETS):
            lines.append(f"an operator set that has {name} in test/property/graphs.py")
    return lines


def report(number, folder, message, small, arguments):
    print(f"\nFAILED graph {number}: {message[:4000]}")
    if folder:
        print(f"  made small: {small[:2000]}\n{describe(folder)}\n"
              f"  repeat: {sys.executable} {__file__} "
              f"--build-dir={arguments.build_dir} --repeat={folder}", flush=True)


def run_all(arguments):
    numbers = range(-(-arguments.cases // arguments.strategies))
    results, coverage, difference, failed = [], tables.Coverage(), 0.0, 0
    local, jobs = threading.local(), []

    def start():
        local.job = Job(arguments)
        jobs.append(local.job)

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs, initializer=start) as pool:
        for result in pool.map(lambda number: local.job.run(number), numbers):
            results.append(result)
            number, _, counted, largest, folders = result
            coverage.merge(counted)
            difference = max(difference, largest)
            failed += len(folders)
            for folder in folders:
                report(number, *folder, arguments)
            if (number + 1) % 250 == 0:
                print(f"{(number + 1) * arguments.strategies} cases, {failed} failed",
                      flush=True)
    for job in jobs:
        if message := job.finish():
            failed += 1
            results[-1][-1].append((None, message, ""))
            report(results[-1][0], None, message, "", arguments)
    return results, coverage, difference, failed


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", default=str(ROOT / "build" / "release"))
    parser.add_argument("--cases", type=int, default=1000,
                        help="a graph and a strategy each")
    parser.add_argument("--strategies", type=int, default=4, help="per graph")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--level", type=int, default=3,
                        help="how much native kernels are optimised")
    parser.add_argument("--check-operators", action="store_true",
                        help="only say whether the operators are the importer's")
    parser.add_argument("--allow-missing", action="store_true",
                        help="a run too short for everything to occur")
    parser.add_argument("--failures", help="folder, default in the build folder")
    parser.add_argument("--junitxml")
    parser.add_argument("--repeat", type=pathlib.Path, help="a folder of --failures")
    arguments = parser.parse_args()
    if arguments.cases < 1 or arguments.strategies < 1 or arguments.jobs < 1:
        parser.error("expected at least one case, strategy and job")
    if arguments.check_operators:
        lines = differences(arguments.build_dir)
        print("\n".join(f"missing: {line}" for line in lines)
              or f"all {len(operators.FUNCTIONS)} operators of the importer are drawn")
        sys.exit(1 if lines else 0)
    arguments.failures = arguments.failures or f"{arguments.build_dir}/property-failures"

    arguments.scratch = tempfile.mkdtemp(prefix="soap-property-")
    try:
        if arguments.repeat:
            sys.exit(repeat(arguments.repeat, arguments))
        print(f"seed {arguments.seed}: {arguments.cases} cases, "
              f"{arguments.strategies} strategies per graph", flush=True)
        start = time.monotonic()
        results, coverage, difference, failed = run_all(arguments)
        coverage.print()
        missing = []
        if not arguments.allow_missing:
            missing = differences(arguments.build_dir)
            missing += coverage.missing(sorted(operators.FUNCTIONS))
        for line in missing:
            print(f"missing: {line}")
        if arguments.junitxml:
            write_junit(arguments.junitxml, results, missing)
        print(f"seed {arguments.seed}: {arguments.cases} cases on {len(results)} graphs "
              f"in {time.monotonic() - start:.0f} s, largest difference "
              f"{difference:.1e}, {failed} failed")
        sys.exit(1 if failed or missing else 0)
    finally:
        shutil.rmtree(arguments.scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
