"""Edits a strategy of branches.mlir as a user would: one entry by name, two by a
regular expression, the order left to the graph.

usage: edit_strategy.py FROM.json TO.json
"""

import json
import pathlib
import sys

source, target = map(pathlib.Path, sys.argv[1:])
strategy = json.loads(source.read_text())
for entry in strategy["ops"]:
    if entry["op"] == "c1":
        entry.clear()
        entry.update({"op": "c1", "degrees": {"h": 3}, "devices": [2, 0, 1]})
strategy["ops"].append({"op": "t[12]", "degrees": {"d0": 2}, "devices": [1, 1]})
strategy["order"] = "graph"
target.write_text(json.dumps(strategy))
