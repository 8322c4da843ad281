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
    m.weight("mean", 4)
    m.weights["variance"] = np.ones(4)
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
    """GPT-2 with two blocks: embeddings of words and places, causal attention with
    two heads, layer norms and a gate."""
    m = Model(2)
    m.inputs["tokens"] = m.random.integers(0, 7, (3, 6))
    x = m.node("Gather", [m.weight("table", 7, 8), "tokens"], "embedding")
    x = m.node("Add", [x, m.weight("places", 6, 8)], "placed")
    m.weights["heads"] = np.array([3, 6, 2, 4])
    m.weights["whole"] = np.array([3, 6, 8])
    m.weights["mask"] = np.triu(np.full((6, 6), -1e9), 1)
    for block in ("1", "2"):
        h = m.node("LayerNormalization",
                   [x, m.weight("g1." + block, 8, around=1),
                    m.weight("c1." + block, 8)], "norm1." + block, axis=-1)
        parts = []
        for part, turn in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]),
                           ("v", [0, 2, 1, 3])):
            name = part + block
            y = m.node("MatMul", [h, m.weight("w" + name, 8, 8)], name + ".product")
            y = m.node("Reshape", [y, "heads"], name + ".heads")
            parts.append(m.node("Transpose", [y], name, perm=turn))
        logits = m.node("MatMul", parts[:2], "attention.logits" + block)
        logits = m.node("Add", [logits, "mask"], "attention.masked" + block)
        weights = m.node("Softmax", [logits], "attention.weights" + block, axis=-1)
        mixed = m.node("MatMul", [weights, parts[2]], "attention.mixed" + block)
        mixed = m.node("Transpose", [mixed], "attention.turned" + block,
                       perm=[0, 2, 1, 3])
        mixed = m.node("Reshape", [mixed, "whole"], "attention" + block)
        x = m.node("Add", [x, mixed], "residual1." + block)
        h = m.node("LayerNormalization",
                   [x, m.weight("g2." + block, 8, around=1)], "norm2." + block,
                   axis=-1)
        h = m.node("MatMul", [h, m.weight("up" + block, 8, 16)], "mlp.up" + block)
        h = m.node("Add", [h, m.weight("upb" + block, 16)], "mlp.bias" + block)
        # The evaluator computes Gelu and Erf in f32.
        h = m.node("Mul", [h, m.node("Tanh", [h], "mlp.tanh" + block)],
                   "mlp.gated" + block)
        h = m.node("MatMul", [h, m.weight("down" + block, 16, 8)],
                   "mlp.down" + block)
        x = m.node("Add", [x, h], "residual2." + block)
    m.node("MatMul", [x, m.weight("head", 8, 7)], "scores")
    return m, m.proto("scores", [3, 6, 7]), [3, 6, 7], 2


def recurrent():
    """A language model: an embedding, an LSTM, a GRU and a plain layer, whose
    first states are trained, too."""
    m = Model(3)
    steps, batch, hidden = 5, 4, 6
    m.inputs["tokens"] = m.random.integers(0, 7, (steps, batch))
    x = m.node("Gather", [m.weight("table", 7, 5), "tokens"], "embedding")
    m.weights["direction"] = np.array([1])

    def layer(kind, gates, biases, x, inputs, *states, **attributes):
        name = kind.lower()
        y = m.node(kind, [x, m.weight(name + ".w", 1, gates * hidden, inputs),
                          m.weight(name + ".r", 1, gates * hidden, hidden),
                          m.weight(name + ".b", 1, biases * hidden), "",
                          m.weight(name + ".h", 1, batch, hidden), *states],
                   name + ".all", hidden_size=hidden, **attributes)
        return m.node("Squeeze", [y, "direction"], name)

    x = layer("LSTM", 4, 8, x, 5, m.weight("lstm.c", 1, batch, hidden),
              m.weight("lstm.p", 1, 3 * hidden))
    x = layer("GRU", 3, 6, x, hidden, linear_before_reset=1)
    x = layer("RNN", 1, 2, x, hidden)
    m.node("MatMul", [x, m.weight("head", hidden, 7)], "scores")
    return m, m.proto("scores", [steps, batch, 7]), [steps, batch, 7], 2


def segmenting():
    """A U-Net of two levels: down by a pool, up by a transposed convolution and
    by interpolation, with the finer level beside it."""
    m = Model(4)
    m.inputs["x"] = m.random.standard_normal((2, 2, 8, 6))

    def conv(x, name, inputs, outputs):
        y = m.node("Conv", [x, m.weight(name + ".w", outputs, inputs, 3, 3),
                            m.weight(name + ".b", outputs)], name,
                   pads=[1, 1, 1, 1])
        return m.node("Tanh", [y], name + ".tanh")

    fine = conv("x", "fine", 2, 3)
    pool = m.node("MaxPool", [fine], "pool", kernel_shape=[2, 2], strides=[2, 2])
    coarse = conv(pool, "coarse", 3, 4)
    up = m.node("ConvTranspose", [coarse, m.weight("up.w", 4, 3, 2, 2),
                                  m.weight("up.b", 3)], "up", strides=[2, 2])
    m.weights["sizes"] = np.array([2, 4, 8, 6])
    enlarged = m.node("Resize", [coarse, "", "", "sizes"], "enlarged",
                      mode="nearest", nearest_mode="floor",
                      coordinate_transformation_mode="asymmetric")
    both = m.node("Concat", [fine, up, enlarged], "both", axis=1)
    last = conv(both, "last", 10, 4)
    m.node("Conv", [last, m.weight("head.w", 3, 4, 1, 1)], "scores")
    return m, m.proto("scores", [2, 3, 8, 6]), [2, 3, 8, 6], 1


MODELS = {"convolutional": convolutional, "transformer": transformer,
          "recurrent": recurrent, "segmenting": segmenting}
NOT_TRAINED = {"mean", "variance", "heads", "whole", "mask", "direction", "sizes"}


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


def in_single(proto):
    """The model in f32, of which the library computes more."""
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    for tensor in copy.graph.initializer:
        if tensor.data_type == TensorProto.DOUBLE:
            tensor.CopyFrom(numpy_helper.from_array(
                numpy_helper.to_array(tensor).astype(np.float32), tensor.name))
    for value in [*copy.graph.input, *copy.graph.output]:
        if value.type.tensor_type.elem_type == TensorProto.DOUBLE:
            value.type.tensor_type.elem_type = TensorProto.FLOAT
    return copy


@functools.cache
def step_of(tools, folder, name, single):
    """The training step as IR, and its inputs as arguments."""
    model, proto, labels, axis, _ = prepared(name)
    if single:
        name, proto = name + ".single", in_single(proto)
    file = folder / f"{name}.onnx"
    onnx.save(proto, file)
    tools.run("soap-translate", "--import-onnx", file, "-o", file.with_suffix(".mlir"))
    step = folder / f"{name}.step.mlir"
    tools.run("soap-opt", file.with_suffix(".mlir"), "--nn-fold-constants",
              f"--nn-build-training-step=class-axis={axis}", "-o", step)
    arguments = []
    for key, value in {**model.inputs, "label": labels}.items():
        if single and value.dtype == np.float64:
            value = value.astype(np.float32)
        np.save(folder / f"{name}.{key}.npy", value)
        arguments.append(f"--input={key}={folder / f'{name}.{key}.npy'}")
    return step, arguments


@functools.cache
def outputs_of(tools, folder, name, devices, seed, single=False):
    """Loss and gradients of one step under a random strategy."""
    step, arguments = step_of(tools, folder, name, single)
    compiled = folder / f"{name}.{devices}.{seed}.{single}.so"
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
        # Weights of layers have a dimension of gates.
        got = (outputs[f"{key}.grad"].reshape(direction.shape) * direction).sum()
        assert abs(got - expected) <= TOLERANCE * (1 + abs(expected)), key


@pytest.mark.parametrize("devices, seed", [(2, 1), (2, 2), (3, 3), (3, 4)])
@pytest.mark.parametrize("name", MODELS)
def test_equals_one_device(tools, folder, name, devices, seed):
    expected = outputs_of(tools, folder, name, 1, 0)
    for key, value in outputs_of(tools, folder, name, devices, seed).items():
        error = np.abs(value - expected[key]).max()
        assert error <= 1e-12 * (1 + np.abs(expected[key]).max()), key


@pytest.mark.parametrize("name", MODELS)
def test_single_equals_double(tools, folder, name):
    """The library's gradients, whole and in tiles."""
    expected = outputs_of(tools, folder, name, 1, 0)
    for devices, seed in (1, 0), (2, 1), (3, 3):
        outputs = outputs_of(tools, folder, name, devices, seed, single=True)
        for key, value in outputs.items():
            error = np.linalg.norm(value - expected[key])
            assert error <= 2e-5 * (1 + np.linalg.norm(expected[key])), (devices, key)
