#!/usr/bin/env python3
"""Prints, for the networks of the zoo (benchmarks/zoo), the table of strategies on 4 and
16 devices of the P100 cluster: everything simulated, inference only, with analytic costs.
The batch is 1 and that of the network's paper (zoo.NETWORKS), all devices together.

  zoo_strategies.py --build-dir=build/release [--networks=alexnet,nmt] [--devices=4]

What has no row, because it fits into no device, say, is listed below the table with the compiler's reason.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import zoo

TOPOLOGIES = {4: "p100:nodes=1", 16: "p100:nodes=4"}
NAMED = ("single", "data-parallel", "model-parallel", "tensor-parallel", "spatial", "owt",
         "expert-rnn")


def report(tool, model, batch, devices, budget):
    """The compiler's report, and what it says if there is none."""
    result = subprocess.run(
        [tool, model, f"--batch={batch}", f"--topology={TOPOLOGIES[devices]}", "--emit=report",
         "--json", f"--budget={budget}"], capture_output=True, text=True)
    if result.returncode:
        return None, result.stderr.strip().splitlines()[0].removeprefix("error: ")
    return json.loads(result.stdout), ""


def line(name, batch, devices, report):
    rows = {row["name"]: row for row in report["strategies"]}
    found = rows["found"]

    def milliseconds(row):
        return f"{row['step_ns'] / 1e6:.3f}" + ("" if row["fits"] else " (!)")

    baseline = min(rows["single"]["step_ns"], rows["data-parallel"]["step_ns"])
    cells = [name, batch, devices]
    cells += [milliseconds(rows[strategy]) for strategy in NAMED]
    cells += [milliseconds(found), f"**{baseline / found['step_ns']:.2f}**",
              f"{report['lower_bound']['step_ns'] / 1e6:.3f}", f"{100 * found['gap']:.0f}",
              f"{found['communication_bytes'] / 1e6:.1f}",
              f"{rows['data-parallel']['peak_memory_bytes'] / 2**20:.0f}",
              f"{found['peak_memory_bytes'] / 2**20:.0f}"]
    return "| " + " | ".join(map(str, cells)) + " |"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", default=str(ROOT / "build" / "release"))
    parser.add_argument("--networks", default=",".join(zoo.NETWORKS))
    parser.add_argument("--devices", type=int, choices=TOPOLOGIES)
    parser.add_argument("--budget", type=int, default=300,
                        help="seconds per search at most (default: 300)")
    arguments = parser.parse_args()
    names = arguments.networks.split(",")
    if unknown := sorted(set(names) - set(zoo.NETWORKS)):
        parser.error(f"expected networks of {', '.join(zoo.NETWORKS)}, got: "
                     f"{', '.join(unknown)}")
    tool = pathlib.Path(arguments.build_dir) / "bin" / "soap-compile"

    print("Simulated milliseconds per step; (!) does not fit into a device. Gain: the better "
          "of single and data parallel over found. Gap: how much longer found takes than the "
          "lower bound of all strategies.\n")
    columns = ["network", "batch", "devices", *(name.replace("-", " ") for name in NAMED),
               "found", "gain", "lower bound", "gap %", "found moves MB",
               "peak MiB, data parallel", "peak MiB, found"]
    print("| " + " | ".join(columns) + " |")
    print("|---" * len(columns) + "|")
    missing = []
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / "model.onnx"
        for name in names:
            zoo.save(model, name)
            cases = [(batch, devices)
                     for devices in ([arguments.devices] if arguments.devices
                                     else TOPOLOGIES)
                     for batch in sorted({1, zoo.NETWORKS[name].batch})]
            for batch, devices in cases:
                rows, reason = report(tool, model, batch, devices, arguments.budget)
                if rows:
                    print(line(name, batch, devices, rows), flush=True)
                else:
                    missing.append(f"- {name}, batch {batch}, {devices} devices: {reason}")
    if missing:
        print("\nWithout a row:\n")
        print("\n".join(missing))


if __name__ == "__main__":
    main()
