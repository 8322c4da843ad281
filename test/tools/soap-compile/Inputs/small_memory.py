"""Copies a topology file, its devices with little memory: 64 bytes, or the
largest planned peak in a file of soaprt programs and MORE bytes.

usage: small_memory.py FROM.json TO.json [PLAN.mlir MORE [slow]]

slow: with links of 1 MB/s.
"""

import json
import pathlib
import re
import sys

memory = 64
if len(sys.argv) > 3:
    plan = pathlib.Path(sys.argv[3]).read_text()
    peaks = map(int, re.findall(r"soaprt\.device .* peak (\d+)", plan))
    memory = max(peaks) + int(sys.argv[4])
topology = json.loads(pathlib.Path(sys.argv[1]).read_text())
for device in topology["devices"]:
    if "memory_bytes" in device:
        device["memory_bytes"] = memory
if sys.argv[5:] == ["slow"]:
    for link in topology["links"]:
        link["bandwidth_bytes_per_s"] = 1e6
pathlib.Path(sys.argv[2]).write_text(json.dumps(topology))
