"""Products of 16-bit floats: inference and training against f32, and steps that are
skipped because gradients are not finite, on one and several devices."""

import json

import numpy as np
import pytest
import training_state
from test_training import in_single, prepared
from test_updates import Step, perceptron


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("precision")


@pytest.fixture(scope="module")
def small(tools, folder):
    m, proto, labels, _ = perceptron()
    return single_step(tools, folder, "perceptron", proto, {**m.inputs, "label": labels})


def single_step(tools, folder, name, proto, inputs):
    """A step of the model in f32."""
    return Step(tools, folder, name, in_single(proto), {
        key: value.astype(np.float32) if value.dtype == np.float64 else value
        for key, value in inputs.items()})


def distance(got, wanted):
    return np.linalg.norm(got - wanted) / np.linalg.norm(wanted)


def logged(step, compiled, steps, *options):
    """The outputs of every step: a list of name to number."""
    file = step.folder / f"{compiled.stem}.jsonl"
    step.run(compiled, f"--iterations={steps}", "--warmup=0", f"--log={file}", *options)
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.mark.parametrize("precision", ["bf16", "f16"])
def test_training_is_near_that_of_f32(small, precision):
    how = ["--train=sgd", "--lr=0.5", "--momentum=0.9"]
    wanted = small.state(small.compiled(*how), 6)
    for devices in (1, 2):
        got = small.state(small.compiled(*how, f"--precision={precision}",
                                         f"--devices={devices}",
                                         "--strategy=data-parallel"), 6)
        for name, value in wanted.items():
            if value.dtype.kind == "f" and value.ndim:
                assert 1e-6 < distance(got[name], value) < 2e-2, name


@pytest.mark.parametrize("how", [["--train=sgd"], ["--train=sgd", "--momentum=0.9"],
                                 ["--train=adam"], ["--train=adamw", "--clip-norm=1"]],
                         ids=["sgd", "momentum", "adam", "clip"])
def test_steps_with_infinite_gradients_are_skipped(small, how):
    """A scale of 2^120 makes gradients infinite in f16 until it has been halved often
    enough. Nothing changes until then, and then all does, on all devices."""
    first = 2.0**120
    for devices in (1, 3):
        step = small.compiled(*how, "--lr=0.1", "--precision=f16", f"--loss-scale={first}",
                              f"--devices={devices}", "--strategy=data-parallel")
        lines = logged(small, step, 130)
        skipped = [line["skipped_steps"] for line in lines]
        count = int(skipped[-1])
        assert 90 < count < 120
        assert skipped == [min(i + 1, count) for i in range(130)]
        assert lines[count]["loss_scale"] == first / 2.0**count
        losses = [line["loss"] for line in lines]
        assert len(set(losses[:count + 1])) == 1
        assert len(set(losses[count:])) == 130 - count
        before, behind = (small.state(step, steps) for steps in (count, count + 1))
        fresh = small.state(step, 1)
        for name, value in fresh.items():
            if name.startswith("loss.") or not value.ndim:
                continue
            assert np.array_equal(before[name], value), name
            assert not np.array_equal(behind[name], value), name
        assert before["loss.skipped"] == count and before["loss.good"] == 0
        assert behind["loss.good"] == 1


def test_a_scale_grows_after_good_steps(small):
    step = small.compiled("--train=sgd", "--lr=0.01", "--precision=f16", "--loss-scale=8",
                          "--loss-scale-period=3")
    assert [line["loss_scale"] for line in logged(small, step, 7)] == \
        [8, 8, 16, 16, 16, 32, 32]


def test_a_scale_changes_no_f32_step(small):
    """A power of two rounds nothing."""
    how = ["--train=sgd", "--lr=0.5", "--momentum=0.9"]
    wanted = small.state(small.compiled(*how), 4)
    got = small.state(small.compiled(*how, "--loss-scale=1024"), 4)
    for name, value in wanted.items():
        assert distance(got[name], value) < 1e-6 if value.ndim else True, name
    assert got["loss.scale"] == 1024 and got["loss.good"] == 4


@pytest.mark.parametrize("name", ["convolutional", "transformer"])
def test_networks_train_in_bf16(tools, folder, name):
    """Gradients of convolutions and of products in stacks, under a random strategy,
    whose tensors --verify compares."""
    model, proto, labels, axis, _ = prepared(name)
    step = single_step(tools, folder, name, proto, {**model.inputs, "label": labels})
    compiled = folder / f"{name}.so"
    tools.run("soap-compile", step.model, "--train=sgd", f"--class-axis={axis}",
              "--precision=bf16", "--devices=3", "--strategy=random-team", "--seed=5",
              "-o", compiled)
    step.run(compiled, "--verify", "--rtol=2e-2")
