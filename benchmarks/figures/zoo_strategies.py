#!/usr/bin/env python3
"""Prints, for the networks of the zoo (benchmarks/zoo), the table of strategies on 4, 16 and
64 devices of the P100 cluster: everything simulated, inference only, with analytic costs.
The batch is 1 and that of the network's paper (zoo.NETWORKS), all devices together. Every
cell is searched twice: by default, and from ten random strategies without named ones.

  zoo_strategies.py --build-dir=build/release [--networks=alexnet,nmt] [--devices=4,16]
                    [--budget=3] [--state=zoo.jsonl]

Below the table stand figures over all cells. A cell without a row, because it fits into no
device, say, or because the command was stopped, is listed with the reason. With --state, what
was searched is kept, and what is kept is not searched again.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import zoo

TOPOLOGIES = {4: "p100:nodes=1", 16: "p100:nodes=4", 64: "p100:nodes=16"}
RANDOM_STARTS = 10


class Searches:
    """Runs the compiler; finished searches are kept in a file of JSON lines."""

    def __init__(self, arguments, folder):
        self.tool = pathlib.Path(arguments.build_dir) / "bin" / "soap-compile"
        self.budget, self.timeout = arguments.budget, arguments.timeout
        self.path = pathlib.Path(arguments.state) if arguments.state else None
        self.output = folder / "strategy.mlir"
        self.known = {}
        if self.path and self.path.exists():
            for text in self.path.read_text().splitlines():
                entry = json.loads(text)
                self.known[tuple(entry["of"])] = entry["result"]

    def run(self, of, command):
        """The object that the compiler prints, or {"reason": why there is none}."""
        key = (*of, self.budget)
        if key not in self.known:
            self.known[key] = self._run(command)
            if self.path:
                with self.path.open("a") as file:
                    file.write(json.dumps({"of": key, "result": self.known[key]}) + "\n")
        return self.known[key]

    def _run(self, command):
        try:
            result = subprocess.run([self.tool, *command, f"--budget={self.budget}", "--json"],
                                    capture_output=True, text=True, timeout=self.timeout)
        except subprocess.TimeoutExpired:
            return {"reason": f"stopped after {self.timeout} s"}
        if result.returncode == 0:
            return json.loads(result.stdout)
        errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
        return {"reason": errors[0].removeprefix("error: ") if errors
                else f"exit status {result.returncode}"}

    def cell(self, model, name, batch, devices):
        """The report of the search by default, and the step in ns from random starts."""
        common = [model, f"--batch={batch}", f"--topology={TOPOLOGIES[devices]}"]
        report = self.run((name, batch, devices, "default"), [*common, "--emit=report"])
        if "reason" in report:
            return report, None
        random = self.run((name, batch, devices, "random-starts"),
                          [*common, f"--random-starts={RANDOM_STARTS}", "--emit=strategy", "-o",
                           self.output])
        return report, random["search"]["step_ns"] if "search" in random else None


class Figures:
    """What is said about all cells together."""

    def __init__(self):
        self.random, self.gaps, self.worse, self.rows = [], [], [], 0

    def add(self, cell, named, found, random, gap):
        self.rows += 1
        self.gaps.append(gap)
        if named is None:
            return
        if found > named:
            self.worse.append(cell)
        self.random.append(random is not None and random <= 1.02 * named)

    def print(self):
        if not self.rows:
            return
        print(f"\n{self.rows} rows.\n")
        if self.random:
            near = sum(self.random)
            print(f"- From random starts within 2% of the best named strategy: {near} of "
                  f"{len(self.random)} cells ({100 * near / len(self.random):.0f}%, aim 80%).")
        print(f"- Found by default is worse than a named strategy: {len(self.worse)} "
              f"(aim: none){': ' if self.worse else ''}{'; '.join(self.worse)}.")
        print(f"- Median gap to the lower bound: {100 * statistics.median(self.gaps):.0f}% "
              "(aim 25%).")


def line(name, batch, devices, report, random, figures):
    rows = {row["name"]: row for row in report["strategies"]}
    found = rows.pop("found")
    data = rows["data-parallel"]

    def milliseconds(row):
        return f"{row['step_ns'] / 1e6:.3f}" + ("" if row["fits"] else " (!)")

    fitting = [row for row in rows.values() if row["fits"] and row["name"] != "random"]
    best = min(fitting, key=lambda row: row["step_ns"], default=None)
    figures.add(f"{name}, batch {batch}, {devices} devices", best and best["step_ns"],
                found["step_ns"], random, found["gap"])
    baseline = min(rows["single"]["step_ns"], data["step_ns"])
    cells = [name, batch, devices, milliseconds(rows["single"]), milliseconds(data)]
    cells += [best["name"], milliseconds(best)] if best else ["-", "-"]
    cells += [milliseconds(found), f"{random / 1e6:.3f}" if random else "-",
              f"**{baseline / found['step_ns']:.2f}**",
              f"{report['lower_bound']['step_ns'] / 1e6:.3f}", f"{100 * found['gap']:.0f}",
              f"{found['communication_bytes'] / 1e6:.1f}",
              f"{data['peak_memory_bytes'] / 2**20:.0f}",
              f"{found['peak_memory_bytes'] / 2**20:.0f}"]
    return "| " + " | ".join(map(str, cells)) + " |"


def read_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", default=str(ROOT / "build" / "release"))
    parser.add_argument("--networks", default=",".join(zoo.NETWORKS))
    parser.add_argument("--devices", default=",".join(map(str, TOPOLOGIES)))
    parser.add_argument("--budget", type=float, default=60,
                        help="seconds per search at most (default: 60)")
    parser.add_argument("--timeout", type=float, default=600,
                        help="seconds after which a command is stopped (default: 600)")
    parser.add_argument("--state", help="file that keeps what was searched")
    arguments = parser.parse_args()
    arguments.networks = arguments.networks.split(",")
    if unknown := sorted(set(arguments.networks) - set(zoo.NETWORKS)):
        parser.error(f"expected networks of {', '.join(zoo.NETWORKS)}, got: "
                     f"{', '.join(unknown)}")
    counts = arguments.devices.split(",")
    if not set(counts) <= set(map(str, TOPOLOGIES)):
        parser.error(f"expected devices of {', '.join(map(str, TOPOLOGIES))}, got: "
                     f"{arguments.devices}")
    arguments.devices = list(map(int, counts))
    return arguments


def main():
    arguments = read_arguments()
    print("Simulated milliseconds per step; (!) does not fit into a device. Best named: of the "
          "rows of --emit=report without the random one, those that fit. Gain: the better of "
          "single and data parallel over found. Gap: how much longer found takes than the lower "
          "bound of all strategies.\n")
    columns = ["network", "batch", "devices", "single", "data parallel", "best named", "its ms",
               "found", "random starts", "gain", "lower bound", "gap %", "found moves MB",
               "peak MiB, data parallel", "peak MiB, found"]
    print("| " + " | ".join(columns) + " |")
    print("|---" * len(columns) + "|")
    missing = []
    figures = Figures()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        searches = Searches(arguments, folder)
        model = folder / "model.onnx"
        for name in arguments.networks:
            zoo.save(model, name)
            for devices in arguments.devices:
                for batch in sorted({1, zoo.NETWORKS[name].batch}):
                    report, random = searches.cell(model, name, batch, devices)
                    if "reason" in report:
                        missing.append(f"- {name}, batch {batch}, {devices} devices: "
                                       f"{report['reason']}")
                        continue
                    print(line(name, batch, devices, report, random, figures), flush=True)
    figures.print()
    if missing:
        print("\nWithout a row:\n")
        print("\n".join(missing))


if __name__ == "__main__":
    main()
