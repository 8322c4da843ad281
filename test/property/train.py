#!/usr/bin/env python3
"""Any strategy trains alike: random graphs of the operators that have gradients,
with a loss and gradient descent, under random strategies on one to eight devices.
After five steps, losses, weights and what the model makes of its inputs then (the
program eval) must be those of one device within 1e-4 of their norm, and what the
steps changed within 1e-2 of the change.

  train.py --build-dir=build/release [--cases=300] [--seed=1]
  train.py --build-dir=build/release --seed=1 --repeat=NUMBER

Exit code 1 if a case fails.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import pathlib
import random
import re
import string
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
import worker

STEPS = 5
STRATEGIES = 4  # Per graph.
GRAPHS_PER_WORKER = 100
STEP_SIZE = 0.05  # What the first step changes, of the norm of all weights.
CHANGE_TOLERANCE = 1e-2
SMALLEST_CHANGE = 1e-3  # Of a tensor's norm: less is rounding noise.
SINGLE = {"devices": 1, "strategy": "single"}
# Graphs that cannot be trained, as the compiler says.
UNTRAINABLE = re.compile(
    "expected (operations that have a gradient|a loss that depends on a parameter|"
    "f32 or f64 between parameters and the loss|.* for a gradient, got|"
    ".*to be trained)")


@dataclasses.dataclass
class Result:
    number: int
    count: int
    reasons: collections.Counter  # Why graphs were drawn again.
    operators: set
    failures: list
    difference: float = 0
    shares: int = 0  # Reduce-scatters of several gradients.
    priority: int = 0  # Collectives on priority streams.


def tensors(answer, when):
    """What lasts from step to step, before or after the steps."""
    return {name.split(" ", 1)[1]: value for name, value in answer["outputs"]
            if name.startswith(when + " ")}


def losses(answer):
    return np.array([value for name, value in answer["outputs"]
                     if not name.startswith(("before ", "after ", "eval "))])


def norm(values):
    return float(np.sqrt(sum(np.square(value.astype(np.float64)).sum()
                             for value in values)))


def worst(got, wanted, share=1.0):
    """The first difference that is more than `share` of what is allowed, as text,
    and the largest difference."""
    before = tensors(wanted, "before")
    largest = judge.error(losses(got), losses(wanted))
    if not largest <= share * judge.TOLERANCE:
        return f"losses: error {largest:.2e}", largest
    after = tensors(got, "after")
    for name, value in tensors(wanted, "after").items():
        size = judge.error(after[name], value)
        largest = max(largest, size)
        if not size <= share * judge.TOLERANCE:
            return f"'{name}': error {size:.2e}", largest
        change = value - before[name]
        if norm([change]) < SMALLEST_CHANGE * norm([value]):
            continue
        size = judge.error(after[name] - before[name], change)
        if not size <= share * CHANGE_TOLERANCE:
            return f"what changed in '{name}': error {size:.2e}", largest
    evaluated = tensors(got, "eval")
    for name, value in tensors(wanted, "eval").items():
        size = judge.error(evaluated[name], value)
        largest = max(largest, size)
        if not size <= share * judge.TOLERANCE:
            return f"evaluation of '{name}': error {size:.2e}", largest
    return "", largest


def draw_layers(seed):
    """Layers with weights and biases of any sizes, whose gradients are many."""
    rng = random.Random(f"layers {seed}")
    values = np.random.default_rng(rng.randrange(2**31))
    nodes, initializers = [], []

    def parameter(name, *shape):
        value = values.standard_normal(shape) / np.sqrt(shape[0])
        initializers.append(onnx.numpy_helper.from_array(value.astype(np.float32), name))
        return name

    batch, width, last = rng.randint(4, 8), rng.randint(4, 16), "x"
    shape = [batch, width]
    for index in range(rng.randint(2, 5)):
        wider = rng.randint(4, 16)
        operands = [last, parameter(f"w{index}", width, wider)]
        if rng.random() < 0.7:
            operands.append(parameter(f"b{index}", wider))
        nodes.append(onnx.helper.make_node("Gemm", operands, [f"y{index}"], f"y{index}"))
        last, width = f"h{index}", wider
        nodes.append(onnx.helper.make_node("Tanh", [f"y{index}"], [last], last))
    typed = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        nodes, "layers", [typed("x", onnx.TensorProto.FLOAT, shape)],
        [typed(last, onnx.TensorProto.FLOAT, [batch, width])], initializers)
    opset = onnx.helper.make_opsetid("", rng.choice([9, 13, 17]))
    model = onnx.helper.make_model(graph, opset_imports=[opset], ir_version=8)
    return graphs.Graph(model, {"x": values.standard_normal(shape).astype(np.float32)})


class Refused(Exception):
    """Why a graph is drawn again."""


def drop(graph, output, rng):
    """Puts dropout behind an input of floats and behind `output`, each with a
    chance. Returns what the loss is of then."""
    proto = graph.model.graph
    opset, = (each.version for each in graph.model.opset_import
              if each.domain in ("", "ai.onnx"))

    def node(name):
        ratio, result = rng.choice([0.1, 0.5]), name + ".dropped"
        if opset < 12:
            return onnx.helper.make_node("Dropout", [name], [result], result, ratio=ratio)
        proto.initializer.append(onnx.numpy_helper.from_array(
            np.array(ratio, np.float32), result + ".ratio"))
        return onnx.helper.make_node("Dropout", [name, result + ".ratio"], [result],
                                     result)

    floats = [each.name for each in proto.input
              if each.type.tensor_type.elem_type == onnx.TensorProto.FLOAT]
    if floats and rng.random() < 0.3:
        name = rng.choice(floats)
        for reader in proto.node:
            for index, operand in enumerate(reader.input):
                if operand == name:
                    reader.input[index] = name + ".dropped"
        proto.node.insert(0, node(name))
    if rng.random() < 0.3:
        proto.node.append(node(output))
        whole, = (each for each in proto.output if each.name == output)
        proto.output.add().CopyFrom(whole)
        output += ".dropped"
        proto.output[-1].name = output
    return output


def recompute(tool, graph, train, base, rng):
    """Has the steps make random values again: elementwise operations, all, or those
    whose names end in one of some letters. On one device, that changes no bit, as
    long as no other operations are fused then, which may round otherwise."""
    letters = "".join(rng.sample(string.ascii_lowercase + string.digits, 12))
    operations = rng.choice(["elementwise", ".*", f".*[{letters}]", f".*[{letters}]"])
    apart = dataclasses.replace(graph, fuse=False)
    again, = tool.run(apart, [SINGLE], {**train, "recompute": operations})
    if "expected operations to recompute" in again.get("error", ""):
        return
    if "error" in again:
        raise AssertionError(f"one device, recomputing {operations}: {again['error']}")
    if graph.fuse:
        base, = tool.run(apart, [SINGLE], train)
    for (name, value), (_, wanted) in zip(again["outputs"], base["outputs"], strict=True):
        if not np.array_equal(value, wanted, equal_nan=True):
            raise AssertionError(f"'{name}' is another one, recomputing {operations}")
    train["recompute"] = operations


def draw_runs(seed, number, count):
    """Strategies as for inference; some share all updates among the devices that have
    copies."""
    runs = cases.draw_runs(f"{seed} training", number, count)
    rng = random.Random(f"shards {seed} {number}")
    for run in runs:
        if rng.random() < 0.4:
            run["shard"] = rng.choice(["zero-1", "fsdp"])
            if rng.random() < 0.7:
                run["strategy"] = "data-parallel"
    return runs


def prepare(tool, seed):
    """A tame graph, what to train, and what one device makes of it."""
    rng = random.Random(f"train {seed}")
    graph = draw_layers(seed) if rng.random() < 0.15 else graphs.draw(seed)
    floats = [output.name for output in graph.model.graph.output
              if output.type.tensor_type.elem_type == onnx.TensorProto.FLOAT]
    if not floats:
        raise Refused("no output of floats")
    try:
        reference = judge.reference(graph)
    except Exception as error:  # onnxruntime's errors have no class of their own.
        raise Refused("graphs that onnxruntime refuses") from error
    if not reference:
        raise Refused("values that cannot be compared")
    output = rng.choice(floats)
    generator = np.random.default_rng(rng.randrange(2**31))
    wanted = reference[output]
    noise = generator.standard_normal(wanted.shape)
    graph.inputs["label"] = np.asarray(wanted + 0.5 * judge.rms(wanted) * noise,
                                       np.float32)
    output = drop(graph, output, rng)
    train = {"output": output, "lr": 1.0, "steps": 1}
    probe, = tool.run(graph, [SINGLE], train)
    if "error" in probe:
        if UNTRAINABLE.search(probe["error"]):
            raise Refused("no gradient")
        raise AssertionError(f"one device: {probe['error']}")
    before, after = tensors(probe, "before"), tensors(probe, "after")
    del before["schedule"], after["schedule"]
    gradient = norm([before[name] - after[name] for name in before])
    size = norm(before.values())
    if not np.isfinite(gradient) or not 1e-4 * size < gradient:
        raise Refused("gradients that vanish or explode")
    train = {"output": output, "lr": STEP_SIZE * size / gradient, "steps": STEPS,
             "momentum": rng.choice([0, 0, 0.5]),
             "buckets": rng.choice([0, 200, 1 << 20]),
             "prefetch": rng.choice([0, 100, 1000, 1 << 20])}
    if rng.random() < 0.5:
        train["clip"] = rng.uniform(0.3, 1.5) * gradient
    # Micro-batches and statistics of parts, if the graph can have them.
    for option, value, refusal in (("accumulate", 2, "accumulate|micro-batches"),
                                   ("parts", 2, "parts of batch-norm=local")):
        if rng.random() < 0.4:
            base, = tool.run(graph, [SINGLE], {**train, option: value})
            if not re.search(refusal, base.get("error", "")):
                train[option] = value
    base, = tool.run(graph, [SINGLE], train)
    if "error" in base:
        raise AssertionError(f"one device: {base['error']}")
    if rng.random() < 0.5:
        recompute(tool, graph, train, base, rng)
    if not np.isfinite(losses(base)).all() or losses(base).max() > judge.LARGEST**2:
        raise Refused("steps that explode")
    noisy = graphs.Graph(graph.model, judge.with_noise(graph.inputs), graph.unroll,
                         graph.fuse)
    shaken, = tool.run(noisy, [SINGLE], train)
    if "error" in shaken or worst(shaken, base, share=0.25)[0]:
        raise Refused("steps that noise changes")
    return graph, train, base


class Job:
    def __init__(self, options):
        self.options = options
        self.tool = worker.Worker(options.build_dir,
                                  tempfile.mkdtemp(prefix="job", dir=options.scratch))
        self.served = 0

    def run(self, number):
        count = min(STRATEGIES, self.options.cases - number * STRATEGIES)
        result = Result(number, count, collections.Counter(), set(), [])
        try:
            self.check(result)
        except Exception:
            result.failures.append(traceback.format_exc())
        self.served += 1
        if self.served % GRAPHS_PER_WORKER == 0:
            self.tool.finish()
        return result

    def check(self, result):
        options, number = self.options, result.number
        for attempt in range(1000):
            try:
                graph, train, base = prepare(
                    self.tool, f"{options.seed} training {number} {attempt}")
                break
            except Refused as reason:
                result.reasons[str(reason)] += 1
        result.operators = {node.op_type for node in graph.model.graph.node}
        runs = draw_runs(options.seed, number, result.count)
        for run, answer in zip(runs, self.tool.run(graph, runs, train)):
            message = answer.get("error", "")
            result.shares += answer.get("shares", 0)
            result.priority += answer.get("priority", 0)
            if not message:
                message, size = worst(answer, base)
                result.difference = max(result.difference, size)
            if message:
                result.failures.append(f"{message}\n{run}\n{train}\n"
                                       f"{self.save(graph, number)}")

    def save(self, graph, number):
        folder = pathlib.Path(self.options.failures) / f"training-{number}"
        folder.mkdir(parents=True, exist_ok=True)
        graph.save(folder / "graph.onnx")
        for name, value in graph.inputs.items():
            np.save(folder / f"{name}.npy", value)
        return f"{folder}\n{onnx.printer.to_text(graph.model.graph)[:3000]}"


def write_junit(path, results):
    # A worker that is lost fails without having run a case.
    counts = [max(result.count, len(result.failures)) for result in results]
    with open(path, "w") as file:
        file.write(f'<testsuite name="training" tests="{sum(counts)}">\n')
        for result, count in zip(results, counts):
            failures = iter(result.failures)
            for index in range(count):
                message = next(failures, None)
                body = f"<failure message={quoteattr(message[:500])}/>" if message else ""
                file.write(f'<testcase classname="training" name="graph {result.number} '
                           f'strategy {index}">{body}</testcase>\n')
        file.write("</testsuite>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build-dir", required=True)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repeat", type=int, help="the number of one graph")
    parser.add_argument("--failures", default="property-failures")
    parser.add_argument("--junitxml")
    options = parser.parse_args()
    start, local = time.monotonic(), threading.local()
    numbers = range(-(-options.cases // STRATEGIES))
    if options.repeat is not None:
        numbers = [options.repeat]
        options.cases = (options.repeat + 1) * STRATEGIES
    results, reasons, operators = [], collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as options.scratch:
        def check(number):
            if not hasattr(local, "job"):
                local.job = Job(options)
            return local.job.run(number)

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for result in pool.map(check, numbers):
                results.append(result)
                reasons += result.reasons
                operators.update(result.operators)
                for failure in result.failures:
                    print(f"\nFAILED graph {result.number}, seed {options.seed}: "
                          f"{failure}", flush=True)
    count = sum(result.count for result in results)
    failed = sum(len(result.failures) for result in results)
    largest = max(result.difference for result in results)
    print(f"{count} cases of {len(results)} graphs in {time.monotonic() - start:.0f} s, "
          f"largest difference {largest:.1e}, {failed} failed")
    shares = sum(result.shares for result in results)
    priority = sum(result.priority for result in results)
    print(f"{shares} reduce-scatters of several gradients, {priority} collectives with "
          "priority")
    if options.junitxml:
        write_junit(options.junitxml, results)
    print("drawn again:", dict(reasons))
    print("operators:", dict(operators.most_common()))
    sys.exit(1 if failed or count >= 100 and not (shares and priority) else 0)


if __name__ == "__main__":
    main()
