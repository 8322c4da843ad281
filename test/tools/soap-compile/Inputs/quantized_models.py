#!/usr/bin/env python3
"""Compiles a small network that onnxruntime quantized, and compares.

  quantized_models.py FOLDER FORM

FORM is qoperator, qdq, qdq-signed or dynamic. Prints how far the outputs are from onnxruntime's, in steps of the last
rounding, whether strategies agree bit by bit, and what products multiply.
"""

import json
import logging
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static)

STRATEGIES = (["--devices=1"], ["--devices=2", "--strategy=random", "--seed=1"],
              ["--devices=3", "--strategy=random", "--seed=2"], ["--devices=1", "--mcpu=x86-64-v2"])


def run(*command):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout


def network(path):
    """Two convolutions, with pads and strides, and two products of matrices, the second of two activations."""
    random = np.random.default_rng(0)
    weights = {"w1": random.normal(size=(8, 3, 3, 3)) * 0.3, "b1": random.normal(size=8), "w2":
               random.normal(size=(6, 8, 3, 3)) * 0.2, "w3": random.normal(size=(5, 30)) * 0.3}
    nodes = [helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], "c1", pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["c1"], ["r1"], "r1"),
             helper.make_node("Conv", ["r1", "w2"], ["c2"], "c2", pads=[1, 1, 1, 1], strides=[2, 2]),
             helper.make_node("Reshape", ["c2", "rows"], ["m2"], "m2"),
             helper.make_node("MatMul", ["m2", "w3"], ["m3"], "m3"),
             helper.make_node("Transpose", ["m3"], ["t3"], "t3", perm=[0, 2, 1]),
             helper.make_node("MatMul", ["m3", "t3"], ["y"], "y")]
    arrays = {name: value.astype(np.float32) for name, value in weights.items()}
    arrays["rows"] = np.array([2, 30, 5], np.int64)
    graph = helper.make_graph(nodes, "network",
                              [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 3, 10, 10])],
                              [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2, 30, 30])],
                              [numpy_helper.from_array(value, name) for name, value in arrays.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return random.normal(size=(2, 3, 10, 10)).astype(np.float32)


class Calibration(CalibrationDataReader):
    def __init__(self, x):
        self.rows = iter([{"x": x}])

    def get_next(self):
        return next(self.rows, None)


def quantize(source, target, form, x):
    if form == "dynamic":
        quantize_dynamic(source, target, weight_type=QuantType.QUInt8, op_types_to_quantize=["Conv", "MatMul"])
        return
    activations = QuantType.QInt8 if form == "qdq-signed" else QuantType.QUInt8
    # Weights of 7 bits: with AVX2 and no VNNI onnxruntime adds pairs of products in 16 bits, which saturate.
    quantize_static(source, target, Calibration(x), activation_type=activations, weight_type=QuantType.QInt8,
                    per_channel=True, reduce_range=True, op_types_to_quantize=["Conv", "MatMul"],
                    quant_format=QuantFormat.QOperator if form == "qoperator" else QuantFormat.QDQ)


def main():
    folder, form = pathlib.Path(sys.argv[1]), sys.argv[2]
    folder.mkdir(exist_ok=True)
    logging.disable(logging.WARNING)
    source, model = folder / "floats.onnx", folder / f"{form}.onnx"
    x = network(source)
    quantize(source, model, form, x)
    np.save(folder / "x.npy", x)
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    expected, = onnxruntime.InferenceSession(str(model), settings).run(None, {"x": x})
    report = json.loads(run("soap-compile", model, "--devices=1", "--calibration=none", "--strategy=single",
                            "--emit=report", "--json"))
    print("products:", report["products"])
    results = []
    for strategy in STRATEGIES:
        run("soap-compile", model, "--calibration=none", *strategy, "-o", folder / "model.so")
        run("soap-run", folder / "model.so", f"--input=x={folder}/x.npy", f"--output=y={folder}/y.npy")
        results.append(np.load(folder / "y.npy"))
    print("strategies equal:", all(np.array_equal(each, results[0]) for each in results))
    error = np.linalg.norm(results[0] - expected) / np.linalg.norm(expected)
    print("error:", "small" if error < 0.01 else error)


if __name__ == "__main__":
    main()
