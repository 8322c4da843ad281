"""Checks the rows of soap-compile --emit=report --json: shares, sums and gaps
agree, no step is shorter than the lower bound. Prints the names of the rows, and
of those that do not fit into memory."""

import json
import math
import sys

report = json.load(open(sys.argv[1]))
rows, bound = report["strategies"], report["lower_bound"]
parts = [bound[part] for part in
         ("work_ns", "path_ns", "communication_ns", "mixed_ns")]
assert 0 < bound["step_ns"] == max(parts), bound
for row in rows:
    assert row["step_ns"] >= bound["step_ns"], (row, bound)
    assert math.isclose(row["gap"], row["step_ns"] / bound["step_ns"] - 1,
                        abs_tol=1e-6), row
    assert row["mean_compute_ns"] <= row["compute_ns"] <= row["step_ns"], row
    assert abs((1 - row["idle_share"]) * row["step_ns"] -
               row["mean_compute_ns"]) <= 1, row
    assert (row["communication_ns"] > 0) == (row["communication_bytes"] > 0), row
    assert row["peak_memory_bytes"] > 0, row
if rows[-1]["name"] == "found":
    assert rows[-1]["fits"]
    assert rows[-1]["step_ns"] == min(r["step_ns"] for r in rows if r["fits"])
print(*[row["name"] for row in rows])
print("does not fit:",
      *[row["name"] for row in rows if not row["fits"]] or ["none"])
