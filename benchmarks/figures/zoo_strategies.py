#!/usr/bin/env python3
"""Prints, for the networks of the zoo (benchmarks/zoo), the table of strategies on 4 and
16 devices of the P100 cluster: everything simulated, inference only, with analytic costs.
The batch is 1 and that of the network's paper (zoo.NETWORKS), all devices together.

  zoo_strategies.py --build-dir=build/release [--networks=alexnet,nmt] [--devices=4]

What has no row, because it fits into no device, say, is listed below the table with the compiler's reason.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import zoo

TOPOLOGIES = {4: "p100-node", 16: "p100-cluster"}
# strategy, step ms, moved MB, moving ms, peak MiB, idle %.
ROW = re.compile(r"^([a-z-]+) +([\d.]+) +([\d.]+) +[\d.]+ +([\d.]+) +[\d.]+$")


def report(tool, model, batch, devices, budget):
    """Strategy to (step ms, moved MB, peak MiB), and what the compiler says if there is none."""
    topology = ROOT / "topologies" / f"{TOPOLOGIES[devices]}.json"
    result = subprocess.run(
        [tool, model, f"--batch={batch}", f"--topology={topology}", "--emit=report",
         f"--budget={budget}"], capture_output=True, text=True)
    if result.returncode:
        return None, result.stderr.strip().splitlines()[0].removeprefix("error: ")
    rows = filter(None, map(ROW.match, result.stdout.splitlines()))
    return {row[1]: tuple(map(float, row.groups()[1:])) for row in rows}, ""


def line(name, batch, devices, rows):
    found = rows["found"]
    baseline = min(rows["single"][0], rows["data-parallel"][0])
    cells = [name, batch, devices]
    cells += [f"{rows[strategy][0]:.3f}"
              for strategy in ("single", "data-parallel", "model-parallel", "found")]
    cells += [f"**{baseline / found[0]:.2f}**", f"{found[1]:.1f}",
              f"{rows['data-parallel'][2]:.0f}", f"{found[2]:.0f}"]
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

    print("Simulated milliseconds per step. Gain: the better of single and data parallel "
          "over found.\n")
    print("| network | batch | devices | single | data parallel | model parallel | found "
          "| gain | found moves MB | peak MiB, data parallel | peak MiB, found |")
    print("|---" * 11 + "|")
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
