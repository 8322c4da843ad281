"""Writes copies of a strategy file, each with one mistake: FILE-MISTAKE.json.

usage: break_strategy.py FILE.json
"""

import copy
import json
import pathlib
import sys

path = pathlib.Path(sys.argv[1])
strategy = json.loads(path.read_text())
for name, change in {
    "loop": {"degrees": {"q": 2}},
    "degree": {"degrees": {"n": 200}, "devices": [0] * 200},
    "device": {"devices": [0, 7]},
    "regather": {"regather": ["nothing"]},
    "replicate": {"replicate": 0},
    "host": {"degrees": {}, "devices": ["host"]},
}.items():
    broken = copy.deepcopy(strategy)
    for entry in broken["ops"]:
        if entry["op"] == "fc":
            entry.update(change)
    path.with_name(f"{path.stem}-{name}.json").write_text(json.dumps(broken))

missing = [entry for entry in strategy["ops"] if entry["op"] != "fc"]
texts = {
    "missing": json.dumps({**strategy, "ops": missing}),
    "syntax": '{"ops": [',
    "type": '{"ops": 3}',
    "deep": '{"ops": ' + "[" * 1000000,
    "twice": '{"ops": [{"op": ".*",\n "devices": [0], "devices": [1]}]}',
}
for name, text in texts.items():
    path.with_name(f"{path.stem}-{name}.json").write_text(text)
