"""The program "eval" beside a step of training: after steps under any strategy, in
several processes, on the emulated accelerator, it is the model with the trained
weights, as ONNX's reference evaluator computes it; and it leaves no trace in them."""

import ctypes
import json

import launcher
import numpy as np
import onnx
import pytest
import training_state
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator
from test_training import MODELS
from test_updates import Step, near

STEPS = 3
AXES = {"convolutional": 1, "transformer": 2}
TRAINED = ["--train=sgd", "--lr=0.3", "--momentum=0.9", "--batch-norm-momentum=0.7"]


@pytest.fixture(scope="module")
def models(tools, tmp_path_factory):
    """Per name, a step, its model and the values of its inputs."""
    result = {}
    folder = tmp_path_factory.mktemp("evaluation")
    for name, axis in AXES.items():
        m, proto, shape, _ = MODELS[name]()
        inputs = {**m.inputs, "label": m.random.integers(
            0, shape[axis], shape[:axis] + shape[axis + 1:])}
        result[name] = Step(tools, folder, name, proto, inputs), proto, inputs
    return result


def trained(proto, state):
    """The model with other weights."""
    result = onnx.ModelProto()
    result.CopyFrom(proto)
    for weight in result.graph.initializer:
        if weight.name in state:
            weight.CopyFrom(numpy_helper.from_array(state[weight.name], weight.name))
    return result


def check(models, name, *options, ranks=1, tool="soap-compile"):
    """Trains, saves, and evaluates what was saved."""
    step, proto, inputs = models[name]
    file = step.compiled(*TRAINED, f"--class-axis={AXES[name]}", *options, tool=tool)
    state = step.folder / f"{file.stem}.trained.safetensors"
    step.run(file, f"--iterations={STEPS}", f"--save-state={state}", ranks=ranks)
    output = step.folder / f"{file.stem}.npy"
    arguments = [argument for argument in step.arguments
                 if not argument.startswith("--input=label=")]
    step.tools.run("soap-run", file, "--program=eval", *arguments,
                   f"--load-state={state}", f"--output=scores={output}", ranks=ranks)
    values = training_state.load(state)
    assert any(np.abs(values[weight.name] - numpy_helper.to_array(weight)).max() > 1e-3
               for weight in proto.graph.initializer if weight.name in values)
    feeds = {key: value for key, value in inputs.items() if key != "label"}
    expected, = ReferenceEvaluator(trained(proto, values)).run(["scores"], feeds)
    near({"scores": np.load(output)}, {"scores": expected}, 1e-9)
    return file


@pytest.mark.parametrize("name, devices, seed", [
    ("convolutional", 1, 0), ("convolutional", 2, 1), ("convolutional", 3, 3),
    ("transformer", 2, 2), ("transformer", 3, 4)])
def test_is_the_model_with_trained_weights(models, name, devices, seed):
    check(models, name, f"--devices={devices}", f"--seed={seed}",
          f"--strategy={'random' if devices > 1 else 'single'}")


@pytest.mark.skipif(not launcher.FOUND, reason="mpirun is missing")
def test_several_processes(models):
    check(models, "convolutional", "--devices=3", "--strategy=random-team",
          "--seed=2", ranks=2)


def test_emulated_accelerator(models, monkeypatch):
    monkeypatch.setenv("SOAP_EMULATED_SEED", "11")
    check(models, "convolutional", "--target=emulated", "--devices=2",
          "--strategy=random-team", "--seed=6", tool="soap-compile-emulated")


def test_every_tensor_equals_one_device(models):
    """soap-run --verify takes the program that is run; both are proved."""
    step, _, _ = models["convolutional"]
    file = step.folder / "verified.so"
    result = step.tools.run("soap-compile", step.model, *TRAINED, "--devices=2",
                            "--strategy=random", "--seed=5", "--prove", "-o", file)
    for what in ("plans", "specs", "coverage", "order"):
        assert f"eval: proved {what}" in result.stdout + result.stderr
    report = json.loads(step.tools.run(
        "soap-run", file, "--program=eval", "--verify", "--rtol=1e-9", "--atol=0",
        "--json").stdout)
    assert report["verify"]["equal"] and report["verify"]["tensors"] >= 8
    info = json.loads(step.tools.run("soap-run", file, "--info", "--json").stdout)
    train, evaluation = info["programs"]
    assert (train["name"], evaluation["name"]) == ("train", "eval")
    assert [port["name"] for port in train["inputs"]] == ["x", "label"]
    assert [port["name"] for port in evaluation["inputs"]] == ["x"]
    assert [port["name"] for port in evaluation["outputs"]] == ["scores"]
    assert train["simulated_ns"] > evaluation["simulated_ns"] > 0
    for device in info["devices"]:
        needs = [program["activation_bytes"] for program in device["programs"]]
        assert device["activation_bytes"] >= max(needs) > 0


def test_parameters_exist_once(models):
    """Evaluation adds no parameters but what it makes of those that stay."""
    step, _, _ = models["convolutional"]

    def bytes_of(*options):
        file = step.compiled(*TRAINED, "--devices=2", "--strategy=data-parallel",
                             *options)
        info = json.loads(step.tools.run("soap-run", file, "--info", "--json").stdout)
        return [(device["parameter_bytes"], len(info["programs"]))
                for device in info["devices"]]

    for (alone, one), (both, two) in zip(bytes_of("--no-eval"), bytes_of()):
        assert (one, two) == (1, 2)
        assert alone <= both <= alone + 256, (alone, both)


# -- In one process


class Port(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("element", ctypes.c_int),
                ("rank", ctypes.c_size_t), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("bytes", ctypes.c_size_t), ("index_bound", ctypes.c_int64)]


class Loaded:
    """A model through the C interface."""

    def __init__(self, tools, path):
        self.library = ctypes.CDLL(str(tools.bin.parent / "lib" / "libSOAPRuntime.so"))
        self.library.soap_last_error.restype = ctypes.c_char_p
        for name in ("soap_model_state_count", "soap_program_output_count",
                     "soap_program_input_count"):
            getattr(self.library, name).restype = ctypes.c_size_t
        self.model = ctypes.c_void_p()
        self.call("soap_model_load", str(path).encode(), None,
                  ctypes.byref(self.model))

    def call(self, name, *arguments):
        assert getattr(self.library, name)(*arguments) == 0, \
            self.library.soap_last_error()

    def ports(self, kind, program):
        count = getattr(self.library, f"soap_program_{kind}_count")
        for index in range(count(self.model, ctypes.c_size_t(program))):
            port = Port()
            self.call(f"soap_program_{kind}", self.model, ctypes.c_size_t(program),
                      ctypes.c_size_t(index), ctypes.byref(port))
            yield port.name.decode(), port.bytes

    def run(self, program, inputs):
        values = [np.ascontiguousarray(inputs[name])
                  for name, _ in self.ports("input", program)]
        outputs = [ctypes.create_string_buffer(size)
                   for _, size in self.ports("output", program)]
        pointers = ctypes.c_void_p * max(1, len(values))
        self.call("soap_program_run", self.model, ctypes.c_size_t(program),
                  pointers(*(value.ctypes.data for value in values)),
                  (ctypes.c_void_p * len(outputs))(
                      *(ctypes.addressof(output) for output in outputs)))
        return [output.raw for output in outputs]

    def state(self):
        result = {}
        for index in range(self.library.soap_model_state_count(self.model)):
            port = Port()
            self.call("soap_model_state", self.model, ctypes.c_size_t(index),
                      ctypes.byref(port))
            data = ctypes.create_string_buffer(port.bytes)
            self.call("soap_model_read_state", self.model, ctypes.c_size_t(index), data)
            result[port.name.decode()] = data.raw
        return result

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.library.soap_model_release(self.model)


@pytest.mark.parametrize("name, seed", [("convolutional", 7), ("transformer", 8)])
def test_leaves_no_trace_in_training(models, name, seed):
    """Train, evaluate, train: the bits of train, train."""
    step, _, inputs = models[name]
    file = step.compiled(*TRAINED, f"--class-axis={AXES[name]}", "--devices=2",
                         "--strategy=random", f"--seed={seed}")
    with Loaded(step.tools, file) as alone, Loaded(step.tools, file) as mixed:
        first = mixed.run(1, inputs)
        seen = [first]
        for _ in range(3):
            assert alone.run(0, inputs) == mixed.run(0, inputs)
            seen += [mixed.run(1, inputs), mixed.run(1, inputs)]
            assert seen[-1] == seen[-2] != seen[-3]
        assert alone.state() == mixed.state()


# -- Mistakes


def test_programs_that_there_are_not(models):
    step, _, _ = models["convolutional"]
    file = step.compiled(*TRAINED, "--no-eval")
    result = step.tools.run("soap-run", file, "--program=eval", check=False)
    assert result.returncode == 2
    assert "expected a program of the model ('train'), got: 'eval'" in result.stderr
    both = step.compiled(*TRAINED)
    result = step.tools.run("soap-run", both, "--program=evil", check=False)
    assert result.returncode == 2
    assert "('train', 'eval'), got: 'evil'" in result.stderr
