"""Checkpoints of training: what is killed, ended by a signal, or out of disk space
goes on from the last one, and ends with the bits of an undisturbed run; under other
strategies with its numbers."""

import fcntl
import json
import os
import random
import resource
import signal

import killed_training
import launcher
import numpy as np
import onnx
import pytest
import training_state
from test_training import MODELS
from test_updates import Step

SAMPLES, STEPS = 27, 800
TRAINED = ["--train=adam", "--lr=0.001", "--batch-norm-momentum=0.7"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("checkpoints")


@pytest.fixture(scope="module")
def step(tools, folder):
    m, proto, shape, _ = MODELS["convolutional"]()
    # No kinks: a last bit in one step is a last bit in the next ones.
    for node in proto.graph.node:
        if node.op_type == "Relu":
            node.op_type = "Tanh"
        if node.op_type == "MaxPool":
            node.op_type = "AveragePool"
    x = m.random.standard_normal((SAMPLES, *m.inputs["x"].shape[1:]))
    np.savez(folder / "data.npz", x=x, label=m.random.integers(0, 5, SAMPLES))
    return Step(tools, folder, "convolutional", proto, {})


def compiled(step, devices):
    return step.compiled(*TRAINED, f"--devices={devices}", "--cores-per-device=1",
                         f"--strategy={'data-parallel' if devices > 1 else 'single'}")


@pytest.fixture(scope="module")
def train(tools, folder, step):
    """Makes a training, by the number of devices and processes."""
    def make(name, devices=1, ranks=1, **options):
        options = {"steps": STEPS, "shuffle": 3, "checkpoint-every": 40, **options}
        return killed_training.Training(
            tools, compiled(step, devices),
            [*(f"--data={key}={folder / 'data.npz'}" for key in ("x", "label")),
             *(f"--{key}={value}" for key, value in options.items() if value)],
            folder / name, ranks)
    return make


@pytest.fixture(scope="module")
def undisturbed(train):
    """Finished trainings, by devices."""
    result = {}
    for devices in (1, 2):
        result[devices] = train(f"undisturbed{devices}", devices)
        result[devices].run()
    return result


def check_same(training, whole):
    """It has ended like the undisturbed one."""
    assert training.newest().name == f"step-{STEPS:012}.safetensors"
    assert training.newest().read_bytes() == whole.newest().read_bytes()
    assert training.steps() == whole.steps()


@pytest.mark.parametrize("ranks", [1, 2])
def test_nothing_is_lost(train, undisturbed, ranks):
    """Killed at random moments, one after the other."""
    if ranks > 1 and not launcher.FOUND:
        pytest.skip("mpirun is missing")
    moments = random.Random(ranks)
    training = train(f"killed{ranks}", devices=ranks, ranks=ranks)
    whole = undisturbed[ranks]
    places = []
    for _ in range(3):
        first = training.logged() + 1
        if first >= STEPS:
            break  # It was killed behind its last step.
        code = training.kill(moments.uniform(0, 0.01), moments.randrange(ranks),
                             step=moments.randrange(first, STEPS))
        if code == 0:  # It ended before: this machine was not fast enough.
            break
        places.append(training.newest())
    training.run("--resume")
    check_same(training, whole)
    assert any(places), "it was killed before every checkpoint"
    # Once more: there is nothing to do, and nothing to print.
    training.run("--resume", "--print=loss")
    check_same(training, whole)
    assert "all steps were done before" in training.result.stderr
    assert "loss" not in training.result.stdout


@pytest.mark.parametrize("devices", [1, 2])
def test_goes_on_on_other_devices(train, undisturbed, devices):
    first = train(f"first{devices}", devices, steps=STEPS // 2)
    first.run()
    then = train(f"then{devices}", 3 - devices)
    then.run(f"--resume={first.newest()}")
    assert killed_training.difference(then.newest(),
                                      undisturbed[devices].newest()) < 1e-6


@pytest.mark.parametrize("fault, code", [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_signals(train, fault, code):
    rarely = {"checkpoint-every": 10**7}
    training = train(f"signal{code}", steps=10**7, **rarely)
    assert training.kill(0, fault=fault, step=100) == code
    last = int(training.newest().stem.split("-")[1])
    assert last >= 100
    training = train(f"signal{code}", steps=last + 50, **rarely)
    training.run("--resume")
    whole = train(f"whole{code}", steps=last + 50, **rarely)
    whole.run()
    assert training.newest().read_bytes() == whole.newest().read_bytes()
    assert training.steps() == whole.steps()


def expect_error(training, code, *texts):
    assert training.result.returncode == code, training.result.stderr
    for text in texts:
        assert text in training.result.stderr, training.result.stderr


def test_full_disk(train, undisturbed):
    train("full", steps=200).run()
    training = train("full")
    good, content = training.newest(), training.newest().read_bytes()

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(content) // 2,) * 2)

    training.log = "/dev/null"
    training.run("--resume", check=False, preexec_fn=limit)
    expect_error(training, 1, str(training.checkpoints), "File too large")
    assert training.newest() == good and good.read_bytes() == content
    assert not list(training.checkpoints.glob("*.tmp*"))


def test_files_that_are_no_checkpoint(train, tools, folder, step):
    training = train("damaged", steps=120)
    training.run()
    names = [f"step-{number:012}.safetensors" for number in (40, 80, 120)]
    assert sorted(f.name for f in training.checkpoints.iterdir()) == names
    last, before = (training.checkpoints / names[i] for i in (2, 1))
    whole = last.read_bytes()

    training.run(check=False)
    expect_error(training, 2, str(last), "--resume")
    last.write_bytes(whole[:-10])
    training.run("--resume", check=False)
    expect_error(training, 2, str(last), "whole", str(before))
    last.unlink()
    training.run("--resume")
    assert last.read_bytes() == whole

    training.run(f"--resume={before}", check=False)
    expect_error(training, 2, str(before), str(last), "later checkpoint")
    weights = training.folder / "weights.safetensors"
    training_state.save(weights, training_state.load(last))
    training.run(f"--resume={weights}", check=False)
    expect_error(training, 2, str(weights), "--load-state")

    training.run(f"--resume={folder / 'missing.safetensors'}", check=False)
    expect_error(training, 2, "missing.safetensors")
    training = train("damaged", steps=120, shuffle=4)
    training.run("--resume", check=False)
    expect_error(training, 2, str(last), "--shuffle=3", "--shuffle=4")


def test_folder_of_another_training(train):
    training = train("held", steps=40)
    training.checkpoints.mkdir()
    folder = os.open(training.checkpoints, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        training.run(check=False)
        expect_error(training, 2, str(training.checkpoints), "another training")
    finally:
        os.close(folder)
    training.run()


def test_checkpoint_of_another_model(train, tools, folder, step):
    training = train("mine", steps=40)
    training.run()
    training.compiled = step.compiled("--train=sgd", "--lr=0.1", "--momentum=0.9")
    training.run("--resume", check=False)
    expect_error(training, 2, str(training.newest()), "same model and optimizer")


def test_nothing_that_is_read_is_overwritten(train, folder):
    training = train("inputs", steps=40)
    for option in ("--save-state", "--output=loss"):
        training.run(f"{option}={folder / 'data.npz'}", check=False)
        expect_error(training, 2, "data.npz", "which --data reads")
    training.log = folder / "data.npz"
    training.run(check=False)
    expect_error(training, 2, "data.npz", "which --data reads")
    assert training.newest() is None


def test_times(train):
    """Checkpoints by time, the newest ones are kept."""
    training = train("times", epochs=300, steps=None, keep=1,
                     **{"checkpoint-every": "1s"})
    training.run()
    files = list(training.checkpoints.iterdir())
    assert len(files) == 1 and files[0] == training.newest()
    header = training.newest().read_bytes()
    size = int.from_bytes(header[:8], "little")
    metadata = json.loads(header[8:8 + size])["__metadata__"]
    assert metadata["epoch"] == "300" and metadata["offset"] == "0"
