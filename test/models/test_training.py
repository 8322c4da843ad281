"""Gradients of whole models in double: the loss that ONNX's reference evaluator
computes, along random directions of every parameter, against what the compiled
step says, on one device and under random strategies on two and three."""

import functools

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

# Central differences of a loss in double: h^2 in the result, eps/h in the sum.
STEP = 1e-5
TOLERANCE = 1e-7


class Model:
    """Builds a model, its inputs and its labels."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.weights, self.inputs = [], {}, {}

    def node(self, kind, inputs, output, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [output], output,
                                           **attributes))
        return output

    def weight(self, name, *shape, around=0.0, scale=0.4):
        self.weights[name] = around + scale * self.random.standard_normal(shape)
        return name

    def proto(self, output, shape):
        types = {"float64": TensorProto.DOUBLE, "int64": TensorProto.INT64}
        graph = helper.make_graph(
            self.nodes, "g",
            [helper.make_tensor_value_info(name, types[str(value.dtype)], value.shape)
             for name, value in self.inputs.items()],
            [helper.make_tensor_value_info(output, TensorProto.DOUBLE, shape)],
            [numpy_helper.from_array(value, name)
             for name, value in self.weights.items()])
        model = helper.make_model(graph, ir_version=10,
                                  opset_imports=[helper.make_opsetid("", 20)])
        onnx.checker.check_model(model, full_check=True)
        return model


def convolutional():
    """Convolutions with groups and strides, pools, a batch norm, a residual."""
    m = Model(1)
    m.inputs["x"] = m.random.standard_normal((4, 2, 11, 9))
    conv = m.node("Conv", ["x", m.weight("w1", 4, 2, 3, 3), m.weight("b1", 4)],
                  "conv1", pads=[1, 1, 1, 1])
    norm = m.node("BatchNormalization",
                  [conv, m.weight("scale", 4, around=1), m.weight("shift", 4),
                   "mean", "variance"], "norm")
    m.weights["mean"], m.weights["variance"] = np.zeros(4), np.ones(4)
    relu = m.node("Relu", [norm], "relu1")
    pool = m.node("MaxPool", [relu], "pool1", kernel_shape=[3, 2], strides=[2, 2],
                  pads=[1, 0, 1, 0])
    grouped = m.node("Conv", [pool, m.weight("w2", 4, 2, 3, 3)], "conv2", group=2,
                     pads=[1, 1, 1, 1])
    total = m.node("Add", [pool, grouped], "residual")
    mean = m.node("AveragePool", [total], "pool2", kernel_shape=[2, 2],
                  strides=[2, 1], pads=[0, 1, 0, 0])
    flat = m.node("Flatten", [mean], "flat")
    m.node("Gemm", [flat, m.weight("w3", 5, 48), m.weight("b3", 5)], "scores",
           transB=1)
    return m, m.proto("scores", [4, 5]), [4, 5], 1


def transformer():
    """An embedding, attention with two heads, layer norms and a gate."""
    m = Model(2)
    m.inputs["tokens"] = m.random.integers(0, 7, (3, 6))
    x = m.node("Gather", [m.weight("table", 7, 8), "tokens"], "embedding")
    h = m.node("LayerNormalization", [x, m.weight("g1", 8, around=1),
                                      m.weight("c1", 8)], "norm1", axis=-1)
    m.weights["heads"] = np.array([3, 6, 2, 4])
    m.weights["whole"] = np.array([3, 6, 8])
    parts = []
    for part, turn in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        y = m.node("MatMul", [h, m.weight("w" + part, 8, 8)], part + ".product")
        y = m.node("Reshape", [y, "heads"], part + ".heads")
        parts.append(m.node("Transpose", [y], part, perm=turn))
    logits = m.node("MatMul", parts[:2], "attention.logits")
    weights = m.node("Softmax", [logits], "attention.weights", axis=-1)
    mixed = m.node("MatMul", [weights, parts[2]], "attention.mixed")
    mixed = m.node("Transpose", [mixed], "attention.turned", perm=[0, 2, 1, 3])
    mixed = m.node("Reshape", [mixed, "whole"], "attention")
    x = m.node("Add", [x, mixed], "residual1")
    h = m.node("LayerNormalization", [x, m.weight("g2", 8, around=1)], "norm2",
               axis=-1)
    h = m.node("MatMul", [h, m.weight("up", 8, 16)], "mlp.up")
    h = m.node("Add", [h, m.weight("upb", 16)], "mlp.bias")
    # The evaluator computes Gelu and Erf in f32.
    h = m.node("Mul", [h, m.node("Tanh", [h], "mlp.tanh")], "mlp.gated")
    x = m.node("Add", [x, m.node("MatMul", [h, m.weight("down", 16, 8)],
                                 "mlp.down")], "residual2")
    m.node("MatMul", [x, m.weight("head", 8, 7)], "scores")
    return m, m.proto("scores", [3, 6, 7]), [3, 6, 7], 2


MODELS = {"convolutional": convolutional, "transformer": transformer}
NOT_TRAINED = {"mean", "variance", "heads", "whole"}


def with_batch_statistics(model):
    """For the reference evaluator: batch norms of training."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for node in copy.graph.node:
        if node.op_type == "BatchNormalization":
            node.attribute.append(helper.make_attribute("training_mode", 1))
            node.output.extend([node.output[0] + ".mean", node.output[0] + ".var"])
    return copy


def cross_entropy(scores, labels, axis):
    scores = np.moveaxis(scores, axis, -1)
    scores = scores - scores.max(-1, keepdims=True)
    logs = scores - np.log(np.exp(scores).sum(-1, keepdims=True))
    return -np.take_along_axis(logs, labels[..., None], -1).mean()


@functools.cache
def prepared(name):
    """The model, its labels, and the loss as a function of the weights."""
    model, proto, shape, axis = MODELS[name]()
    labels = model.random.integers(0, shape[axis], shape[:axis] + shape[axis + 1:])
    evaluated = with_batch_statistics(proto)

    def loss(weights):
        copy = onnx.ModelProto()
        copy.CopyFrom(evaluated)
        del copy.graph.initializer[:]
        copy.graph.initializer.extend(numpy_helper.from_array(value, key)
                                      for key, value in weights.items())
        scores = ReferenceEvaluator(copy).run(["scores"], model.inputs)[0]
        return cross_entropy(scores, labels, axis)

    return model, proto, labels, axis, loss


@functools.cache
def step_of(tools, folder, name):
    """The training step as IR, and its inputs as arguments."""
    model, proto, labels, axis, _ = prepared(name)
    file = folder / f"{name}.onnx"
    onnx.save(proto, file)
    tools.run("soap-translate", "--import-onnx", file, "-o", file.with_suffix(".mlir"))
    step = folder / f"{name}.step.mlir"
    tools.run("soap-opt", file.with_suffix(".mlir"), "--nn-fold-constants",
              f"--nn-build-training-step=class-axis={axis}", "-o", step)
    arguments = []
    for key, value in {**model.inputs, "label": labels}.items():
        np.save(folder / f"{name}.{key}.npy", value)
        arguments.append(f"--input={key}={folder / f'{name}.{key}.npy'}")
    return step, arguments


@functools.cache
def outputs_of(tools, folder, name, devices, seed):
    """Loss and gradients of one step under a random strategy."""
    step, arguments = step_of(tools, folder, name)
    compiled = folder / f"{name}.{devices}.{seed}.so"
    tools.run("soap-compile", step, f"--devices={devices}",
              "--strategy=" + ("random" if devices > 1 else "single"),
              f"--seed={seed}", "-o", compiled)
    names = ["loss"] + [f"{key}.grad" for key in prepared(name)[0].weights
                        if key not in NOT_TRAINED]
    files = {key: folder / f"{compiled.stem}.{key}.npy" for key in names}
    tools.run("soap-run", compiled, *arguments,
              *(f"--output={key}={file}" for key, file in files.items()))
    return {key: np.load(file) for key, file in files.items()}


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("training")


@pytest.mark.parametrize("name", MODELS)
def test_gradients_equal_differences(tools, folder, name):
    model, _, _, _, loss = prepared(name)
    outputs = outputs_of(tools, folder, name, 1, 0)
    assert abs(outputs["loss"] - loss(model.weights)) < TOLERANCE
    random = np.random.default_rng(5)
    for key, value in model.weights.items():
        if key in NOT_TRAINED:
            continue
        direction = random.standard_normal(value.shape)
        above = loss({**model.weights, key: value + STEP * direction})
        below = loss({**model.weights, key: value - STEP * direction})
        expected = (above - below) / (2 * STEP)
        got = (outputs[f"{key}.grad"] * direction).sum()
        assert abs(got - expected) <= TOLERANCE * (1 + abs(expected)), key


@pytest.mark.parametrize("devices, seed", [(2, 1), (2, 2), (3, 3), (3, 4)])
@pytest.mark.parametrize("name", MODELS)
def test_equals_one_device(tools, folder, name, devices, seed):
    expected = outputs_of(tools, folder, name, 1, 0)
    for key, value in outputs_of(tools, folder, name, devices, seed).items():
        error = np.abs(value - expected[key]).max()
        assert error <= 1e-12 * (1 + np.abs(expected[key]).max()), key
