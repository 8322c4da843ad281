#!/usr/bin/env python3
"""Measures what SOAP promises and prints it side by side, with the commands.

  build/venv/bin/python benchmarks/figures/figures.py [--quick] [--only=latency,fit]
      [--models=resnet50,squeezenet]

  latency     one device, one core, against onnxruntime on one thread, batch 1
  parallel    two one-core devices against one, data parallel, batch 8
  compile     soap-compile without search, one and four devices
  simulation  full simulations per second of Inception v2, one thread
  fit         simulated against measured step time of ten strategies on two devices

Measured runs alternate between the two sides; figures are medians, and minima
where a machine is busy with other things (--favour helps, too). $LIGHT in commands is
the folder of light models in the onnx package. Needs the targets soap-compile, soap-run,
soap-translate and soap-bench-simulation, and the environment of scripts/setup.sh.
"""

import json
import math
import statistics
import subprocess
import sys
import time

import numpy as np

from measure import (LIGHT, ROOT, WEIGHTS, alternate, fit_strategies, kendall_tau,
                     parse_figures)

MODELS = ["bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50",
          "shufflenet", "squeezenet", "vgg19", "zfnet512"]


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


class Reference:
    """A model in onnxruntime, on one thread, with the weights of SOAP."""

    def __init__(self, tools, model):
        import onnxruntime

        self.priority = tools.priority
        path = tools.work / f"{model}.onnx"
        if not path.exists():
            subprocess.run(
                [sys.executable, str(ROOT / "scripts/materialize_weights.py"),
                 str(LIGHT / f"light_{model}.onnx"), "--seed=1",
                 f"--soap-translate={tools.build}/bin/soap-translate", "-o", str(path)],
                check=True, stdout=subprocess.DEVNULL)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"])
        random = np.random.default_rng(0)
        self.feeds = {i.name: random.standard_normal(i.shape, dtype=np.float32)
                      for i in self.session.get_inputs()}

    def steps(self, iterations):
        times = []
        with self.priority():
            for i in range(iterations + 2):
                start = time.perf_counter()
                self.session.run(None, self.feeds)
                times.append((time.perf_counter() - start) * 1e3)
        return statistics.median(times[2:]), min(times[2:])


def latency(tools, options):
    rows, ratios, best = [], [], []
    for model in options.models:
        so = tools.compile(model, tools.work / f"{model}.so", "--batch=1", "--devices=1",
                           "--cores-per-device=1")
        reference = Reference(tools, model)
        count = 3 if options.quick or model == "vgg19" else 10
        ours, theirs = alternate(options.rounds, lambda: tools.steps(so, count),
                                 lambda: reference.steps(count))
        ratios.append(theirs[0] / ours[0])
        best.append(theirs[1] / ours[1])
        rows.append([model, *(f"{x:.2f}" for x in (ours[0], theirs[0], ratios[-1],
                                                   ours[1], theirs[1], best[-1]))])
    rows.append(["geometric mean", "", "", f"{geometric_mean(ratios):.2f}", "", "",
                 f"{geometric_mean(best):.2f}"])
    tools.table("Latency, batch 1, one core, ms (ratio: onnxruntime / SOAP, more is better)",
                ["model", "SOAP", "onnxruntime", "ratio", "SOAP min", "onnxruntime min",
                 "ratio of minima"], rows)


def parallel(tools, options):
    rows = []
    for model in options.parallel_models:
        sos = [tools.compile(model, tools.work / f"{model}.b8.{devices}.so", "--batch=8",
                             f"--devices={devices}", "--cores-per-device=1",
                             f"--strategy={strategy}")
               for devices, strategy in ((1, "single"), (2, "data-parallel"))]
        count = 3 if options.quick or model == "vgg19" else 5
        one, two = alternate(options.rounds, *(lambda so=so: tools.steps(so, count)
                                               for so in sos))
        rows.append([model, *(f"{x:.2f}" for x in (one[0], two[0], one[0] / two[0],
                                                   one[1], two[1], one[1] / two[1]))])
    tools.table("Data parallel, batch 8, ms per step",
                ["model", "1 device", "2 devices", "speedup", "1 device min",
                 "2 devices min", "speedup of minima"], rows)


def compile_time(tools, options):
    rows = []
    for devices in (1, 4):
        times = []
        for _ in range(options.rounds):
            start = time.perf_counter()
            tools.compile("resnet50", tools.work / "compiled.so", f"--devices={devices}",
                          "--strategy=" + ("single" if devices == 1 else "data-parallel"),
                          f"--batch={devices}", show=not times)
            times.append(time.perf_counter() - start)
        rows.append([f"resnet50, {devices} device(s)", f"{statistics.median(times):.2f}",
                     f"{min(times):.2f}"])
    tools.table("Compile time without search, s", ["model", "median", "min"], rows)


def simulation(tools, options):
    text = tools.run("benchmarks/soap-bench-simulation", LIGHT / "light_inception_v2.onnx",
                     64, 4, 16, 64)
    rows = [[e["strategy"], e["devices"], e["nodes"], e["per_second"]]
            for e in map(json.loads, text.splitlines())]
    tools.table("Full simulations of Inception v2 per second, one thread",
                ["strategy", "devices", "nodes", "per second"], rows)


def fit(tools, options):
    for model in options.fit_models:
        names, measured, analytic, profiled = fit_strategies(
            tools, options, model, [LIGHT / f"light_{model}.onnx", WEIGHTS,
                                    f"--batch={options.fit_batch}"])
        rows = [[name, f"{m:.2f}", *(f"{x:.2f} ({x / m - 1:+.0%})" for x in pair)]
                for name, m, *pair in zip(names, measured, analytic, profiled)]
        for what, pick in (("mean |error|", lambda e: f"{statistics.fmean(e):.0%}"),
                           ("max |error|", lambda e: f"{max(e):.0%}")):
            rows.append([what, "", *(pick([abs(x / m - 1) for x, m in zip(s, measured)])
                                     for s in (analytic, profiled))])
        rows.append(["Kendall tau", "", *(f"{kendall_tau(s, measured):.2f}"
                                          for s in (analytic, profiled))])
        tools.table(f"Simulated and measured step time, {model}, batch "
                    f"{options.fit_batch}, two devices, ms",
                    ["strategy", "measured", "simulated (calibrated)",
                     "simulated (--cost=profile)"], rows)


FIGURES = {"latency": latency, "parallel": parallel, "compile": compile_time,
           "simulation": simulation, "fit": fit}


def main():
    def more(parser):
        parser.add_argument("--models", metavar="NAME,...")
        parser.add_argument("--fit-batch", type=int, default=4)

    tools, options = parse_figures(__doc__, FIGURES, "figures", more)
    few = ["resnet50", "squeezenet"]
    asked = options.models.split(",") if options.models else None
    options.models = asked or (few if options.quick else MODELS)
    options.parallel_models = asked or (["resnet50"] if options.quick else
                                        ["resnet50", "inception_v2", "bvlc_alexnet"])
    options.fit_models = asked or (["squeezenet"] if options.quick else
                                   ["resnet50", "bvlc_alexnet"])
    for name in options.only:
        FIGURES[name](tools, options)


if __name__ == "__main__":
    main()
