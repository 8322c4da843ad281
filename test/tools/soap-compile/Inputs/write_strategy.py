"""Writes a strategy of branches.mlir.

usage: write_strategy.py FILE.json elsewhere|kept|again|home
"""

import json
import pathlib
import sys

path, name = sys.argv[1:]


def op(name, devices, regather=(), replicate=1, **degrees):
    entry = {"op": name, "degrees": degrees, "devices": devices}
    if regather:
        entry["regather"] = list(regather)
    if replicate > 1:
        entry["replicate"] = replicate
    return entry


everything = op(".*", [0])
ops = {
    # Nobody computes on device 2; w is cut along both dimensions.
    "elsewhere": [everything, op("c[12]", [0, 1], n=2), op("k", [2]),
                  op("w", [1, 0, 2, 1], d0=2, d1=2), op("m[12]", [1, 0], n=2)],
    "kept": [everything, op("m[12]", [0, 1], n=2), op("w", [0, 1], d0=2)],
    "again": [everything, op("m1", [0, 1], n=2, regather=["w"]),
              op("m2", [0, 1], n=2, regather=[1]), op("w", [0, 1], d0=2)],
    # m1 in parts; t1 reads rows of it, t2 columns.
    "home": [everything, op("m1", [0, 1], k=2), op("t1", [0, 1], d0=2),
             op("t2", [0, 1], d1=2)],
}[name]
pathlib.Path(path).write_text(json.dumps({"ops": ops}, indent=1))
