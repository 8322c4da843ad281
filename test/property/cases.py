"""One case: a random graph, one device against onnxruntime, and strategies
against one device."""

import dataclasses
import random

import graphs
import judge
import worker

# How often each kind of random strategy is drawn.
KINDS = {"random-team": 5, "random-uniform": 3, "random": 2}

NARROW = 0.1  # How many graphs multiply bf16.

# The largest values whose collectives run on priority streams; 0: there are none.
PRIORITY_BYTES = [0, 0, 500, 65536]


@dataclasses.dataclass
class Failure:
    graph: graphs.Graph
    run: dict  # The request of the run that failed; None: one device.
    strategy: dict  # Its file, where it got that far.
    message: str


def draw_graph(seed, number):
    """The first tame graph of this number, and its reference. Some multiply bf16."""
    narrow = random.Random(f"precision {seed} {number}").random() < NARROW
    for attempt in range(1000):
        graph = graphs.draw(f"{seed} {number} {attempt}", judge.SMOOTH if narrow else None)
        if not graph.model.graph.output:
            continue
        outputs = judge.reference(graph)
        if outputs:
            if narrow:
                if not judge.bears_bf16(graph, outputs):
                    continue
                graph.precision = "bf16"
                graph.round_bias = number % 2 == 0
            return graph, outputs, attempt
    raise AssertionError(f"no tame graph for seed {seed}, number {number}")


def draw_runs(seed, number, count):
    rng = random.Random(f"strategies {seed} {number}")
    kinds = rng.choices(list(KINDS), list(KINDS.values()), k=count)
    runs = [{"devices": rng.randint(2, 8) if rng.random() < 0.97 else 1,
             "strategy": kind, "seed": rng.randrange(2**31)} for kind in kinds]
    rng = random.Random(f"priority {seed} {number}")
    return [{**run, "priority": rng.choice(PRIORITY_BYTES)} for run in runs]


def aimed_run(seed, number, loop, even):
    """A strategy that splits this loop ("OPERATION LOOP") of a graph."""
    op, loop = loop.split()
    rng = random.Random(f"aimed {seed} {number} {op} {loop} {even}")
    return {"devices": rng.randint(2, 8), "strategy": "random-team",
            "seed": rng.randrange(2**31), "priority": rng.choice(PRIORITY_BYTES),
            "split": {"op": op, "loop": loop, "even": even}}


def worst(got, wanted):
    """The largest error and its output."""
    errors = {name: judge.error(got[name], value) for name, value in wanted.items()}
    name = max(errors, key=errors.get)
    return errors[name], name


def check(tool, graph, reference, runs):
    """Runs everything; the answers of all runs and the failures."""
    single = {"devices": 1, "strategy": "single"}
    try:
        answers = tool.run(graph, [single, *runs])
    except worker.Crash as crash:
        return [], [find_crash(tool, graph, single, runs, str(crash))]
    failures, base = [], answers[0]
    if "error" not in base:
        size, name = worst(base["outputs"], reference)
        if size > judge.tolerance(graph):
            base["error"] = f"output {name}: error {size:.2e} against onnxruntime"
    if "error" in base:
        return answers[1:], [Failure(graph, None, None, base["error"])]
    for run, answer in zip(runs, answers[1:]):
        if "error" not in answer:
            size, name = worst(answer["outputs"], base["outputs"])
            answer["difference"] = size
            if size > judge.tolerance(graph):
                answer["error"] = f"output {name}: error {size:.2e} against one device"
        if "error" in answer:
            failures.append(Failure(graph, run, answer.get("strategy"),
                                    answer["error"]))
    return answers[1:], failures


def find_crash(tool, graph, single, runs, message):
    """Which run it was."""
    for run in [single, *runs]:
        try:
            tool.run(graph, [run])
        except worker.Crash as crash:
            return Failure(graph, None if run is single else run, None, str(crash))
    return Failure(graph, None, None, f"not again: {message}")
