"""Sharded parameters (--strategy=fsdp) and sharded updates (zero-1): steps,
evaluation, saved state, checkpoints and the exported model are those of one device,
in one process and in several, and go on on any number of devices."""

import functools
import json
import random

import killed_training
import launcher
import numpy as np
import onnx
import pytest
import training_state
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator
from test_training import Model
from test_updates import Step, near

WIDTH, SAMPLES, STEPS = 64, 24, 600
WEIGHTS = ["w1", "w2", "w3"]
TRAINED = ["--train=adam", "--lr=0.003", "--clip-norm=0.5"]
PROCESSES = pytest.mark.skipif(not launcher.FOUND, reason="mpirun is missing")


def perceptron():
    """Three layers whose weights are large enough to be sharded over four devices."""
    m = Model(11)
    m.inputs["x"] = m.random.standard_normal((8, WIDTH))
    h = "x"
    for layer, weight in enumerate(WEIGHTS):
        h = m.node("MatMul", [h, m.weight(weight, WIDTH, WIDTH, scale=0.2)],
                   f"product{layer}")
        h = m.node("Add", [h, m.weight(f"b{layer}", WIDTH)], f"sum{layer}")
        if weight != WEIGHTS[-1]:
            h = m.node("Tanh", [h], f"h{layer}")
    return m, m.proto(h, [8, WIDTH]), h


@pytest.fixture(scope="module")
def step(tools, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sharded")
    m, proto, output = perceptron()
    labels = m.random.integers(0, WIDTH, 8)
    np.savez(folder / "data.npz", x=m.random.standard_normal((SAMPLES, WIDTH)),
             label=m.random.integers(0, WIDTH, SAMPLES))
    result = Step(tools, folder, "perceptron", proto, {**m.inputs, "label": labels})
    result.proto, result.values, result.output = proto, m.inputs, output
    return result


def compiled(step, strategy, devices, *options):
    return step.compiled(*TRAINED, f"--devices={devices}", "--cores-per-device=1",
                         f"--strategy={strategy if devices > 1 else 'single'}", *options)


@functools.cache
def on_one_device(step, count):
    return step.state(compiled(step, "single", 1), count)


@pytest.mark.parametrize("strategy, devices, options", [
    ("fsdp", 2, ()), ("fsdp", 4, ()), ("fsdp", 4, ("--prefetch-bytes=0",)),
    ("fsdp", 2, ("--accumulate=2",)),
    ("fsdp", 2, ("--recompute=elementwise", "--prefetch-bytes=40000")),
    ("zero-1", 4, ())])
def test_equals_one_device(step, strategy, devices, options):
    file = step.folder / "strategy.json"
    model = compiled(step, strategy, devices, *options, f"--export-strategy={file}",
                     "--prove")
    parameters = {entry["parameter"]: entry
                  for entry in json.loads(file.read_text())["parameters"]}
    for weight in WEIGHTS:
        assert parameters[weight]["degrees"] == {"d0": devices}
        assert parameters[weight].get("regather", False) == (strategy == "fsdp")
    near(step.state(model, 5), on_one_device(step, 5), 1e-9)


@PROCESSES
@pytest.mark.parametrize("devices", [2, 4])
def test_in_processes(step, devices):
    near(step.state(compiled(step, "fsdp", devices), 5, ranks=devices),
         on_one_device(step, 5), 1e-9)


def test_devices_hold_their_shards(step):
    """Between steps, a device has a quarter of weights and optimizer's state."""
    def parameters(strategy):
        info = step.tools.json("soap-run", compiled(step, strategy, 4), "--info")
        return max(device["parameter_bytes"] for device in info["devices"])

    whole = 3 * len(WEIGHTS) * WIDTH * WIDTH * 8
    assert parameters("data-parallel") > whole
    assert parameters("fsdp") < whole / 4 + 9 * 3 * WIDTH * 8 + 1024


@pytest.mark.parametrize("first, then", [(4, 2), (2, 4), (4, 1), (1, 4)])
def test_state_goes_on(step, first, then):
    middle = step.folder / "middle.safetensors"
    step.run(compiled(step, "fsdp", first), "--iterations=3", f"--save-state={middle}")
    near(step.state(compiled(step, "fsdp", then), 2, f"--load-state={middle}"),
         on_one_device(step, 5), 1e-9)


@pytest.mark.parametrize("devices, ranks", [
    (2, 1), (4, 1), pytest.param(2, 2, marks=PROCESSES)])
def test_evaluation(step, devices, ranks):
    """The program eval gathers what the step keeps in shards."""
    model = compiled(step, "fsdp", devices)
    state, output = step.folder / "trained.safetensors", step.folder / "y.npy"
    step.run(model, "--iterations=3", f"--save-state={state}", ranks=ranks)
    step.tools.run("soap-run", model, "--program=eval", step.arguments[0],
                   f"--load-state={state}", f"--output={step.output}={output}",
                   ranks=ranks)
    values, trained = training_state.load(state), onnx.ModelProto()
    trained.CopyFrom(step.proto)
    for weight in trained.graph.initializer:
        weight.CopyFrom(numpy_helper.from_array(values[weight.name], weight.name))
    expected, = ReferenceEvaluator(trained).run([step.output], step.values)
    near({"y": np.load(output)}, {"y": expected}, 1e-9)


# -- Files


@pytest.fixture(scope="module")
def train(tools, step):
    """Makes a training on so many devices and processes."""
    def make(name, devices, ranks=1):
        options = [*(f"--data={key}={step.folder / 'data.npz'}" for key in ("x", "label")),
                   f"--steps={STEPS}", "--shuffle=3", "--checkpoint-every=20"]
        return killed_training.Training(tools, compiled(step, "fsdp", devices), options,
                                        step.folder / name, ranks)
    return make


@pytest.fixture(scope="module")
def undisturbed(train):
    training = train("undisturbed", 2)
    training.run()
    return training


@pytest.mark.parametrize("ranks", [1, pytest.param(2, marks=PROCESSES)])
def test_nothing_is_lost(train, undisturbed, ranks):
    """Killed twice; ends with the same bits, and on other devices with the same
    numbers."""
    moments = random.Random(ranks)
    training = train(f"killed{ranks}", 2, ranks)
    found = []
    for _ in range(2):
        first = training.logged() + 1
        if first >= STEPS:
            break  # It was killed behind its last step.
        if training.kill(moments.uniform(0, 0.01), moments.randrange(ranks),
                         step=moments.randrange(first, max(first + 1, STEPS // 2))) == 0:
            break  # It ended before.
        if place := training.newest():
            found.append((place.name, place.read_bytes()))
    assert found, "it was killed before every checkpoint"
    # On a busy machine, the signal may come behind the last step.
    end = undisturbed.newest()
    middle = [contents for name, contents in found if name != end.name]
    training.run("--resume")
    assert training.newest().read_bytes() == end.read_bytes()
    assert training.steps() == undisturbed.steps()
    file = training.folder / "middle.safetensors"
    if not middle:
        pytest.skip("both signals came behind the last step")
    for devices in (1, 4):
        file.write_bytes(middle[-1])
        other = train(f"other{ranks}{devices}", devices)
        other.run(f"--resume={file}")
        assert killed_training.difference(other.newest(), end) < 1e-6


@pytest.mark.parametrize("ranks", [1, pytest.param(4, marks=PROCESSES)])
def test_exported_model(train, step, ranks):
    """--export-onnx writes whole weights, those of the last checkpoint."""
    training = train(f"exported{ranks}", 4, ranks)
    file = training.folder / "trained.onnx"
    training.options.extend([f"--onnx-model={step.model}", f"--export-onnx={file}"])
    training.run()
    state = training_state.load(training.newest())
    exported = {weight.name: numpy_helper.to_array(weight)
                for weight in onnx.load(file).graph.initializer}
    assert exported.keys() == {*WEIGHTS, "b0", "b1", "b2"}
    for name, value in exported.items():
        assert np.array_equal(value, state[name])
