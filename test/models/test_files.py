"""Training on files: batches are those of the files under any strategy, evaluation
is numpy's, and exported models compute in onnxruntime what was trained."""

import json

import launcher
import numpy as np
import onnx
import onnxruntime
import pytest
import training_state
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from test_training import MODELS, Model, cross_entropy
from test_updates import Step, near

SAMPLES, BATCH = 10, 4
AXES = {"convolutional": 1, "transformer": 2}
TRAINED = ["--train=sgd", "--lr=0.1", "--momentum=0.9", "--batch-norm-momentum=0.7"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


class Trained:
    """A model, and samples for it in files of all kinds."""

    def __init__(self, tools, folder, name):
        m, proto, shape, axis = MODELS[name]()
        self.tools, self.folder, self.axis, self.proto = tools, folder, axis, proto
        self.step = Step(tools, folder, name, proto, {})
        self.input, example = next(iter(m.inputs.items()))
        self.batch = shape[0]
        label = (SAMPLES, *shape[1:axis], *shape[axis + 1:])
        x = (SAMPLES, *example.shape[1:])
        self.samples = {
            self.input: m.random.standard_normal(x) if example.dtype == np.float64
            else m.random.integers(0, 7, x),
            "label": m.random.integers(0, shape[axis], label)}
        self.files = {}
        for key, value in self.samples.items():
            np.save(folder / f"{name}.{key}.npy", value)
        np.savez(folder / f"{name}.npz", **self.samples)
        np.savez_compressed(folder / f"{name}.packed.npz", **self.samples)
        np.savez(folder / f"{name}.named.npz", first=self.samples[self.input],
                 second=self.samples["label"])
        self.files = {
            "npy": [folder / f"{name}.{key}.npy" for key in self.samples],
            "npz": [folder / f"{name}.npz"] * 2,
            "packed": [folder / f"{name}.packed.npz"] * 2,
            "named": [f"{folder / f'{name}.named.npz'}:{array}"
                      for array in ("first", "second")]}

    def compiled(self, *options, **how):
        return self.step.compiled(*TRAINED, f"--class-axis={self.axis}", *options,
                                  **how)

    def data(self, kind="npz", option="data"):
        return [f"--{option}={key}={file}"
                for key, file in zip(self.samples, self.files[kind])]

    def run(self, file, *options, **how):
        return self.tools.run("soap-run", file, *options, **how)

    def state(self, file, *options, **how):
        state = self.folder / "state.safetensors"
        self.run(file, f"--save-state={state}", *options, **how)
        return training_state.load(state)


@pytest.fixture(scope="module")
def models(tools, folder):
    return {name: Trained(tools, folder, name) for name in AXES}


def one_by_one(model, file, batches):
    """The state after steps on these batches, each given by --input."""
    state = None
    for number, samples in enumerate(batches):
        arguments = []
        for key, values in model.samples.items():
            path = model.folder / f"batch.{key}.npy"
            np.save(path, values[samples])
            arguments.append(f"--input={key}={path}")
        if state is not None:
            path = model.folder / f"before{number}.safetensors"
            training_state.save(path, state)
            arguments.append(f"--load-state={path}")
        state = model.state(file, *arguments)
    return state


def check_bits(got, expected):
    assert got.keys() == expected.keys()
    for key, value in expected.items():
        assert got[key].tobytes() == value.tobytes(), key


@pytest.mark.parametrize("name", AXES)
def test_batches_are_those_of_the_file(models, name):
    """In order, filled up by the first samples, from all kinds of files."""
    model = models[name]
    file = model.compiled()
    n = model.batch
    batches = [[i % SAMPLES for i in range(start, start + n)]
               for start in range(0, SAMPLES, n)]
    expected = one_by_one(model, file, batches)
    for kind in model.files:
        check_bits(model.state(file, *model.data(kind)), expected)
    full = [batch for batch in batches if batch[-1] >= batch[0]]
    assert len(full) < len(batches)
    check_bits(model.state(file, *model.data(), "--drop-last"),
               one_by_one(model, file, full))
    check_bits(model.state(file, *model.data(), "--steps=2"),
               one_by_one(model, file, batches[:2]))
    check_bits(model.state(file, *model.data(), "--epochs=2", "--drop-last"),
               one_by_one(model, file, full * 2))


def losses(log):
    return [line["loss"] for line in map(json.loads, log.read_text().splitlines())
            if "loss" in line]


@pytest.mark.parametrize("ranks", [1, 2])
def test_any_strategy_reads_the_same(models, ranks):
    if ranks > 1 and not launcher.FOUND:
        pytest.skip("mpirun is missing")
    model = models["convolutional"]
    log = model.folder / "log.jsonl"
    options = [*model.data(), "--epochs=3", "--shuffle=5", f"--log={log}"]
    state = model.state(model.compiled(), *options)
    curve = losses(log)
    assert len(curve) == 9 and len(set(curve)) == 9
    for strategy in ("data-parallel", "random"):
        file = model.compiled("--devices=2", f"--strategy={strategy}", "--seed=1")
        near(model.state(file, *options, ranks=ranks), state, 1e-9)
        assert np.abs(np.array(losses(log)) - curve).max() < 1e-9
    unshuffled = model.state(model.compiled(), *model.data(), "--epochs=3")
    assert any(np.abs(unshuffled[key] - state[key]).max() > 1e-6 for key in state)


# -- Evaluation


def outputs(model, state):
    """What the model computes for all samples, by ONNX's reference evaluator."""
    proto = onnx.ModelProto()
    proto.CopyFrom(model.proto)
    for weight in proto.graph.initializer:
        if weight.name in state:
            weight.CopyFrom(numpy_helper.from_array(state[weight.name], weight.name))
    evaluator, x = ReferenceEvaluator(proto), model.samples[model.input]
    n, parts = model.batch, []
    for start in range(0, SAMPLES, n):
        samples = [i % SAMPLES for i in range(start, start + n)]
        parts.append(evaluator.run(["scores"], {model.input: x[samples]})[0])
    return np.concatenate(parts)[:SAMPLES]


@pytest.mark.parametrize("name, devices, ranks", [
    ("convolutional", 1, 1), ("transformer", 1, 1), ("convolutional", 2, 2)])
def test_metrics(models, name, devices, ranks):
    if ranks > 1 and not launcher.FOUND:
        pytest.skip("mpirun is missing")
    model = models[name]
    file = model.compiled(f"--devices={devices}",
                          f"--strategy={'random' if devices > 1 else 'single'}")
    log = model.folder / "metrics.jsonl"
    state = model.state(file, *model.data(), "--epochs=3", f"--log={log}",
                        *model.data("packed", "eval-data"), "--eval-every=2",
                        ranks=ranks)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    evaluations = {line["step"]: line["evaluation"] for line in lines
                   if "evaluation" in line}
    steps = len(lines) - len(evaluations)
    assert sorted(evaluations) == sorted({*range(2, steps + 1, 2), steps})

    scores, labels = outputs(model, state), model.samples["label"]
    best = np.argsort(-scores, axis=model.axis, kind="stable")
    hit = best == np.expand_dims(labels, model.axis)
    loss = cross_entropy(scores, labels, model.axis)
    expected = {"samples": SAMPLES, "labels": labels.size, "loss": loss,
                "perplexity": np.exp(loss),
                "accuracy": hit.take([0], model.axis).sum() / labels.size}
    if scores.shape[model.axis] > 5:
        expected["top5"] = hit.take(range(5), model.axis).sum() / labels.size
    got = evaluations[steps]
    assert got.keys() == expected.keys()
    for key, value in expected.items():
        assert abs(got[key] - value) < 1e-9 * max(1, value), key

    # Alone, of what was saved: the same bits, and the state stays.
    saved = model.folder / "trained.safetensors"
    training_state.save(saved, state)
    report = json.loads(model.run(file, f"--load-state={saved}", "--json",
                                  *model.data(option="eval-data"), ranks=ranks).stdout)
    assert report["evaluation"] == got


def test_loss_of_elements(tools, folder):
    """Mean squared error, of labels that are like the output."""
    m = Model(4)
    m.inputs["x"] = m.random.standard_normal((4, 3))
    m.node("MatMul", ["x", m.weight("w", 3, 2)], "y")
    step = Step(tools, folder, "linear", m.proto("y", [4, 2]), {})
    x, y = m.random.standard_normal((7, 3)), m.random.standard_normal((7, 2))
    np.savez(folder / "linear.npz", x=x, label=y)
    file = step.compiled("--train=sgd", "--lr=0", "--loss=mean-squared-error")
    report = tools.json("soap-run", file,
                        *(f"--eval-data={key}={folder / 'linear.npz'}"
                          for key in ("x", "label")))["evaluation"]
    assert report.keys() == {"samples", "loss"} and report["samples"] == 7
    assert abs(report["loss"] - ((x @ m.weights["w"] - y)**2).mean()) < 1e-12


# -- Exported models


@pytest.mark.parametrize("name", [*AXES, "recurrent"])
def test_exported_models(tools, folder, name):
    m, proto, shape, axis = MODELS[name]()
    # One weight is made by a node, as exporters do.
    constant = next(w for w in proto.graph.initializer if w.data_type == 11)
    made = numpy_helper.to_array(constant)
    constant_name = constant.name
    proto.graph.initializer.remove(constant)
    proto.graph.node.insert(0, helper.make_node(
        "Constant", [], [constant_name], "made",
        value=numpy_helper.from_array(made, constant_name)))
    labels = m.random.integers(0, shape[axis], shape[:axis] + shape[axis + 1:])
    step = Step(tools, folder, f"{name}.exported", proto,
                {**m.inputs, "label": labels})
    file = step.compiled("--train=adam", "--lr=0.1", f"--class-axis={axis}")
    state, exported = folder / "s.safetensors", folder / f"{name}.trained.onnx"
    step.run(file, "--iterations=3", f"--save-state={state}",
             f"--export-onnx={exported}", f"--onnx-model={step.model}")
    result = onnx.load(exported)
    onnx.checker.check_model(result, full_check=True)
    values = training_state.load(state)
    stored = {w.name: numpy_helper.to_array(w) for w in result.graph.initializer}
    trained = [key for key in values if key in stored]
    assert constant_name in trained and len(trained) > 3
    assert np.abs(stored[constant_name] - made).max() > 1e-3
    for key in trained:
        assert stored[key].tobytes() == values[key].tobytes(), key

    output = folder / "eval.npy"
    inputs = [a for a in step.arguments if not a.startswith("--input=label=")]
    tools.run("soap-run", file, "--program=eval", f"--load-state={state}", *inputs,
              f"--output=scores={output}")
    try:
        got, = onnxruntime.InferenceSession(exported).run(["scores"], m.inputs)
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        # Of operators that onnxruntime has in single precision alone.
        got, = ReferenceEvaluator(result).run(["scores"], m.inputs)
    near({"scores": got}, {"scores": np.load(output)}, 1e-9)


def test_export_names_what_does_not_fit(models):
    model, other = models["convolutional"], models["transformer"]
    file = model.compiled()
    exported = model.folder / "none.onnx"
    for options, code, texts in (
            ([f"--onnx-model={other.step.model}"], 2, [str(other.step.model), "no tensor"]),
            ([f"--onnx-model={file}"], 2, [str(file), "damaged"]),
            ([], 2, ["--onnx-model"])):
        result = model.run(file, f"--export-onnx={exported}", *options, check=False)
        assert result.returncode == code, result.stderr
        assert all(text in result.stderr for text in texts), result.stderr
        assert not exported.exists()
    result = model.run(file, f"--export-onnx={model.step.model}",
                       f"--onnx-model={model.step.model}", check=False)
    assert result.returncode == 2 and "--onnx-model reads" in result.stderr


# -- Mistakes


def test_mistakes(models, folder):
    model = models["convolutional"]
    file = model.compiled()
    x, label = model.data()
    np.save(folder / "few.npy", np.zeros(3, np.int64))
    np.save(folder / "half.npy", np.zeros((SAMPLES, 2, 11, 9), np.float16))
    np.save(folder / "wide.npy", np.zeros((SAMPLES, 2, 11, 9), np.complex128))
    np.save(folder / "large.npy", np.arange(SAMPLES))
    (folder / "cut.npz").write_bytes((folder / "convolutional.npz").read_bytes()[:900])
    for arguments, texts in (
            ([x], ["--data=label=FILE"]),
            ([x, label, label], ["two for 'label'"]),
            ([x, f"--data=label={folder / 'few.npy'}"], ["10 in", "3 in", "few.npy"]),
            ([x, f"--data=label={folder / 'missing.npy'}"], ["missing.npy"]),
            ([x, f"--data=label={folder / 'large.npy'}"], ["large.npy", "sample 5"]),
            ([f"--data=x={folder / 'wide.npy'}", label], ["wide.npy", "type"]),
            ([f"--data=x={folder / 'cut.npz'}", label], ["cut.npz"]),
            ([x, label, "--iterations=3"], ["--iterations"]),
            ([x, label, "--verify"], ["--verify"]),
            ([x, label, "--input=label=zeros"], ["--data or --input", "label"]),
            ([x, label, f"--eval-data=x={folder / 'convolutional.npz'}"],
             ["--eval-data=label"]),
            ([x, label, "--resume"], ["--checkpoint=DIR"]),
            ([x, label, "--checkpoint-every=5x"], ["'5x'"]),
            (["--epochs=2"], ["--data"])):
        result = model.run(file, *arguments, check=False)
        assert result.returncode == 2, (arguments, result.stderr)
        assert result.stderr.count("error:") == 1
        assert all(text in result.stderr for text in texts), result.stderr
    # A narrower type loses nothing.
    result = model.run(file, f"--data=x={folder / 'half.npy'}", label)
    assert "widened from f16 to f64" in result.stderr
    inference = folder / "inference.so"
    model.tools.run("soap-compile", model.step.model, "-o", inference)
    result = model.run(inference, f"--data=x={folder / 'convolutional.npz'}",
                       check=False)
    assert result.returncode == 2 and "--train" in result.stderr


def test_a_step_without_a_program_to_evaluate(models, folder):
    model = models["convolutional"]
    file = model.compiled("--no-eval")
    result = model.run(file, *model.data(option="eval-data"), check=False)
    assert result.returncode == 2 and "'eval'" in result.stderr, result.stderr
