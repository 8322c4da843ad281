#!/usr/bin/env python3
"""Shows that batch 1, where data parallelism cannot help, is split in other ways.

  build/venv/bin/python benchmarks/figures/batch1.py [--models=bvlc_alexnet,vgg19]

Searches a strategy for two one-core devices with measured costs of kernels (a first
search runs on calibrated rates; what it and one device run is profiled), prints how
the operations of the found strategy are split, and its step time beside that of one
device: simulated, and measured in alternating runs. The outputs are compared, too.
"""

import collections
import re

from measure import (LIGHT, WEIGHTS, Tools, alternate, create_parser, merge_costs,
                     simulated_ms)

SPLITS = {"n": "sample", "h": "height", "w": "width", "f": "output channels",
          "c": "input channels", "g": "groups", "k": "depth"}


def splits_of(table):
    """{(kind, loops): count} of a printed strategy, for convolutions and products."""
    counts = collections.Counter()
    for line in table.splitlines():
        match = re.search(r"nn\.(conv|matmul)\s+(\S.*?)\s{2,}", line)
        if match:
            loops = sorted({SPLITS.get(part.split("=")[0], part.split("=")[0])
                            for part in match[2].split() if part != "-"})
            counts[match[1], " and ".join(loops) or "not split"] += 1
    return counts


def main():
    parser = create_parser(__doc__)
    parser.add_argument("--models", default="bvlc_alexnet,vgg19", metavar="NAME,...")
    parser.add_argument("--proposals", type=int, default=4000)
    parser.add_argument("--searches", type=int, default=3,
                        help="searches, each with what the last one's kernels took")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    tools = Tools(options.build.resolve(), options.build.resolve() / "figures",
                  options.favour)
    shared = ["--batch=1", "--cores-per-device=1"]
    rows, notes = [], []
    for model in options.models.split(","):
        files = {name: tools.work / f"{model}.batch1.{name}"
                 for name in ("one.so", "one.json", "two.so", "two.json", "costs.json")}
        one, two, costs = files["one.so"], files["two.so"], files["costs.json"]
        strategy = files["two.json"]
        tools.compile(model, one, *shared, "--devices=1", show=False)
        profiles, cost = [], []
        for turn in range(options.searches):
            tools.compile(model, two, *shared, "--devices=2", "--strategy=search",
                          f"--proposals={options.proposals}", f"--seed={turn + 1}",
                          f"--export-strategy={strategy}", *cost,
                          show=turn + 1 == options.searches)
            for so in (one, two):
                profiles.append(tools.work / f"{model}.{so.stem}.{turn}.profile.json")
                with tools.priority():
                    tools.run("bin/soap-run", so, f"--profile-ops={profiles[-1]}",
                              "--iterations=5", show=False)
            merge_costs(profiles, costs)
            cost = [f"--cost={costs}"]
        tools.run("bin/soap-run", two, f"--compare={one}")
        table = tools.run("bin/soap-compile", LIGHT / f"light_{model}.onnx", WEIGHTS, *shared,
                          "--devices=2", f"--strategy={strategy}", *cost,
                          "--emit=strategy", "-o", tools.work / "batch1.mlir",
                          "--print-strategy", f"--export-strategy={strategy}", show=False)
        tools.run("bin/soap-compile", LIGHT / f"light_{model}.onnx", WEIGHTS, *shared,
                  "--devices=2", "--strategy=single", *cost, "--emit=strategy", "-o",
                  tools.work / "batch1.mlir", f"--export-strategy={files['one.json']}",
                  show=False)
        simulated = [simulated_ms(files["one.json"]), simulated_ms(strategy)]
        measured = alternate(options.rounds, lambda: tools.steps(one, 5),
                             lambda: tools.steps(two, 5))
        for what, (a, b) in (("simulated", simulated),
                             ("measured", [m for m, _ in measured]),
                             ("measured, minimum", [low for _, low in measured])):
            rows.append([model, what, f"{a:.2f}", f"{b:.2f}", f"{a / b:.2f}"])
        notes += [f"{model}: {count} nn.{kind} split by {loops}"
                  if loops != "not split" else f"{model}: {count} nn.{kind} not split"
                  for (kind, loops), count in splits_of(table).most_common()]
    tools.table("Batch 1, ms per step", ["model", "", "1 device", "2 devices", "speedup"],
                rows)
    print("\n".join(notes))


if __name__ == "__main__":
    main()
