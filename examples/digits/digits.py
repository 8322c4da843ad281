#!/usr/bin/env python3
"""Makes what examples/digits/train.py trains: scikit-learn's handwritten digits
(1,797 images of 8x8 pixels; E. Alpaydin and C. Kaynak, UCI, 1998), split into
train.npz and test.npz, and two networks, cnn.onnx and lstm.onnx.

  digits.py FOLDER
"""

import gzip
import pathlib
import sys
import sysconfig

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CLASSES, SIDE, TEST = 10, 8, 360


def load():
    """The images (1797, 8, 8), from 0 to 1, and their digits."""
    # Beside the environment: nothing of the package is imported.
    packages = pathlib.Path(sys.prefix) / "digits"
    file = packages / "sklearn" / "datasets" / "data" / "digits.csv.gz"
    if not file.exists():
        sys.exit(f"error: expected scikit-learn's digits, got: no '{file}'; run "
                 "scripts/setup.sh")
    with gzip.open(file) as text:
        table = np.loadtxt(text, delimiter=",")
    images = (table[:, :-1] / 16).astype(np.float32)
    return images.reshape(-1, SIDE, SIDE), table[:, -1].astype(np.int64)


class Network:
    """An ONNX graph with weights of He et al. (2015), seeded."""

    def __init__(self, name, shape):
        self.name, self.nodes, self.weights = name, [], []
        self.image = helper.make_tensor_value_info("image", TensorProto.FLOAT,
                                                   ["batch", *shape])
        self.random = np.random.default_rng(1)

    def weight(self, name, *shape, fan_in=None):
        """Of a layer with so many inputs; zeros without."""
        values = np.zeros(shape) if fan_in is None else \
            self.random.standard_normal(shape) * np.sqrt(1.5 / fan_in)
        self.weights.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def constant(self, name, values):
        self.weights.append(numpy_helper.from_array(np.array(values), name))
        return name

    def op(self, kind, inputs, output, **attributes):
        outputs = [output] if isinstance(output, str) else output
        self.nodes.append(helper.make_node(kind, inputs, outputs, name=outputs[-1],
                                           **attributes))
        return outputs[-1]

    def linear(self, name, x, inputs, outputs):
        return self.op("Gemm", [x, self.weight(f"{name}.weight", outputs, inputs,
                                               fan_in=inputs),
                                self.weight(f"{name}.bias", outputs)], name, transB=1)

    def save(self, folder, output):
        scores = helper.make_tensor_value_info(output, TensorProto.FLOAT,
                                               ["batch", CLASSES])
        graph = helper.make_graph(self.nodes, self.name, [self.image], [scores],
                                  self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                  ir_version=8)
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, folder / f"{self.name}.onnx")


def cnn(folder):
    """Two convolutions, a pool, two linear layers."""
    net, x = Network("cnn", (1, SIDE, SIDE)), "image"
    for name, inputs, outputs in (("conv1", 1, 16), ("conv2", 16, 32)):
        x = net.op("Conv", [x, net.weight(f"{name}.weight", outputs, inputs, 3, 3,
                                          fan_in=9 * inputs),
                            net.weight(f"{name}.bias", outputs)], name,
                   kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        x = net.op("Relu", [x], f"{name}.relu")
    x = net.op("MaxPool", [x], "pool", kernel_shape=[2, 2], strides=[2, 2])
    x = net.op("Flatten", [x], "flat")
    x = net.linear("fc1", x, 32 * (SIDE // 2)**2, 64)
    x = net.op("Relu", [x], "fc1.relu")
    net.save(folder, net.linear("scores", x, 64, CLASSES))


def lstm(folder, hidden=96):
    """A recurrent layer that reads an image row by row, and a linear one."""
    net = Network("lstm", (SIDE, SIDE))
    rows = net.op("Transpose", ["image"], "rows", perm=[1, 0, 2])
    inputs = [rows, net.weight("lstm.weight", 1, 4 * hidden, SIDE, fan_in=SIDE),
              net.weight("lstm.recurrence", 1, 4 * hidden, hidden, fan_in=hidden),
              net.weight("lstm.bias", 1, 8 * hidden)]
    last = net.op("LSTM", inputs, ["", "lstm"], hidden_size=hidden)
    last = net.op("Squeeze", [last, net.constant("axes", [0])], "last")
    net.save(folder, net.linear("scores", last, hidden, CLASSES))


def write(folder):
    """Everything; a network reads images as it declares them."""
    folder.mkdir(parents=True, exist_ok=True)
    images, labels = load()
    order = np.random.default_rng(0).permutation(len(labels))
    for name, part in (("test", order[:TEST]), ("train", order[TEST:])):
        for network, shape in (("cnn", (1, SIDE, SIDE)), ("lstm", (SIDE, SIDE))):
            np.savez(folder / f"{network}.{name}.npz", label=labels[part],
                     image=images[part].reshape(-1, *shape))
    cnn(folder)
    lstm(folder)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    write(pathlib.Path(sys.argv[1]))
