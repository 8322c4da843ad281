"""add_outputs.py IN.onnx OUT.onnx TENSOR...: makes tensors outputs."""

import sys

import onnx
from onnx import TensorProto, helper

model = onnx.load(sys.argv[1])
for name in sys.argv[3:]:
    value = helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
    model.graph.output.append(value)
onnx.save(model, sys.argv[2])
