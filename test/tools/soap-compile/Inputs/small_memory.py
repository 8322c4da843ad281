"""Copies a topology file, its devices with 64 bytes of memory.

usage: small_memory.py FROM.json TO.json
"""

import json
import pathlib
import sys

topology = json.loads(pathlib.Path(sys.argv[1]).read_text())
for device in topology["devices"]:
    if "memory_bytes" in device:
        device["memory_bytes"] = 64
pathlib.Path(sys.argv[2]).write_text(json.dumps(topology))
