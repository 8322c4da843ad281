"""Dropout, micro-batches and batch norms with statistics of parts: against masks
and gradients written from the formulas, and against the whole batch."""

import functools
import json
import re

import launcher
import numpy as np
import onnx
import pytest
import training_state
from onnx.reference import ReferenceEvaluator
from test_training import MODELS, Model, in_single
from test_updates import STEPS, TRAINED, Step, near


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("batches")


# -- Dropout


def philox(counter, key):
    """The first words of Philox-4x32 with ten rounds (Salmon et al. 2011, section
    3.3), for counters of two words of 64 bits."""
    low = np.uint64(0xffffffff)
    words = [np.uint64(half) for word in counter
             for half in (word & low, word >> np.uint64(32))]
    keys = [key & 0xffffffff, key >> 32 & 0xffffffff]
    for _ in range(10):
        left = words[0] * np.uint64(0xD2511F53)
        right = words[2] * np.uint64(0xCD9E8D57)
        words = [right >> np.uint64(32) ^ words[1] ^ np.uint64(keys[0]), right & low,
                 left >> np.uint64(32) ^ words[3] ^ np.uint64(keys[1]), left & low]
        keys = [(keys[0] + 0x9E3779B9) % 2**32, (keys[1] + 0xBB67AE85) % 2**32]
    return words[0]


def mask(shape, step, seed, ratio, origin=0):
    """What dropout multiplies a value by, whose first element has the number
    `origin`."""
    numbers = np.arange(origin, origin + np.prod(shape), dtype=np.uint64)
    words = philox([numbers.reshape(shape), np.uint64(step)], seed % 2**64)
    return (words >= np.uint64(round(ratio * 2**32))) / (1 - ratio)


@pytest.mark.parametrize("element, ratio", [("f32", 0.5), ("f64", 0.1), ("f16", 0.75)])
def test_masks(tools, folder, element, ratio):
    """The share that is kept, its scale, and another mask in the next step, in a
    tile that starts behind 2^32 elements, on one device and under a random
    strategy."""
    model, seed, rows = folder / f"mask.{element}.mlir", -5 * 10**17, 2**31 - 1
    model.write_text(f"""func.func @main() {{
      %x = nn.input {{nn.name = "x"}} : tensor<40x3x50x{element}>
      %n = nn.input {{nn.name = "n", sample_dims = array<i64>}} : tensor<i64>
      %y = nn.dropout %x, %n {{nn.name = "drop", ratio = {ratio} : f64, seed = {seed},
        offsets = array<i64: {rows - 40}, 0, 0>,
        global_shape = array<i64: {rows}, 3, 50>}} : tensor<40x3x50x{element}>, tensor<i64>
      nn.output %y {{nn.name = "y"}} : tensor<40x3x50x{element}> return }}""")
    kind = {"f32": np.float32, "f64": np.float64, "f16": np.float16}[element]
    x = np.random.default_rng(1).uniform(1, 2, (40, 3, 50)).astype(kind)
    np.save(folder / "x.npy", x)
    kept = []
    for devices, step in (1, 1), (3, 1), (1, 2), (3, 2**33 + 1):
        np.save(folder / "n.npy", np.int64(step))
        tools.run("soap-compile", model, f"--devices={devices}",
                  "--strategy=" + ("random" if devices > 1 else "single"), "--seed=3",
                  "-o", folder / "mask.so")
        tools.run("soap-run", folder / "mask.so", f"--input=x={folder / 'x.npy'}",
                  f"--input=n={folder / 'n.npy'}", f"--output=y={folder / 'y.npy'}")
        y = np.load(folder / "y.npy")
        factor = mask(x.shape, step, seed, ratio, (rows - 40) * 150)
        np.testing.assert_allclose(y, x * factor, rtol=2e-3 if element == "f16" else 1e-6)
        kept.append((y != 0).ravel())
        # Four standard deviations.
        deviation = np.sqrt(ratio * (1 - ratio) / x.size)
        assert abs(kept[-1].mean() - (1 - ratio)) < 4 * deviation
        assert abs(y.mean() - x.mean()) < 4 * deviation * 2 / (1 - ratio)
    for other in kept[2:]:  # Masks of other steps have nothing to do with it.
        share = (1 - ratio)**2
        assert abs((kept[0] & other).mean() - share) < 4 * np.sqrt(
            share * (1 - share) / x.size)


RATIOS = {"drop1": 0.4, "drop2": 0.25}


@functools.cache
def forgetful():
    """Two layers with dropout behind each, and the gradient of their loss, by the
    seeds of the masks and the ratios."""
    m = Model(5)
    m.inputs["x"] = m.random.standard_normal((6, 5))
    m.weights["on"] = np.array(True)
    h = m.node("MatMul", ["x", m.weight("w1", 5, 7)], "product")
    for name, ratio in RATIOS.items():
        m.weights["ratio." + name] = np.array(ratio)
    h = m.node("Dropout", [h, "ratio.drop1", "on"], "drop1")
    scores = m.node("MatMul", [h, m.weight("w2", 7, 4, scale=1.0)], "scored")
    m.node("Dropout", [scores, "ratio.drop2"], "drop2")
    labels = m.random.integers(0, 4, 6)

    def differentiate(w, step, seeds, ratios):
        x = m.inputs["x"]
        mask1, mask2 = (mask(shape, step, seeds[name], ratios[name])
                        for name, shape in (("drop1", (6, 7)), ("drop2", (6, 4))))
        h = x @ w["w1"] * mask1
        scores = h @ w["w2"] * mask2
        p = np.exp(scores - scores.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        d = (p - np.eye(4)[labels]) / 6 * mask2
        return {"w1": x.T @ (d @ w["w2"].T * mask1), "w2": h.T @ d}

    return m, m.proto("drop2", [6, 4]), labels, differentiate


@pytest.fixture(scope="module")
def dropping(tools, folder):
    m, proto, labels, _ = forgetful()
    for value in proto.graph.initializer:  # A bool, and ratios in float.
        if value.name == "on":
            assert value.data_type == onnx.TensorProto.BOOL
    return Step(tools, folder, "forgetful", proto, {**m.inputs, "label": labels})


HEAVY = ["--train=sgd", "--lr=0.4", "--momentum=0.5"]


def expected_weights(step, *options, ratios=None, steps=STEPS):
    """By the formulas, with the seeds that the compiler gives the operations."""
    m, _, _, differentiate = forgetful()
    text = step.tools.run("soap-compile", step.model, *HEAVY, *options,
                          "--emit=nn").stdout
    seeds = {name: int(seed) for name, seed in
             re.findall(r'nn.name = "(drop\d)(?:_1)?",.*? seed = (-?\d+)', text)}
    assert len(set(seeds.values())) == len(seeds) == 2
    weights, state = {key: m.weights[key] for key in ("w1", "w2")}, {}
    for number in range(1, steps + 1):
        gradients = differentiate(weights, number, seeds, ratios or RATIOS)
        training_state.update(number, weights, gradients, state,
                              {"train": "sgd", "lr": 0.4, "momentum": 0.5})
    return {**weights, **state, "schedule": np.array(steps)}


@pytest.mark.parametrize("devices, seed", [(1, 0), (2, 1), (3, 3)])
def test_dropout(dropping, devices, seed):
    """Every step has masks of its own, the gradients have the same, and so does a
    run that goes on from a file."""
    strategy = f"--strategy={'random' if devices > 1 else 'single'}"
    file = dropping.compiled(*HEAVY, f"--devices={devices}", strategy,
                             f"--seed={seed}")
    expected = expected_weights(dropping)
    near(dropping.state(file, STEPS), expected, 1e-9)
    middle = dropping.folder / f"drop.{devices}.safetensors"
    dropping.run(file, "--iterations=2", f"--save-state={middle}")
    near(dropping.state(file, STEPS - 2, f"--load-state={middle}"), expected, 1e-9)


def test_dropout_by_option(dropping):
    ratios = {"drop1": 0.6, "drop2": 0.6}
    other = dropping.compiled(*HEAVY, "--dropout=0.6", "--dropout-seed=9")
    near(dropping.state(other, 3),
         expected_weights(dropping, "--dropout=0.6", "--dropout-seed=9",
                          ratios=ratios, steps=3), 1e-9)
    _, _, _, differentiate = forgetful()
    weights = {key: forgetful()[0].weights[key] for key in ("w1", "w2")}
    gradients = differentiate(weights, 1, dict.fromkeys(RATIOS, 0),
                              dict.fromkeys(RATIOS, 0))
    got = dropping.state(dropping.compiled("--train=sgd", "--lr=1", "--dropout=none"), 1)
    near({key: got[key] for key in weights},
         {key: weights[key] - gradients[key] for key in weights}, 1e-9)


@pytest.mark.parametrize("devices, seed", [(1, 0), (2, 4)])
def test_evaluation_drops_nothing(dropping, devices, seed):
    strategy = f"--strategy={'random' if devices > 1 else 'single'}"
    file = dropping.compiled(*HEAVY, "--dropout=0.6", f"--devices={devices}", strategy,
                             f"--seed={seed}")
    state = dropping.folder / f"evaluated.{devices}.safetensors"
    output = dropping.folder / f"evaluated.{devices}.npy"
    dropping.run(file, "--iterations=2", f"--save-state={state}")
    x = next(argument for argument in dropping.arguments if "=x=" in argument)
    dropping.tools.run("soap-run", file, "--program=eval", x, f"--load-state={state}",
                       f"--output=drop2={output}")
    weights = training_state.load(state)
    expected = forgetful()[0].inputs["x"] @ weights["w1"] @ weights["w2"]
    near({"drop2": np.load(output)}, {"drop2": expected}, 1e-9)


def test_every_tensor_equals_one_device(dropping):
    """soap-run --verify compares with the masks that one device draws."""
    file = dropping.folder / "verified.so"
    dropping.tools.run("soap-compile", dropping.model, *HEAVY, "--devices=2",
                       "--accumulate=2", "--strategy=random-team", "--seed=5", "-o", file)
    dropping.run(file, "--verify", "--rtol=1e-9", "--atol=0")


# -- Micro-batches


@pytest.mark.parametrize("name, count, how", [
    ("transformer", 3, ["--class-axis=2"]),
    ("transformer", 3, ["--class-axis=2", "--ignore-index=3", "--clip-norm=0.2"]),
    ("recurrent", 2, ["--class-axis=2", "--batch-dim=tokens=1"]),
    ("segmenting", 2, ["--loss=mean-squared-error"]),
    ("convolutional", 4, ["--batch-norm=frozen", "--label-smoothing=0.1"])])
def test_accumulation(tools, folder, name, count, how):
    """The update is that of the whole batch."""
    m, proto, shape, axis = MODELS[name]()
    labels = m.random.integers(0, shape[axis], shape[:axis] + shape[axis + 1:])
    if "--loss=mean-squared-error" in how:
        labels = m.random.standard_normal(shape)
    step = Step(tools, folder, f"{name}.accumulated", proto,
                {**m.inputs, "label": labels})
    options = ["--train=sgd", "--lr=0.3", *how]
    logs = [folder / "whole.jsonl", folder / "parts.jsonl"]
    whole = step.state(step.compiled(*options), 3, f"--log={logs[0]}")
    for devices in 1, 3:
        strategy = f"--strategy={'random-team' if devices > 1 else 'single'}"
        parts = step.compiled(*options, f"--accumulate={count}", strategy,
                              f"--devices={devices}", "--seed=2")
        near(step.state(parts, 3, f"--log={logs[1]}"), whole, 1e-8)
        lines = [log.read_text().splitlines() for log in logs]
        for a, b in zip(*lines, strict=True):
            assert abs(json.loads(a)["loss"] - json.loads(b)["loss"]) < 1e-9


def ending_in_loss():
    """The mean of squared errors beside that of cross entropies, as a model's own
    nodes."""
    m = Model(8)
    m.inputs["x"] = m.random.standard_normal((6, 5))
    m.inputs["target"] = m.random.standard_normal((6, 3))
    m.inputs["class"] = m.random.integers(0, 4, 6)
    h = m.node("Tanh", [m.node("MatMul", ["x", m.weight("w1", 5, 7)], "product")], "h")
    error = m.node("Sub", [m.node("MatMul", [h, m.weight("w2", 7, 3)], "y"), "target"],
                   "error")
    squares = m.node("ReduceMean", [m.node("Mul", [error, error], "squares")], "mean",
                     keepdims=0)
    scores = m.node("MatMul", [h, m.weight("w3", 7, 4)], "scores")
    entropy = m.node("SoftmaxCrossEntropyLoss", [scores, "class"], "entropy")
    m.weights["half"], m.weights["three"] = np.array(0.5), np.array(3.0)
    first = m.node("Mul", ["half", squares], "weighed")
    second = m.node("Neg", [m.node("Div", [entropy, "three"], "third")], "negated")
    m.node("Sub", [first, second], "own.loss")
    return m


@pytest.mark.parametrize("devices", [1, 3])
def test_accumulation_of_a_models_own_loss(tools, folder, devices):
    m = ending_in_loss()
    step = Step(tools, folder, "own", m.proto("own.loss", []), m.inputs)
    options = ["--train=sgd", "--lr=0.3", "--loss=output", "--freeze=half|three"]
    logs = [folder / "whole.jsonl", folder / "parts.jsonl"]
    whole = step.state(step.compiled(*options), 3, f"--log={logs[0]}")
    strategy = f"--strategy={'random' if devices > 1 else 'single'}"
    parts = step.compiled(*options, "--accumulate=3", strategy, "--seed=4",
                          f"--devices={devices}")
    near(step.state(parts, 3, f"--log={logs[1]}"), whole, 1e-9)
    losses = [[json.loads(line)["loss"] for line in log.read_text().splitlines()]
              for log in logs]
    np.testing.assert_allclose(*losses, rtol=1e-12)


def test_accumulation_with_dropout(dropping):
    """Micro-batches have the masks of the whole batch."""
    file = dropping.compiled(*HEAVY, "--accumulate=3", "--devices=2",
                             "--strategy=random", "--seed=5")
    near(dropping.state(file, STEPS), expected_weights(dropping), 1e-9)


def test_gradients_of_micro_batches_are_reduced_once(dropping):
    file = dropping.folder / "moved.json"
    dropping.compiled(*HEAVY, "--accumulate=3", "--devices=2",
                      "--strategy=data-parallel", "--bucket-bytes=0", f"--export-movements={file}")
    moved = [movement["bytes"] for movement in
             json.loads(file.read_text())["movements"]
             if movement["kind"] == "all_reduce"]
    for name in "w1", "w2":
        size = forgetful()[0].weights[name].nbytes
        assert moved.count([size, size]) == 1, moved


@pytest.mark.parametrize("ranks", [
    1, pytest.param(2, marks=pytest.mark.skipif(not launcher.FOUND,
                                                reason="mpirun is missing"))])
def test_gradients_of_micro_batches_are_compared(dropping, ranks):
    """Those of each micro-batch, too, though only their sum is reduced."""
    file = dropping.folder / "summed.so"
    dropping.tools.run("soap-compile", dropping.model, *HEAVY, "--devices=2",
                       "--accumulate=3", "--strategy=data-parallel", "-o", file)
    report = json.loads(dropping.run(file, "--verify", "--rtol=1e-9", "--json",
                                     ranks=ranks).stdout)["verify"]
    assert report["equal"]
    assert "never combined" not in str(report["not_compared"])


def test_statistics_of_parts(tools, folder):
    """Micro-batches have the statistics that parts of the batch have, and both
    keep running ones: a mean, or one after the other."""
    m, proto, shape, _ = MODELS["convolutional"]()
    labels = m.random.integers(0, shape[1], shape[:1])
    step = Step(tools, folder, "convolutional.parts", proto,
                {**m.inputs, "label": labels})
    local = step.compiled(*TRAINED, "--batch-norm=local", "--devices=2",
                          "--strategy=data-parallel")
    parts = step.compiled(*TRAINED, "--accumulate=2", "--devices=3",
                          "--strategy=random", "--seed=3")
    got, expected = step.state(local, 4), step.state(parts, 4)
    ofStatistics = {"mean", "variance"}
    near({key: value for key, value in got.items() if key not in ofStatistics},
         {key: value for key, value in expected.items() if key not in ofStatistics},
         1e-9)
    # Another strategy computes the same.
    other = step.compiled(*TRAINED, "--batch-norm=local", "--batch-norm-parts=2",
                          "--devices=3", "--strategy=random", "--seed=4")
    near(step.state(other, 4), got, 1e-9)
    proto.graph.output.append(onnx.helper.make_tensor_value_info(
        "conv1", onnx.TensorProto.DOUBLE, None))
    x = ReferenceEvaluator(proto).run(["conv1"], m.inputs)[0]
    halves = [x[:2], x[2:]]
    after = {"mean": [half.mean((0, 2, 3)) for half in halves],
             "variance": [half.var((0, 2, 3), ddof=1) for half in halves]}
    first = [step.state(file, 1) for file in (local, parts)]
    for key, (a, b) in after.items():
        old = m.weights[key]
        near({key: first[0][key]}, {key: 0.7 * old + 0.3 * (a + b) / 2}, 1e-9)
        near({key: first[1][key]}, {key: 0.7 * (0.7 * old + 0.3 * a) + 0.3 * b}, 1e-9)


def test_variance_far_from_zero(tools, folder):
    """Of numbers of f32 around 1,000, a variance of 1 is exact in two passes, and as
    soon as the running mean is the mean where it is shifted by that."""
    m = Model(5)
    x = m.random.standard_normal((64, 3, 8)) + np.array([1000, -300, 0])[:, None]
    m.inputs["x"] = x
    norm = m.node("BatchNormalization", ["x", m.weight("scale", 3, around=1),
                                         m.weight("shift", 3), "mean", "variance"],
                  "norm")
    m.weights["mean"], m.weights["variance"] = np.zeros(3), np.ones(3)
    flat = m.node("Flatten", [norm], "flat")
    m.node("Gemm", [flat, m.weight("w", 5, 24)], "scores", transB=1)
    proto = in_single(m.proto("scores", [64, 5]))
    labels = m.random.integers(0, 5, 64)
    step = Step(tools, folder, "far", proto, {"x": x.astype(np.float32), "label": labels})
    expected = {"mean": x.mean((0, 2)), "variance": x.var((0, 2), ddof=1)}

    def check(steps, *options):
        file = step.compiled("--train=sgd", "--batch-norm-momentum=0",
                             "--strategy=data-parallel", *options)
        state = step.state(file, steps)
        near({key: state[key] for key in expected}, expected, 1e-5)

    check(1, "--devices=1")
    check(1, "--devices=3", "--batch-norm-variance=two-pass")
    check(2, "--devices=3")
    with pytest.raises(AssertionError, match="variance"):
        check(1, "--devices=3")


def test_no_label_counts(tools, folder):
    """A batch in which no label counts changes nothing."""
    m = Model(6)
    m.inputs["x"] = m.random.standard_normal((4, 3))
    m.node("Gemm", ["x", m.weight("w", 5, 3), m.weight("b", 5)], "scores", transB=1)
    step = Step(tools, folder, "ignored", m.proto("scores", [4, 5]),
                {**m.inputs, "label": np.full(4, -1)})
    for options in ([], ["--accumulate=2"], ["--devices=2", "--strategy=data-parallel"]):
        file = step.compiled("--train=sgd", "--lr=0.5", "--ignore-index=-1", *options)
        state = step.state(file, 2)
        near({key: state[key] for key in m.weights}, m.weights, 0)
    data = [f"--eval-data={key}={folder / 'labels.npz'}" for key in ("x", "label")]
    for labels, count, loss in ([-1] * 4, 0, "nan"), ([-1, 2, 0, -1], 2, "[0-9]"):
        np.savez(folder / "labels.npz", x=m.inputs["x"], label=np.array(labels))
        printed = tools.run("soap-run", file, *data).stdout
        assert re.search(fr"loss {loss}.* over 4 samples, {count} labels that count\n", printed), printed
