"""Fails if two files list different movements; their order does not count.

usage: same_movements.py PLANNED.json COUNTED.json
"""

import json
import pathlib
import sys


def movements(path):
    listed = json.loads(pathlib.Path(path).read_text())["movements"]
    return sorted((m["phase"], m["kind"], m["devices"], m["bytes"]) for m in listed)


planned, counted = map(movements, sys.argv[1:])
if planned != counted:
    sys.exit(f"planned {len(planned)} movements, got {len(counted)}: "
             f"{[m for m in planned if m not in counted]} against "
             f"{[m for m in counted if m not in planned]}")
print(f"the same {len(planned)} movements")
