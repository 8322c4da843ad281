"""Writes models and tensors with mistakes in them into a folder.

usage: make_bad_inputs.py FOLDER
"""

import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
weight = np.random.default_rng(1).standard_normal((8, 6), dtype=np.float32)


def save(name, nodes, batch, result, domains=(), standard=True):
    graph = helper.make_graph(
        nodes,
        name,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 8])],
        [helper.make_tensor_value_info(result, TensorProto.FLOAT, [batch, 6])],
        [numpy_helper.from_array(weight, "w")],
    )
    opsets = [helper.make_opsetid("", 17)] if standard else []
    opsets += [helper.make_opsetid(domain, 1) for domain in domains]
    model = helper.make_model(graph, opset_imports=opsets)
    model.ir_version = 8
    onnx.save(model, folder / f"{name}.onnx")


product = helper.make_node("MatMul", ["x", "w"], ["y"], name="fc")
save("good", [product], 4, "y")
save("symbolic", [product], "N", "y")
momentum = helper.make_node("Momentum", ["z"], ["q"], name="step")
momentum.domain = "ai.onnx.preview.training"
save(
    "training",
    [product, helper.make_node("LSTM", ["y", "w"], ["z"], name="cell"), momentum],
    4,
    "q",
    ["ai.onnx.preview.training"],
)
foreign = helper.make_node("FusedMatMul", ["x", "w"], ["y"], name="fused")
foreign.domain = "com.acme"
save("foreign", [foreign], 4, "y", ["com.acme", "com.other"], standard=False)
# Two outputs of one shape and different types.
for kind in ("FLOAT", "INT32"):
    cast = helper.make_node("Cast", ["z"], ["y"], to=getattr(TensorProto, kind))
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["z"]), cast],
        "cast",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
        [helper.make_tensor_value_info("y", getattr(TensorProto, kind), [4])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, folder / f"cast_{kind}.onnx")
constant = helper.make_node("Identity", ["w"], ["y"], name="copy")
save("constant", [constant], 8, "y")
whole = (folder / "good.onnx").read_bytes()
(folder / "truncated.onnx").write_bytes(whole[: len(whole) // 2])
(folder / "empty.onnx").write_bytes(b"")

for name, array in {
    "right": np.zeros((4, 8), np.float32),
    "shape": np.zeros((4, 9), np.float32),
    "rank": np.zeros(32, np.float32),
    "type": np.zeros((4, 8), np.float64),
}.items():
    np.save(folder / f"{name}.npy", array)
    (folder / f"{name}.pb").write_bytes(
        numpy_helper.from_array(array).SerializeToString()
    )

# Numbers that are no rates of a machine.
for name, number in {"infinite": "1e999", "tiny": "1e-300"}.items():
    kind = f'{{"peak_flops": 1e9, "memory_bandwidth_bytes_per_s": {number}}}'
    (folder / f"{name}.json").write_text(
        f'{{"kinds": {{"k": {kind}}}, "devices": [{{"kind": "k"}}], "links": []}}'
    )

# A header with two shapes, of the length that it says.
whole = (folder / "right.npy").read_bytes()
end = whole.index(b"}") + 1
second = b"'shape': (8, 4), }"
twice = whole[: end - 1] + second + whole[end - 1 + len(second) :]
(folder / "twice.npy").write_bytes(twice)
# Narrower types, and a NaN.
np.save(folder / "half.npy", np.ones((4, 8), np.float16))
np.save(folder / "integers.npy", np.ones((4, 8), np.int32))
nans = np.full((4, 8), np.nan, np.float32)
np.save(folder / "nan.npy", nans)
np.save(folder / "nan_expected.npy", np.full((4, 6), np.nan, np.float32))
