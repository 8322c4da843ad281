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
import dataclasses
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from xml.sax.saxutils import quoteattr

import numpy as np
import onnx

import cases
import graphs
import judge
import operators
import shrink
import tables
from worker import Crash, Worker, read_history, write_history

ROOT = pathlib.Path(__file__).resolve().parents[2]
GRAPHS_PER_WORKER = 150  # Code that was linked in is never freed.
MAX_SHRUNK = 5  # Failures per job that are made small.
REPEATS = 5  # Of a failure, to see whether it is one every time.
MAX_SEARCHED = 20000  # Graphs that are looked at for operators that chance left out.

@dataclasses.dataclass
class Result:
    """What the strategies of one graph did."""

    number: int  # Of the graph.
    aimed: bool  # At what chance had left out.
    count: int  # Strategies.
    coverage: tables.Coverage
    difference: float  # The largest.
    failures: list  # (folder, message, message once made small).


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

    def run(self, number, runs=None):
        """Strategies of one graph, by default as many random ones as it is given. A
        defect of the test is a failure, too, and loses no other graph."""
        try:
            return self.check(number, runs)
        except Exception:
            return Result(number, runs is not None, 0, tables.Coverage(), 0,
                          [(None, traceback.format_exc(), "")])

    def check(self, number, runs):
        options = self.options
        graph, reference, _ = cases.draw_graph(options.seed, number)
        aimed = runs is not None
        if not aimed:
            count = min(options.strategies, options.cases - number * options.strategies)
            runs = cases.draw_runs(options.seed, number, count)
        history = list(self.tool.history)
        answers, failures = cases.check(self.tool, graph, reference, runs)
        coverage = tables.Coverage()
        coverage.add_graph(graph)
        for answer in answers:
            if "coverage" in answer:
                coverage.add(answer["coverage"])
        folders = []
        for index, failure in enumerate(failures):
            name = f"{options.seed}-{number}-{'aimed-' if aimed else ''}{index}"
            folder = pathlib.Path(options.failures) / name
            message = failure.message
            if self.shrunk < MAX_SHRUNK:
                self.shrunk += 1
                here, elsewhere = self.repeats(failure, reference)
                message += (f"; again in {here} of {REPEATS} runs of this worker, in "
                            f"{elsewhere} of a new one")
                failure = shrink.shrink(self.tool, failure)
                shutil.rmtree(folder, ignore_errors=True)
                if not elsewhere and history:
                    write_history(history, folder / "history")
                if not elsewhere:
                    self.keep_outputs(failure, folder)
            write(failure, folder)
            folders.append((str(folder), message, failure.message))
        self.served += 1
        if self.served % GRAPHS_PER_WORKER == 0 and (message := self.finish()):
            folders.append((None, message, ""))
        difference = max((answer.get("difference", 0) for answer in answers), default=0)
        return Result(number, aimed, len(runs), coverage, difference, folders)


    def keep_outputs(self, failure, folder):
        """Writes the outputs of a failure of this worker beside those of one device."""
        try:
            answers = self.tool.run(failure.graph, [{"devices": 1, "strategy": "single"}, failure.run or {}])
        except Crash:
            return
        for part, answer in zip(("one-device", "failed"), answers):
            (folder / part).mkdir(parents=True, exist_ok=True)
            for name, value in answer.get("outputs", {}).items():
                np.save(folder / part / f"{name}.npy", value)

    def repeats(self, failure, reference):
        """How often it fails again, in this worker and in a new one: what depends on
        time, or on what a worker did before, does not each time. What a worker did
        before is kept if a new one never fails, and --repeat does it again."""
        def count(tool):
            runs = [failure.run] if failure.run else []
            return sum(bool(cases.check(tool, failure.graph, reference, runs)[1])
                       for _ in range(REPEATS))

        new = Worker(self.options.build_dir,
                     tempfile.mkdtemp(prefix="again", dir=self.options.scratch),
                     self.options.level)
        counts = count(self.tool), count(new)
        new.finish()
        return counts


# -- Failures


def write(failure, folder):
    folder.mkdir(parents=True, exist_ok=True)
    failure.graph.save(folder / "graph.onnx")
    for name, value in failure.graph.inputs.items():
        np.save(folder / f"{name}.npy", value)
    run = dict(failure.run or {"devices": 1, "strategy": "single"},
               unroll_rnn=failure.graph.unroll, fuse=failure.graph.fuse,
               precision=failure.graph.precision, round_bias=failure.graph.round_bias)
    if failure.run and failure.strategy:
        run["strategy"] = failure.strategy
        (folder / "strategy.json").write_text(json.dumps(failure.strategy, indent=1))
    (folder / "run.json").write_text(json.dumps(run))


def read(folder):
    model = onnx.load(folder / "graph.onnx")
    inputs = {value.name: np.load(folder / f"{value.name}.npy")
              for value in model.graph.input
              if (folder / f"{value.name}.npy").exists()}
    run = json.loads((folder / "run.json").read_text())
    return graphs.Graph(model, inputs, run.pop("unroll_rnn", 0), run.pop("fuse", True),
                        run.pop("precision", "f32"), run.pop("round_bias", True)), run


def describe(folder):
    graph, run = read(pathlib.Path(folder))
    shapes = {name: list(value.shape) for name, value in graph.inputs.items()}
    lines = [f"inputs {shapes}"]
    lines += onnx.printer.to_text(graph.model.graph).splitlines()[1:]
    if graph.unroll:
        lines.append(f"recurrent layers in parts of {graph.unroll} steps")
    if not graph.fuse:
        lines.append("operations per element apart")
    if graph.precision != "f32":
        lines.append(f"products of {graph.precision}" + (", and their biases" if graph.round_bias else ""))
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
    if (folder / "history").is_dir():
        history = read_history(folder / "history")
        print(f"after {len(history)} requests that the worker was asked before")
        job.tool.replay(history)
    _, failures = cases.check(job.tool, graph, outputs, [run])
    if message := job.finish():
        failures.append(cases.Failure(graph, run, None, message))
    for failure in failures:
        print(f"FAILED: {failure.message}")
    print(f"{len(failures)} failed")
    return 1 if failures else 0


# -- The run


def write_junit(path, results, missing):
    # A worker that is lost fails without having run a case.
    counts = [max(result.count, len(result.failures)) for result in results]
    total = sum(counts) + 1
    with open(path, "w") as file:
        file.write(f'<testsuite name="property" tests="{total}">\n')
        for result, count in zip(results, counts):
            kind = "aimed strategy" if result.aimed else "strategy"
            for index in range(count):
                name = quoteattr(f"graph {result.number} {kind} {index}")
                body = ""
                if index < len(result.failures):
                    message = result.failures[index][1][:500]
                    body = f"<failure message={quoteattr(message)}/>"
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
    return {name: becomes != "folds" and name not in folds
            for name, _, becomes, _ in ([c.strip() for c in row] for row in rows)}


def differences(build):
    """Where operators.py has other operators than the importer, or other sets."""
    known, drawn = known_operators(build), set(operators.FUNCTIONS)
    lines = [f"a generator of {name} in test/property/operators.py"
             for name in sorted(known) if known[name] and name not in drawn]
    lines += [f"{name} of test/property/operators.py in the importer"
              for name in sorted(drawn - set(known))]
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


def graphs_with(names, seed, first):
    """Further graphs that have these operators: their numbers, from `first` on."""
    numbers, left = [], set(names)
    for number in range(first, first + MAX_SEARCHED):
        if not left:
            break
        graph, *_ = cases.draw_graph(seed, number)
        found = left & {node.op_type for node in graph.model.graph.node}
        if found:
            left -= found
            numbers.append(number)
    return numbers


def run_all(arguments):
    numbers = range(-(-arguments.cases // arguments.strategies))
    results, coverage, operations = [], tables.Coverage(), []
    places = {}  # (loop, evenly) to graphs in which it could be split so.
    local, jobs = threading.local(), []

    def start():
        local.job = Job(arguments)
        jobs.append(local.job)

    def add(result):
        results.append(result)
        coverage.merge(result.coverage)
        for loop, (_, _, even, uneven) in result.coverage.loops.items():
            for evenly, could in ((True, even), (False, uneven)):
                if could:
                    places.setdefault((loop, evenly), result.number)
        for failure in result.failures:
            report(result.number, *failure, arguments)

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs, initializer=start) as pool:
        for result in pool.map(lambda number: local.job.run(number), numbers):
            add(result)
            if (result.number + 1) % 250 == 0:
                print(f"{(result.number + 1) * arguments.strategies} cases, "
                      f"{failures_of(results)} failed", flush=True)
        if not arguments.allow_missing:
            # Chance leaves rare operators out, and some loops of rare operations.
            rare = [name for name in operators.FUNCTIONS if not coverage.operators[name]]
            aims = {number: cases.draw_runs(arguments.seed, number, arguments.strategies)
                    for number in graphs_with(rare, arguments.seed, len(numbers))}
            for result in pool.map(lambda aim: local.job.run(*aim), aims.items()):
                add(result)
            aims = {}
            for loop, even in coverage.unsplit():
                number = places[loop, even]
                aims.setdefault(number, []).append(
                    cases.aimed_run(arguments.seed, number, loop, even))
            for result in pool.map(lambda aim: local.job.run(*aim), aims.items()):
                add(result)
            operations = pool.submit(lambda: local.job.tool.operations()).result()
    for job in jobs:
        if message := job.finish():
            results[-1].failures.append((None, message, ""))
            report(results[-1].number, None, message, "", arguments)
    return results, coverage, operations


def failures_of(results):
    return sum(len(result.failures) for result in results)


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
        results, coverage, operations = run_all(arguments)
        coverage.print()
        missing = []
        if not arguments.allow_missing:
            ends = {"nn.input", "nn.output", "nn.parameter", "nn.constant"}
            # Of training steps, which no ONNX operator becomes:
            # test/models/test_training.py.
            ends |= {"nn.conv_backward_filter", "nn.max_pool_backward",
                     "nn.lstm_backward", "nn.gru_backward",
                     "nn.rnn_backward", "nn.fused_reduce", "nn.write",
                     "nn.schedule", "nn.sgd", "nn.sparse_sgd", "nn.momentum",
                     "nn.adam", "nn.dropout"}
            missing = differences(arguments.build_dir)
            missing += coverage.missing(sorted(operators.FUNCTIONS),
                                        sorted(set(operations) - ends))
        for line in missing:
            print(f"missing: {line}")
        if arguments.junitxml:
            write_junit(arguments.junitxml, results, missing)
        failed = failures_of(results)
        aimed = sum(result.count for result in results if result.aimed)
        difference = max(result.difference for result in results)
        print(f"seed {arguments.seed}: {arguments.cases} cases on "
              f"{sum(not result.aimed for result in results)} graphs, {aimed} more "
              f"aimed at what chance left out, in {time.monotonic() - start:.0f} s, "
              f"largest difference {difference:.1e}, {failed} failed")
        sys.exit(1 if failed or missing else 0)
    finally:
        shutil.rmtree(arguments.scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
