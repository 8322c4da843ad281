"""Compares simulated steps under the strategy `single`: product_times.py REPORT.json...

Prints of each report, which is called as its precision, what its products multiply and
whether its step is faster than that of the report before."""

import json
import pathlib
import sys

before = None
for path in map(pathlib.Path, sys.argv[1:]):
    report = json.loads(path.read_text())
    ns = next(row["step_ns"] for row in report["strategies"] if row["name"] == "single")
    relation = ("" if before is None else " as fast" if ns == before
                else " faster" if ns < before else " slower")
    print(path.stem, report["products"], relation.strip())
    before = ns
