"""check_parameters.py MODEL.onnx IMPORTED.mlir: the bytes that every #nn.file
names are those of the ONNX tensor. Prints how many were compared."""

import re
import sys

import onnx
from onnx import numpy_helper

model = onnx.load(sys.argv[1])
tensors = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
for node in model.graph.node:
    if node.op_type == "Constant":
        tensors[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)

pattern = re.compile(
    r'nn\.parameter \{.*nn\.name = "([^"]*)".*#nn\.file<"([^"]*)", (\d+), (\d+)>'
)
count = 0
for line in open(sys.argv[2]):
    match = pattern.search(line)
    if not match:
        continue
    name, path, offset, length = match.groups()
    with open(path, "rb") as file:
        file.seek(int(offset))
        data = file.read(int(length))
    if data != tensors[name].astype("<f4").tobytes():
        sys.exit(f"{name}: the bytes differ")
    count += 1
print(f"{count} parameters are equal")
