"""Random graphs of the property test (test/property) as cases of an archive: single
operators on one GPU, and graphs under random strategies."""

import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "test" / "property"))

import numpy as np  # noqa: E402

import cases  # noqa: E402
import graphs  # noqa: E402
import judge  # noqa: E402
import operators  # noqa: E402
from compiled import Refused  # noqa: E402

SEED = 18
PER_GRAPH = 4  # Strategies that share a graph.
ATTEMPTS = 40
# Of the norm. Single operators sum a few products; graphs compare as the property
# test does.
KERNEL_TOLERANCE = 1e-5


def draw_operator(name, attempt):
    """A tame graph of one operator, with nodes for its constants; None if there is none."""
    builder = graphs.Builder(f"{SEED} {name} {attempt}")
    first, last = operators.SETS[name]
    if not first <= builder.opset <= last:
        return None
    builder.add_input(graphs.draw_shape(builder.rng))
    if not operators.FUNCTIONS[name](builder, name):
        return None
    graph = builder.finish()
    if not graph.model.graph.output or not judge.reference(graph):
        return None
    return graph


def single_operators(count):
    """Graphs of one operator each, every operator before any comes again."""
    found = []
    for attempt in range(ATTEMPTS):
        for name in sorted(operators.FUNCTIONS):
            if len(found) == count:
                return found
            if sum(known == name for known, _ in found) > attempt // 8:
                continue
            graph = draw_operator(name, attempt)
            if graph:
                found.append((name, graph))
    return found


def options_of(graph):
    return ["--pad-selections", *([f"--unroll-rnn={graph.unroll}"] if graph.unroll else [])]


def store(compiler, name, graph):
    """Writes a graph and its inputs; the model, and inputs by name."""
    model = compiler.scratch / f"{name}.onnx"
    graph.save(model)
    inputs = {}
    for number, (key, value) in enumerate(graph.inputs.items()):
        inputs[key] = f"data/{name}.in{number}.npy"
        np.save(compiler.folder / inputs[key], value)
    return model, inputs


def kernel_case(compiler, name, graph):
    model, inputs = store(compiler, name, graph)
    options = options_of(graph)
    expected = compiler.by_cpu(name, model, options, inputs)
    place = compiler.for_gpus(name, model, [*options, "--strategy=single"])
    halves = judge.tolerance(graph) > judge.TOLERANCE
    return [{"name": name, "model": place, "inputs": inputs, "expected": expected,
             "devices": 1, "rtol": judge.tolerance(graph) if halves else KERNEL_TOLERANCE}]


def kernel_jobs(compiler, count):
    return [lambda i=i, op=op, graph=graph: kernel_case(compiler, f"{i:03}-{op}", graph)
            for i, (op, graph) in enumerate(single_operators(count))]


# A model of one device has no build to be verified against.
SEVERAL = b"soap_reference_data"


def compile_several(compiler, case, model, options, draw, devices):
    """Compiles a model under the first random strategy of several devices, from the
    seed on that was drawn."""
    for seed in range(draw["seed"], draw["seed"] + ATTEMPTS):
        place = compiler.for_gpus(case, model, [
            *options, f"--strategy={draw['strategy']}", f"--seed={seed}"], devices)
        if SEVERAL in (compiler.folder / place).read_bytes():
            return place
    raise Refused(f"{case}: every strategy is on one device")


def strategy_cases(compiler, number, count):
    graph, _, _ = cases.draw_graph(SEED, number)
    name = f"graph{number:03}"
    model, inputs = store(compiler, name, graph)
    options = options_of(graph)
    expected = compiler.by_cpu(name, model, options, inputs)
    rng = random.Random(f"devices {SEED} {number}")
    items = []
    for i, draw in enumerate(cases.draw_runs(SEED, number, count)):
        devices = rng.randint(2, 8)
        case = f"{name}-{i}-{draw['strategy']}-{devices}"
        try:
            place = compile_several(compiler, case, model, options, draw, devices)
        except Refused as reason:
            print(f"left out: {reason}", file=sys.stderr)
            continue
        items.append({"name": case, "model": place, "inputs": inputs,
                      "expected": expected, "devices": devices,
                      "collectives": draw["strategy"] == "random-team",
                      "rtol": judge.tolerance(graph)})
    return items


def strategy_jobs(compiler, count):
    """Four strategies of a graph at a time."""
    return [lambda number=number: strategy_cases(
                compiler, number, min(PER_GRAPH, count - PER_GRAPH * number))
            for number in range(-(-count // PER_GRAPH))]
