"""Compares the memory that a report says a strategy takes with what is planned.

  planned_memory.py soap-compile TOPOLOGY.json MODEL.mlir OPTION... : STRATEGY...

The report has no scratchpads, no padding of buffers, and no copies that share
memory, so that it may be off by a few percent.
"""

import json
import re
import subprocess
import sys

tool, topology, *rest = sys.argv[1:]
split = rest.index(":")
arguments, strategies = rest[:split], rest[split + 1:]


def compile(*options):
    return subprocess.run([tool, *arguments, f"--topology={topology}", *options],
                          check=True, capture_output=True, text=True).stdout


report = json.loads(compile("--emit=report", "--json", "--strategy=single"))
said = {row["name"]: row["peak_memory_bytes"] for row in report["strategies"]}
for name in strategies:
    plan = compile("--emit=soaprt", f"--strategy={name}")
    planned = max(int(activations) + int(parameters) for activations, parameters in
                  re.findall(r"soaprt\.device .* activations (\d+) parameters (\d+)", plan))
    ratio = planned / said[name]
    print(f"{name}: planned {planned}, said {said[name]}: "
          f"{'close' if 0.9 < ratio < 1.02 else ratio}")
