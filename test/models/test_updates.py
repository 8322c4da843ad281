"""Updates of parameters: every optimizer and schedule against formulas of the
papers, running statistics, and what lasts from step to step under any strategy,
in several processes, on the emulated accelerator, saved and loaded again."""

import functools
import json

import launcher
import numpy as np
import onnx
import pytest
import training_state
from onnx.reference import ReferenceEvaluator
from test_training import MODELS, Model, cross_entropy

STEPS = 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("updates")


class Step:
    """A compiled step of training, and its inputs."""

    def __init__(self, tools, folder, name, proto, inputs):
        self.tools, self.folder, self.name = tools, folder, name
        self.model = folder / f"{name}.onnx"
        onnx.save(proto, self.model)
        self.arguments = []
        for key, value in inputs.items():
            np.save(folder / f"{name}.{key}.npy", value)
            self.arguments.append(f"--input={key}={folder / f'{name}.{key}.npy'}")

    @functools.cache
    def compiled(self, *options, tool="soap-compile"):
        number = len(list(self.folder.glob("*.so")))
        file = self.folder / f"{self.name}.{number}.so"
        self.tools.run(tool, self.model, "--no-reference", *options, "-o", file)
        return file

    def run(self, compiled, *options, ranks=1, check=True):
        return self.tools.run("soap-run", compiled, *self.arguments, *options,
                              ranks=ranks, check=check)

    def state(self, compiled, steps, *options, ranks=1):
        """What lasts after so many steps."""
        file = self.folder / f"{compiled.stem}.{steps}.{ranks}.safetensors"
        self.run(compiled, f"--iterations={steps}", f"--save-state={file}", *options,
                 ranks=ranks)
        return training_state.load(file)


def near(got, expected, tolerance):
    assert got.keys() == expected.keys()
    for key, value in expected.items():
        error = np.abs(got[key] - value).max()
        assert error <= tolerance * (1e-3 + np.abs(value).max()), (key, error)


# -- Optimizers


@functools.cache
def perceptron():
    """Two layers, with the gradient of their loss."""
    m = Model(3)
    m.inputs["x"] = m.random.standard_normal((6, 5))
    h = m.node("MatMul", ["x", m.weight("w1", 5, 7)], "product")
    h = m.node("Add", [h, m.weight("b1", 7)], "sum")
    h = m.node("Tanh", [h], "hidden")
    m.node("MatMul", [h, m.weight("w2", 7, 4, scale=1.0)], "scores")
    labels = m.random.integers(0, 4, 6)

    def differentiate(w):
        x = m.inputs["x"]
        h = np.tanh(x @ w["w1"] + w["b1"])
        scores = h @ w["w2"]
        p = np.exp(scores - scores.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        d = (p - np.eye(4)[labels]) / 6
        dh = d @ w["w2"].T * (1 - h * h)
        return cross_entropy(scores, labels, 1), {
            "w1": x.T @ dh, "b1": dh.sum(0), "w2": h.T @ d}

    return m, m.proto("scores", [6, 4]), labels, differentiate


@pytest.fixture(scope="module")
def small(tools, folder):
    m, proto, labels, _ = perceptron()
    return Step(tools, folder, "perceptron", proto, {**m.inputs, "label": labels})


HOW = {
    "sgd": {"train": "sgd", "lr": 0.5},
    "decay": {"train": "sgd", "lr": 0.5, "weight-decay": 0.1, "clip-norm": 1e3},
    "momentum": {"train": "sgd", "lr": 0.5, "momentum": 0.9, "weight-decay": 0.1,
                 "no-vector-decay": "", "lr-schedule": "step", "warmup": 1,
                 "lr-period": 2, "lr-factor": 0.5},
    "nesterov": {"train": "sgd", "lr": 0.5, "momentum": 0.8, "nesterov": "",
                 "weight-decay": 0.01, "lr-schedule": "cosine", "lr-period": 4},
    "clip": {"train": "sgd", "lr": 0.5, "momentum": 0.9, "clip-norm": 0.05,
             "lr-schedule": "linear", "lr-period": 8},
    "adam": {"train": "adam", "lr": 0.05, "lr-schedule": "cosine", "warmup": 2,
             "lr-period": 9},
    "adam-decay": {"train": "adam", "lr": 0.05, "weight-decay": 0.1, "beta1": 0.8,
                   "beta2": 0.9, "epsilon": 1e-3, "warmup": 8},
    "adamw": {"train": "adamw", "lr": 0.05, "weight-decay": 0.5,
              "lr-schedule": "step", "lr-period": 3, "clip-norm": 0.3},
    "adamw-matrices": {"train": "adamw", "lr": 0.05, "weight-decay": 0.5,
                       "no-vector-decay": "", "lr-schedule": "linear", "warmup": 3,
                       "lr-period": 2},
}


def options(how):
    return [f"--{key}={value}" if value != "" else f"--{key}"
            for key, value in how.items()]


@pytest.mark.parametrize("strategy", ["single", "data-parallel", "random"])
@pytest.mark.parametrize("ties", [False, True])
def test_tied_weights(tools, folder, ties, strategy):
    """Weights that ONNX ties by Identity, and a view of an initializer: the state
    has the names and shapes of the initializers, by which weight decay goes."""
    m = Model(7)
    m.inputs["x"] = m.random.standard_normal((6, 5))
    m.weights["axes"] = np.array([0])
    m.node("Identity", [m.weight("first", 5, 5)], "last")
    m.node("Unsqueeze", [m.weight("scale", 5, around=1), "axes"], "row")
    m.node("Mul", [m.node("MatMul", ["x", "first"], "product"), "row"], "scaled")
    m.node("MatMul", ["scaled", "last"], "y")
    target = m.random.standard_normal((6, 5))
    name = f"{'tied' if ties else 'apart'}.{strategy}"
    step = Step(tools, folder, name, m.proto("y", [6, 5]),
                {**m.inputs, "label": target})
    how = {"train": "sgd", "lr": 0.1, "momentum": 0.9, "weight-decay": 0.1,
           "no-vector-decay": ""}

    weights, state = {key: m.weights[key] for key in ("first", "scale")}, {}
    if not ties:
        weights["last"] = weights["first"]
    for number in range(1, STEPS + 1):
        last = weights.get("last", weights["first"])
        product = m.inputs["x"] @ weights["first"]
        scaled = product * weights["scale"]
        dy = 2 * (scaled @ last - target) / target.size
        ds = dy @ last.T
        gradients = {"first": m.inputs["x"].T @ (ds * weights["scale"]),
                     "scale": (ds * product).sum(0), "last": scaled.T @ dy}
        if ties:
            gradients["first"] = gradients["first"] + gradients.pop("last")
        training_state.update(number, weights, gradients, state, how)
    compiled = step.compiled("--devices=2", f"--strategy={strategy}",
                             "--loss=mean-squared-error", *options(how),
                             *(["--tie-weights=first|last"] if ties else []))
    got = step.state(compiled, STEPS)
    assert got.pop("schedule") == STEPS
    assert got["scale"].shape == got["scale.velocity"].shape == (5,)
    near(got, {**weights, **state}, 1e-8)


@functools.cache
def look_ups():
    """Two look-ups in one table, whose transpose is a factor, too: of some rows none,
    of some several. With the gradient of its loss."""
    m = Model(8)
    m.inputs["tokens"] = np.array([[3, 28, 3], [0, 7, 3], [29, 12, 12], [4, 5, 27]])
    m.inputs["others"] = np.array([[3, 8], [0, 8], [19, 19], [2, 29]])
    m.weights["axis"] = np.array([1])
    m.weight("table", 30, 80, scale=0.1)  # Large enough to be sharded.
    parts = [m.node("ReduceSum", [m.node("Gather", ["table", name], f"rows.{name}"),
                                  "axis"], f"sum.{name}", keepdims=0)
             for name in m.inputs]
    m.node("Transpose", ["table"], "turned", perm=[1, 0])
    m.node("MatMul", [m.node("Add", parts, "h"), "turned"], "scores")
    labels = m.random.integers(0, 30, 4)

    def differentiate(table):
        h = sum(table[name].sum(1) for name in m.inputs.values())
        scores = h @ table.T
        p = np.exp(scores - scores.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        d = (p - np.eye(30)[labels]) / 4
        gradient = d.T @ h
        for name in m.inputs.values():
            np.add.at(gradient, name, (d @ table)[:, None])
        return gradient

    return m, m.proto("scores", [4, 30]), labels, differentiate


LOOK_UPS = {
    "single": ["--devices=1"],
    "data parallel": ["--devices=2", "--strategy=data-parallel"],
    "micro-batches": ["--devices=2", "--strategy=data-parallel", "--accumulate=2"],
    "whole": ["--devices=2", "--strategy=zero-1"],
    "sharded": ["--devices=2", "--strategy=fsdp"],
    "random": ["--devices=3", "--strategy=random", "--seed=3"],
    "team": ["--devices=2", "--strategy=random-team", "--seed=4"],
    "dense": ["--devices=2", "--strategy=data-parallel", "--no-sparse-updates"],
}


@pytest.mark.parametrize("name", LOOK_UPS)
def test_tables(tools, folder, name):
    """Rows that were looked up are updated where the table lies."""
    m, proto, labels, differentiate = look_ups()
    step = Step(tools, folder, f"look-ups.{name}", proto,
                {**m.inputs, "label": labels})
    how = ["--train=sgd", "--lr=0.5", *LOOK_UPS[name]]
    text = folder / f"{name}.mlir"
    tools.run("soap-compile", step.model, *how, "--emit=nn", "-o", text)
    assert ("nn.sparse_sgd" in text.read_text()) == (name != "dense")
    table = m.weights["table"]
    for _ in range(STEPS):
        table = table - 0.5 * differentiate(table)
    got = step.state(step.compiled(*how, "--prove"), STEPS)
    near({"table": got["table"]}, {"table": table}, 1e-8)


@pytest.mark.parametrize("strategy, sharded", [
    ("zero-1", {"w"}), ("fsdp", {"table", "w"})])
def test_which_tables_are_sharded(tools, folder, strategy, sharded):
    """A table of which rows are updated stays whole, unless all is sharded."""
    m = Model(9)
    m.inputs["tokens"] = np.array([3, 28, 3, 0])
    m.node("Gather", [m.weight("table", 30, 80), "tokens"], "rows")
    m.node("MatMul", ["rows", m.weight("w", 80, 30)], "scores")
    step = Step(tools, folder, f"sharded.{strategy}", m.proto("scores", [4, 30]),
                {**m.inputs, "label": np.array([1, 2, 3, 4])})
    file = folder / f"{strategy}.strategy.json"
    step.compiled("--train=sgd", "--devices=2", f"--strategy={strategy}",
                  f"--export-strategy={file}")
    updates = json.loads(file.read_text())["parameters"]
    assert {update["parameter"] for update in updates} == sharded


@pytest.mark.parametrize("name", HOW)
def test_optimizer(small, name):
    m, _, _, differentiate = perceptron()
    weights, state, losses, how = dict(m.weights), {}, [], HOW[name]
    for step in range(1, STEPS + 1):
        loss, gradients = differentiate(weights)
        losses.append(loss)
        training_state.update(step, weights, gradients, state, how)
    log = small.folder / f"{name}.jsonl"
    got = small.state(small.compiled(*options(how)), STEPS, f"--log={log}")
    assert got.pop("schedule") == STEPS
    near(got, {**weights, **state}, 1e-8)
    logged = [json.loads(line) for line in log.read_text().splitlines()]
    near({"loss": np.array([line["loss"] for line in logged])},
         {"loss": np.array(losses)}, 1e-8)
    assert sorted(losses) != losses  # It learns.


def test_frozen_parameters_stay(small):
    """They are no state, and the others have the same gradients."""
    _, _, _, differentiate = perceptron()
    weights = dict(perceptron()[0].weights)
    _, gradients = differentiate(weights)
    got = small.state(small.compiled("--train=sgd", "--lr=1", "--freeze=w.*"), 1)
    assert got.keys() == {"b1", "schedule"}
    near({"b1": got["b1"]}, {"b1": weights["b1"] - gradients["b1"]}, 1e-8)


# -- Any strategy


@pytest.fixture(scope="module")
def steps(tools, folder):
    """Training steps by the name of their model."""
    result = {}
    for name in AXES:
        m, proto, shape, axis = MODELS[name]()
        labels = m.random.integers(0, shape[axis],
                                   shape[:axis] + shape[axis + 1:])
        result[name] = Step(tools, folder, name, proto,
                            {**m.inputs, "label": labels})
    return result


# The norm of all gradients is that of no replica, in every step.
TRAINED = ["--train=sgd", "--lr=0.3", "--momentum=0.9", "--clip-norm=0.2",
           "--batch-norm-momentum=0.7"]
AXES = {"convolutional": 1, "transformer": 2}


def compiled(step, devices, seed, **tool):
    strategy = f"--strategy={'random' if devices > 1 else 'single'}"
    return step.compiled(*TRAINED, f"--class-axis={AXES[step.name]}",
                         f"--devices={devices}", strategy, f"--seed={seed}", **tool)


@functools.cache
def on_one_device(step, count):
    return step.state(compiled(step, 1, 0), count)


@pytest.mark.parametrize("name, devices, seed", [
    ("convolutional", 2, 1), ("convolutional", 3, 3),
    ("transformer", 2, 2), ("transformer", 3, 4)])
def test_equals_one_device(steps, name, devices, seed):
    step = steps[name]
    near(step.state(compiled(step, devices, seed), 5), on_one_device(step, 5), 1e-9)


def test_every_tensor_equals_one_device(steps):
    """soap-run --verify looks at the first step. The gradient of the bias in front of
    the batch norm is zero but for rounding."""
    step = steps["convolutional"]
    file = step.folder / "verified.so"
    step.tools.run("soap-compile", step.model, *TRAINED, "--devices=2",
                   "--strategy=random-team", "--seed=5", "-o", file)
    step.run(file, "--verify", "--rtol=1e-9", "--atol=1e-13")


@pytest.mark.parametrize("name", AXES)
def test_goes_on_on_another_machine(steps, name):
    step = steps[name]
    middle = step.folder / f"{name}.middle.safetensors"
    two = compiled(step, 2, 1 if name == "convolutional" else 2)
    three = compiled(step, 3, 3 if name == "convolutional" else 4)
    step.run(two, "--iterations=3", f"--save-state={middle}")
    near(step.state(three, 2, f"--load-state={middle}"), on_one_device(step, 5),
         1e-9)


# -- Updates apart from their groups


# The first entry is for all parameters; w3 is 5x48, w2 4x2x3x3.
UPDATES = {
    "on one device": [{"parameter": ".*", "devices": [1]}],
    "sharded": [{"parameter": "w3", "degrees": {"d1": 3}, "devices": [2, 0, 1]},
                {"parameter": "w2", "degrees": {"d0": 2, "d3": 2}, "replicate": 2,
                 "devices": [0, 1, 1, 2, 2, 0, 0, 1]},
                {"parameter": "scale|shift", "degrees": {"d0": 4},
                 "devices": [0, 0, 1, 2]}],
}


def compiled_apart(step, name, *options):
    """Data parallel on three devices, with updates elsewhere."""
    base = step.compiled(*TRAINED, "--devices=3", "--strategy=data-parallel",
                         f"--export-strategy={step.folder / 'data.json'}")
    assert base.exists()
    strategy = json.loads((step.folder / "data.json").read_text())
    assert "parameters" not in strategy
    strategy["parameters"] = UPDATES[name]
    file = step.folder / f"{name}.json"
    file.write_text(json.dumps(strategy))
    return step.compiled(*TRAINED, "--devices=3", f"--strategy={file}", *options)


@pytest.mark.parametrize("name", UPDATES)
def test_updates_apart(steps, name):
    """Wherever parameters are updated, they get the values of one device; saved
    state goes on under other strategies, and the other way."""
    step = steps["convolutional"]
    apart, random = compiled_apart(step, name), compiled(step, 2, 1)
    near(step.state(apart, 5), on_one_device(step, 5), 1e-9)
    for first, then in ((apart, random), (random, apart)):
        middle = step.folder / "apart.safetensors"
        step.run(first, "--iterations=3", f"--save-state={middle}")
        near(step.state(then, 2, f"--load-state={middle}"), on_one_device(step, 5),
             1e-9)


def test_every_tensor_of_updates_apart(steps):
    """But for the gradient of a bias in front of a batch norm, which is 0."""
    step = steps["convolutional"]
    compiled_apart(step, "sharded")
    file = step.folder / "apart.verified.so"
    step.tools.run("soap-compile", step.model, *TRAINED, "--devices=3",
                   f"--strategy={step.folder / 'sharded.json'}", "--prove", "-o", file)
    step.run(file, "--verify", "--rtol=1e-9", "--atol=1e-12")


@pytest.mark.parametrize("name", UPDATES)
@pytest.mark.parametrize("transport", ["host", "device"])
def test_updates_apart_on_the_emulated_accelerator(steps, monkeypatch, name, transport):
    monkeypatch.setenv("SOAP_EMULATED_SEED", "11")
    monkeypatch.setenv("SOAP_EMULATED_TRANSPORT", transport)
    step = steps["convolutional"]
    compiled_apart(step, name)
    file = step.compiled(*TRAINED, "--target=emulated", "--devices=3",
                         f"--strategy={step.folder / f'{name}.json'}",
                         tool="soap-compile-emulated")
    near(step.state(file, 5), on_one_device(step, 5), 1e-9)


@pytest.mark.skipif(not launcher.FOUND, reason="mpirun is missing")
@pytest.mark.parametrize("name", UPDATES)
def test_updates_apart_in_several_processes(steps, name):
    step = steps["convolutional"]
    near(step.state(compiled_apart(step, name), 5, ranks=3), on_one_device(step, 5),
         1e-9)


@pytest.mark.skipif(not launcher.FOUND, reason="mpirun is missing")
def test_several_processes(steps):
    step = steps["convolutional"]
    middle = step.folder / "ranks.safetensors"
    two = compiled(step, 2, 1)
    step.run(two, "--iterations=3", f"--save-state={middle}", ranks=2)
    near(step.state(two, 2, f"--load-state={middle}", ranks=2),
         on_one_device(step, 5), 1e-9)


@pytest.mark.parametrize("transport", ["host", "device"])
def test_emulated_accelerator(steps, monkeypatch, transport):
    monkeypatch.setenv("SOAP_EMULATED_SEED", "7")
    monkeypatch.setenv("SOAP_EMULATED_TRANSPORT", transport)
    step = steps["convolutional"]
    file = step.compiled(*TRAINED, "--target=emulated", "--devices=2",
                         "--strategy=random-team", "--seed=1",
                         tool="soap-compile-emulated")
    near(step.state(file, 5), on_one_device(step, 5), 1e-9)


# -- Running statistics


@pytest.mark.parametrize("count", [1, 3])
def test_running_statistics(steps, count):
    """They are those of the whole batch; the variance is the unbiased one."""
    step = steps["convolutional"]
    two = step.compiled("--train=sgd", "--lr=0", "--batch-norm-momentum=0.7",
                        "--devices=2", "--strategy=data-parallel")
    m, proto, _, _ = MODELS["convolutional"]()
    proto.graph.output.append(onnx.helper.make_tensor_value_info(
        "conv1", onnx.TensorProto.DOUBLE, None))
    x = ReferenceEvaluator(proto).run(["conv1"], m.inputs)[0]
    kept = 0.7**count
    got = step.state(two, count)
    near({key: got[key] for key in ("mean", "variance", "w1")}, {
        "mean": kept * m.weights["mean"] + (1 - kept) * x.mean((0, 2, 3)),
        "variance": kept * m.weights["variance"] +
                    (1 - kept) * x.var((0, 2, 3), ddof=1),
        "w1": m.weights["w1"]}, 1e-9)


# -- Mistakes


def expect_error(result, *texts):
    assert result.returncode == 2, result.stdout + result.stderr
    for text in texts:
        assert text in result.stderr, result.stderr


def test_files_of_state(small, steps):
    model = small.compiled(*options(HOW["sgd"]))
    folder = small.folder
    good, bad = folder / "good.safetensors", folder / "bad.safetensors"
    small.run(model, f"--save-state={good}")
    state = training_state.load(good)
    data = good.read_bytes()

    def refused(*texts):
        expect_error(small.run(model, f"--load-state={bad}", check=False),
                     str(bad), *texts)

    for end in (0, 7, 20, len(data) - 1):
        bad.write_bytes(data[:end])
        refused("expected a whole safetensors file")
    bad.write_bytes(data + bytes(3))
    refused("3 bytes behind its last tensor")
    training_state.save(bad, {key: value for key, value in state.items()
                              if key != "w2"})
    refused("'w2'", "none")
    training_state.save(bad, {**state, "w2": state["w2"].T.copy()})
    refused("'w2'", "7x4", "4x7")
    training_state.save(bad, {**state, "w2": state["w2"].astype(np.float32)})
    refused("'w2'")
    expect_error(small.run(model, f"--load-state={folder / 'missing'}", check=False),
                 "missing")


def test_a_model_without_state(small):
    inference = small.folder / "inference.so"
    small.tools.run("soap-compile", small.model, "-o", inference)
    for option in ("--load-state=a.safetensors", "--save-state=a.safetensors"):
        expect_error(small.tools.run("soap-run", inference, option, check=False),
                     "no state", "--train")


def test_places_that_cannot_be_written(small):
    model = small.compiled(*options(HOW["sgd"]))
    for option in ("--save-state", "--log"):
        result = small.run(model, f"{option}=/dev/full", check=False)
        assert result.returncode == 1 and "/dev/full" in result.stderr, result.stderr
