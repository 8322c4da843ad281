#!/usr/bin/env python3
"""Quantized networks of the zoo on one core: SOAP and onnxruntime on the same files and on the network of floats, and
OpenVINO on those that it reads (QDQ).

  quantized.py [--networks=resnet50,bert_base] [--forms=qoperator,qdq,dynamic] [--steps=15] [--before=BUILD] [--least]

onnxruntime.quantization quantizes: static with a calibration on random data, dynamic for MatMul. Engines take turns,
step by step; times are medians of the processor's, in ms, or, with --least, the least. The last columns are how far
quantized outputs of SOAP and onnxruntime are apart, as part of the norm, and how far each is from that of floats.
--before is a build of SOAP to compare with.
"""

import argparse
import logging
import pathlib
import statistics
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static)

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import zoo  # noqa: E402
from peers.engines import OnnxRuntime, OpenVino, Soap  # noqa: E402
from peers.networks import feeds as feeds_of  # noqa: E402

NETWORKS = {"resnet50": {}, "bert_base": {"layers": 4, "seq": 128}}


class Calibration(CalibrationDataReader):
    def __init__(self, path):
        self.rows = iter([feeds_of(path)])

    def get_next(self):
        return next(self.rows, None)


def quantize(source, target, form):
    types = dict(weight_type=QuantType.QInt8, per_channel=form != "dynamic")
    if form == "dynamic":
        quantize_dynamic(source, target, op_types_to_quantize=["MatMul"], **types)
        return
    # Of others, onnxruntime's quantizer makes operators of its own domain.
    operators = {} if form == "qdq" else {"op_types_to_quantize": ["Conv", "MatMul"]}
    quantize_static(source, target, Calibration(source), activation_type=QuantType.QUInt8,
                    quant_format=QuantFormat.QDQ if form == "qdq" else QuantFormat.QOperator, **operators, **types)


def save(name, folder):
    """A network whose batch norms are folded, as its quantizer wants it."""
    path, folded = folder / f"{name}.unfolded.onnx", folder / f"{name}.onnx"
    zoo.save(str(path), name, batch=1, weights="random:1", **NETWORKS[name])
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    settings.optimized_model_filepath = str(folded)
    onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
    return str(folded)


class Engine:
    def __init__(self, make):
        self.times = []
        self.engine = make()
        self.engine.step()
        self.engine.step()

    def step(self):
        before = time.process_time()
        self.engine.step()
        self.times.append(1e3 * (time.process_time() - before))

    def outputs(self):
        return {name: np.asarray(value, np.float64) for name, value in self.engine.outputs().items()}

    def time(self, least):
        return min(self.times) if least else statistics.median(self.times)


def distance(a, b):
    return max(np.linalg.norm(a[name] - b[name]) / np.linalg.norm(b[name]) for name in b)


def measure(name, form, folder, args):
    source = save(name, folder)
    target = str(folder / f"{name}.{form}.onnx")
    quantize(source, target, form)
    feeds = feeds_of(source)

    def soap(path, build, tag):
        options = {"build": build, "outputs": str(folder / f"{name}.{form}.{tag}.npz"),
                   "compile": ["--strategy=single", "--calibration=none"], "options": []}
        return Engine(lambda: Soap(path, feeds, 1, options))
    engines = {"soap": soap(target, args.build, "now"), "soap f32": soap(source, args.build, "float"),
               "onnxruntime": Engine(lambda: OnnxRuntime(target, feeds, 1, None)),
               "onnxruntime f32": Engine(lambda: OnnxRuntime(source, feeds, 1, None))}
    if form == "qdq":
        engines["openvino"] = Engine(lambda: OpenVino(target, feeds, 1, {"options": []}))
    if args.before:
        engines["soap before"] = soap(target, args.before, "before")
    for _ in range(args.steps):
        for engine in engines.values():
            engine.step()
    reference = engines["onnxruntime"].outputs()
    row = [name, form, *(f"{engines[key].time(args.least):.1f}" if key in engines else ""
                         for key in ["soap before", "soap", "soap f32", "onnxruntime", "onnxruntime f32", "openvino"]),
           f"{distance(engines['soap'].outputs(), reference):.1e}",
           *(f"{distance(engines[key].outputs(), engines['onnxruntime f32'].outputs()):.1e}"
             for key in ["soap", "onnxruntime"])]
    print("| " + " | ".join(row) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", default="resnet50,bert_base")
    parser.add_argument("--forms", default="qoperator,qdq,dynamic")
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--build", default=str(HERE.parent / "build/release"))
    parser.add_argument("--before")
    parser.add_argument("--least", action="store_true")
    args = parser.parse_args()
    logging.disable(logging.WARNING)
    print("| network | form | SOAP before | SOAP | SOAP, f32 | onnxruntime | onnxruntime, f32 | OpenVINO "
          "| apart | SOAP to f32 | onnxruntime to f32 |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in args.networks.split(","):
            for form in args.forms.split(","):
                if form != "dynamic" or name.startswith("bert"):
                    measure(name, form, pathlib.Path(folder), args)


if __name__ == "__main__":
    main()
