"""Shared by what measures: running the tools, statistics, options."""

import argparse
import contextlib
import json
import pathlib
import shlex
import statistics
import subprocess
import sys

import numpy as np
import onnx

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIGHT = pathlib.Path(onnx.__file__).parent / "backend/test/data/light"
WEIGHTS = "--init-weights=random:1"
STRATEGIES = [("single",), ("data-parallel",), ("model-parallel",), ("tensor-parallel",),
              ("spatial",), ("search", "--proposals=2000"), ("random", "--seed=1"),
              ("random", "--seed=2"), ("random", "--seed=3"), ("random", "--seed=4")]


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


def alternate(rounds, *sides):
    """Runs the sides in turn; the median of medians and the minimum of each."""
    results = [[] for _ in sides]
    for _ in range(rounds):
        for result, side in zip(results, sides):
            result.append(side())
    return [(statistics.median(m for m, _ in r), min(low for _, low in r))
            for r in results]


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


def fit_strategies(tools, options, name, common, strategies=STRATEGIES, link=(), inputs=()):
    """Compiles what `common` says with every strategy, for two one-core devices, and runs
    and profiles them in turn on `inputs`. Returns their names, measured steps, and simulated
    ones without and with the profiled costs, in ms."""
    names, sos, files, profiles = [], [], [], []
    count = 3 if options.quick else 7
    common = [*common, "--devices=2", "--cores-per-device=1", *link]
    for strategy, *choice in strategies:
        names.append(" ".join([strategy, *(c.split("=")[1] for c in choice if "seed" in c)]))
        stem = f"{name}.fit.{names[-1].replace(' ', '.')}"
        files.append(tools.work / f"{stem}.json")
        sos.append(tools.work / f"{stem}.so")
        tools.run("bin/soap-compile", *common, f"--strategy={strategy}", *choice,
                  f"--export-strategy={files[-1]}", "-o", sos[-1])

    def step_and_profile(so):
        step = tools.steps(so, count, *link, *inputs)
        profiles.append(so.with_suffix(f".profile.{len(profiles)}.json"))
        with tools.priority():
            tools.run("bin/soap-run", so, f"--profile-ops={profiles[-1]}",
                      f"--iterations={count}", *link, *inputs, show=False)
        return step

    measured = [m[options.minimum] for m in alternate(
        options.rounds, *(lambda so=so: step_and_profile(so) for so in sos))]
    costs = tools.work / f"{name}.costs.json"
    merge_costs(profiles, costs)
    profiled = []
    for file in files:
        again = file.with_suffix(".profiled.json")
        tools.run("bin/soap-compile", *common, f"--strategy={file}", f"--cost={costs}",
                  "--emit=strategy", "-o", file.with_suffix(".mlir"),
                  f"--export-strategy={again}")
        profiled.append(simulated_ms(again))
    return names, measured, [simulated_ms(file) for file in files], profiled


def create_parser(doc):
    """The options of all."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--favour", action="store_true",
                        help="give measured runs more of a busy Linux machine (as root)")
    return parser


def parse_figures(doc, figures, folder, more):
    """Tools and options of a program that prints `figures`; works in BUILD/`folder`.
    `more` adds options."""
    parser = create_parser(doc)
    parser.add_argument("--work", type=pathlib.Path, help=f"default: BUILD/{folder}")
    parser.add_argument("--only", default=",".join(figures), metavar="FIGURE,...")
    parser.add_argument("--rounds", type=int, help="alternating rounds (default 5)")
    parser.add_argument("--quick", action="store_true", help="less of all, fewer runs")
    parser.add_argument("--minimum", action="store_const", const=1, default=0,
                        help="compare with minima, on a busy machine")
    more(parser)
    options = parser.parse_args()
    options.only = options.only.split(",")
    unknown = [name for name in options.only if name not in figures]
    if unknown:
        parser.error(f"expected figures of {', '.join(figures)}, got: {unknown}")
    options.rounds = options.rounds or (2 if options.quick else 5)
    build = options.build.resolve()
    return Tools(build, options.work or build / folder, options.favour), options
