#!/usr/bin/env python3
"""Shows that transfers overlap with computation, and how well that is simulated.

  build/venv/bin/python benchmarks/overlap/overlap.py [--quick] [--only=hidden,fit]

  hidden  a network whose transfers can hide behind computation, over slow links: compute
          time, transfer time, and what a step takes
  fit     simulated against measured step time of 20 strategies over a slow link, two
          devices: AlexNet and a perceptron, mean error and Kendall's tau

The link is the same for soap-run --link and soap-compile --link. Compute costs are
measured (soap-run --profile-ops, soap-compile --cost), in turn with the steps, since the
speed of a machine drifts. On a busy machine
--favour helps, and --minimum compares with the fastest steps. Needs soap-compile and
soap-run, and the environment of scripts/setup.sh.
"""

import json
import pathlib
import statistics
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks/figures"))
from measure import (LIGHT, STRATEGIES, WEIGHTS, fit_strategies,  # noqa: E402
                     kendall_tau, parse_figures, simulated_ms)


def perceptron(path, batch=64, width=1024, layers=6):
    """Matrix products with ReLUs between."""
    random = np.random.default_rng(1)
    nodes, weights, value = [], [], "x"
    for i in range(layers):
        w = random.standard_normal((width, width), dtype=np.float32) / width**0.5
        weights.append(numpy_helper.from_array(w, f"w{i}"))
        nodes.append(helper.make_node("MatMul", [value, f"w{i}"], [f"h{i}"], name=f"fc{i}"))
        value = f"y{i}"
        nodes.append(helper.make_node("Relu", [f"h{i}"], [value], name=f"relu{i}"))
    save(path, nodes, [batch, width], value, weights)


def branches(path, count=6, channels=64, size=56):
    """Branches of two convolutions each, which are added up in the end."""
    random = np.random.default_rng(1)
    nodes, weights, total = [], [], None
    for i in range(count):
        for part, source in (("first", "x"), ("second", f"a{i}")):
            w = random.standard_normal((channels, channels, 3, 3), dtype=np.float32)
            weights.append(numpy_helper.from_array(w / (channels * 9)**0.5, f"{part}{i}_w"))
            nodes.append(helper.make_node(
                "Conv", [source, f"{part}{i}_w"], [f"{'a' if part == 'first' else 'b'}{i}"],
                name=f"{part}{i}", pads=[1, 1, 1, 1]))
        if total is None:
            total = f"b{i}"
        else:
            nodes.append(helper.make_node("Add", [total, f"b{i}"], [f"s{i}"],
                                          name=f"second_sum{i}"))
            total = f"s{i}"
    save(path, nodes, [1, channels, size, size], total, weights)


def save(path, nodes, shape, output, weights):
    graph = helper.make_graph(
        nodes, "network", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)],
                                ir_version=8), path)


def link_seconds(text):
    """Bandwidth in bytes/s and latency in s of units that are used here."""
    rate, latency = text.split(":")
    factor = {"MB/s": 1e6, "GB/s": 1e9}[rate[-4:]]
    return float(rate[:-4]) * factor, float(latency[:-2]) * {"us": 1e-6, "ms": 1e-3}[latency[-2:]]


def compute_ms(trace):
    """How long the busiest compute stream of a trace is busy, in ms."""
    busy = {}
    for event in json.loads(trace.read_text())["traceEvents"]:
        if event["ph"] == "X" and event["cat"] != "simulated" and event["tid"] == 0 and event["ts"] >= 0:
            busy[event["pid"]] = busy.get(event["pid"], 0) + event["dur"] / 1e3
    return max(busy.values())


def transfer_ms(movements, link):
    """How long the busiest link is busy, latencies included, in ms."""
    bandwidth, latency = link_seconds(link)
    links = {}
    for moved in movements:
        if moved["phase"] == "step" and moved["kind"] == "transfer":
            pair = tuple(moved["devices"])
            links[pair] = links.get(pair, 0) + sum(moved["bytes"]) / bandwidth + latency
    return 1e3 * max(links.values())


def hidden(tools, options):
    model, strategy = tools.work / "branches.onnx", tools.work / "branches.json"
    branches(model)
    strategy.write_text(json.dumps({"ops": [
        {"op": "first.*", "devices": [0]}, {"op": "second.*", "devices": [1]}]}))
    rows = []
    for link in options.links:
        so = model.with_suffix(".so")
        described = tools.work / "branches.out.json"
        common = [model, "--devices=2", "--cores-per-device=1", f"--link={link}"]
        tools.run("bin/soap-compile", *common, f"--strategy={strategy}", "-o", so)
        costs, trace = tools.work / "branches.costs", tools.work / "branches.trace"
        with tools.priority():
            tools.run("bin/soap-run", so, f"--profile-ops={costs}", "--iterations=5",
                      f"--trace={trace}", show=False)
        tools.run("bin/soap-compile", *common, f"--strategy={strategy}", f"--cost={costs}",
                  f"--export-strategy={described}", "-o", so)
        step = tools.steps(so, 20, f"--link={link}")[options.minimum]
        moved = json.loads(tools.run("bin/soap-run", so, "--json", f"--link={link}"))
        compute, transfer = compute_ms(trace), transfer_ms(moved["movements"], link)
        rows.append([link, *(f"{x:.2f}" for x in (
            compute, transfer, compute + transfer, step, simulated_ms(described)))])
    tools.table("Six branches on two devices, ms: first convolutions on device 0, second "
                "ones on device 1",
                ["link", "compute", "transfer", "sum", "step", "simulated"], rows)


def fit(tools, options):
    mlp = tools.work / "perceptron.onnx"
    perceptron(mlp)
    every = []
    for name, model, more in (
            ("AlexNet", LIGHT / "light_bvlc_alexnet.onnx", [WEIGHTS, "--batch=4"]),
            ("perceptron", mlp, [])):
        names, measured, _, simulated = fit_strategies(
            tools, options, name, [model, *more],
            STRATEGIES[:4 if options.quick else None], [f"--link={options.link}"])
        every += [(name, n, m, s) for n, m, s in zip(names, measured, simulated)]
    rows = [[f"{model}, {n}", f"{m:.2f}", f"{s:.2f}", f"{s / m - 1:+.0%}"]
            for model, n, m, s in every]
    errors = [abs(s / m - 1) for _, _, m, s in every]
    rows.append(["mean |error|", "", "", f"{statistics.fmean(errors):.1%}"])
    rows.append(["max |error|", "", "", f"{max(errors):.0%}"])
    for model in dict.fromkeys(row[0] for row in every):
        measured, simulated = zip(*((m, s) for x, _, m, s in every if x == model))
        rows.append([f"Kendall tau, {model}", "", "",
                     f"{kendall_tau(simulated, measured):.2f}"])
    tools.table(f"Simulated and measured steps over links of {options.link}, two devices, ms",
                ["strategy", "measured", "simulated", "error"], rows)


FIGURES = {"hidden": hidden, "fit": fit}


def main():
    def more(parser):
        parser.add_argument("--links", default="100MB/s:100us,200MB/s:100us,1GB/s:20us",
                            metavar="LINK,...", help="hidden: for soap-run --link")
        parser.add_argument("--link", default="500MB/s:100us", help="fit: likewise")

    tools, options = parse_figures(__doc__, FIGURES, "overlap", more)
    options.links = options.links.split(",")
    for name in options.only:
        FIGURES[name](tools, options)


if __name__ == "__main__":
    main()
