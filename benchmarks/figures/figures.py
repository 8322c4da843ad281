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

import argparse
import contextlib
import json
import math
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import time

import numpy as np
import onnx

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIGHT = pathlib.Path(onnx.__file__).parent / "backend/test/data/light"
MODELS = ["bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50",
          "shufflenet", "squeezenet", "vgg19", "zfnet512"]
WEIGHTS = "--init-weights=random:1"


class Tools:
    """Runs the tools and remembers the commands."""

    def __init__(self, build, work, favoured=False):
        self.build, self.work, self.favoured, self.shown = build, work, favoured, []
        work.mkdir(parents=True, exist_ok=True)

    def run(self, tool, *arguments, show=True):
        command = [str(self.build / tool), *map(str, arguments)]
        if show:
            text = " ".join([pathlib.Path(tool).name, *map(shlex.quote, command[1:])])
            self.shown.append(text.replace(str(LIGHT), "$LIGHT")
                              .replace(f"{self.work}/", ""))
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"error: {shlex.join(command)}\n{done.stderr}")
        return done.stdout

    def compile(self, model, output, *arguments, show=True):
        self.run("bin/soap-compile", LIGHT / f"light_{model}.onnx", WEIGHTS, *arguments,
                 "-o", output, show=show)
        return output

    def steps(self, so, iterations, *arguments):
        """Median and minimum step time in ms."""
        with self.priority():
            text = self.run("bin/soap-run", so, f"--iterations={iterations}",
                            "--warmup=2", "--json", *arguments, show=False)
        step = json.loads(text)["step"]
        return step["median_ns"] / 1e6, step["min_ns"] / 1e6

    @contextlib.contextmanager
    def priority(self):
        """A large share of the processors while something is measured, if asked."""
        if not self.favoured:
            yield
            return
        # The scheduler shares processors between sessions before processes.
        group = pathlib.Path("/proc/self/autogroup")
        group.write_text("-20")
        try:
            yield
        finally:
            group.write_text("0")

    def table(self, title, header, rows):
        widths = [max(len(str(row[i])) for row in [header, *rows])
                  for i in range(len(header))]
        print(f"\n== {title}")
        for row in [header, *rows]:
            print("  ".join(str(cell).ljust(width) if i == 0 else str(cell).rjust(width)
                            for i, (cell, width) in enumerate(zip(row, widths))))
        for command in self.shown[:4]:
            print(f"   $ {command}")
        if len(self.shown) > 4:
            print(f"   ... and {len(self.shown) - 4} commands alike")
        self.shown = []
        sys.stdout.flush()


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


def alternate(rounds, *sides):
    """Runs the sides in turn; the median of medians and the minimum of each."""
    results = [[] for _ in sides]
    for _ in range(rounds):
        for result, side in zip(results, sides):
            result.append(side())
    return [(statistics.median(m for m, _ in r), min(low for _, low in r))
            for r in results]


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


STRATEGIES = [("single",), ("data-parallel",), ("model-parallel",), ("tensor-parallel",),
              ("spatial",), ("search", "--proposals=2000"), ("random", "--seed=1"),
              ("random", "--seed=2"), ("random", "--seed=3"), ("random", "--seed=4")]


def kendall_tau(a, b):
    """Agreement of two orders: 1 the same, -1 reversed."""
    total, count = 0, 0
    for i in range(len(a)):
        for j in range(i):
            total += np.sign(a[i] - a[j]) * np.sign(b[i] - b[j])
            count += 1
    return total / count


def simulated_ms(path):
    return json.loads(path.read_text())["simulated_ns"] / 1e6


def merge_costs(files, target):
    """Median per kernel over several profiles."""
    times, merged = {}, None
    for file in files:
        merged = json.loads(file.read_text())
        for entry in merged["entries"]:
            times.setdefault(entry["key"], []).append(entry["ns"])
    merged["entries"] = [{"key": key, "ns": statistics.median_low(values)}
                         for key, values in times.items()]
    target.write_text(json.dumps(merged))


def fit(tools, options):
    for model in options.fit_models:
        batch = f"--batch={options.fit_batch}"
        names, sos, files, profiles = [], [], [], []
        for strategy, *more in STRATEGIES:
            names.append(strategy + "".join(f" {m.split('=')[1]}" for m in more
                                            if "seed" in m))
            stem = f"{model}.fit.{names[-1].replace(' ', '.')}"
            files.append(tools.work / f"{stem}.json")
            sos.append(tools.compile(model, tools.work / f"{stem}.so", batch, "--devices=2",
                                     "--cores-per-device=1",
                                     f"--strategy={strategy}", *more,
                                     f"--export-strategy={files[-1]}"))
        count = 3 if options.quick else 7
        measured = [m[options.minimum] for m in alternate(
            options.rounds, *(lambda so=so: tools.steps(so, count) for so in sos))]
        for so in sos:
            profiles.append(so.with_suffix(".profile.json"))
            with tools.priority():
                tools.run("bin/soap-run", so, f"--profile-ops={profiles[-1]}",
                          f"--iterations={count}", show=False)
        costs = tools.work / f"{model}.costs.json"
        merge_costs(profiles, costs)
        analytic = [simulated_ms(file) for file in files]
        profiled = []
        for file in files:
            again = file.with_suffix(".profiled.json")
            tools.run("bin/soap-compile", LIGHT / f"light_{model}.onnx", WEIGHTS, batch,
                      "--cores-per-device=1", "--devices=2",
                      f"--strategy={file}", f"--cost={costs}", "--emit=strategy", "-o",
                      file.with_suffix(".mlir"), f"--export-strategy={again}")
            profiled.append(simulated_ms(again))
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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--work", type=pathlib.Path, help="default: BUILD/figures")
    parser.add_argument("--only", default=",".join(FIGURES), metavar="FIGURE,...")
    parser.add_argument("--models", metavar="NAME,...")
    parser.add_argument("--fit-batch", type=int, default=4)
    parser.add_argument("--rounds", type=int, help="alternating rounds (default 5)")
    parser.add_argument("--quick", action="store_true", help="few models and runs")
    parser.add_argument("--favour", action="store_true",
                        help="give measured runs more of a busy Linux machine (as root)")
    parser.add_argument("--minimum", action="store_const", const=1, default=0,
                        help="fit: compare with minima, on a busy machine")
    options = parser.parse_args()
    unknown = [name for name in options.only.split(",") if name not in FIGURES]
    if unknown:
        parser.error(f"expected figures of {', '.join(FIGURES)}, got: {unknown}")
    few = ["resnet50", "squeezenet"]
    asked = options.models.split(",") if options.models else None
    options.models = asked or (few if options.quick else MODELS)
    options.parallel_models = asked or (["resnet50"] if options.quick else
                                        ["resnet50", "inception_v2", "bvlc_alexnet"])
    options.fit_models = asked or (["squeezenet"] if options.quick else
                                   ["resnet50", "bvlc_alexnet"])
    options.rounds = options.rounds or (2 if options.quick else 5)
    tools = Tools(options.build.resolve(),
                  options.work or options.build.resolve() / "figures",
                  options.favour)
    for name in options.only.split(","):
        FIGURES[name](tools, options)


if __name__ == "__main__":
    main()
