"""Runs four.so on 1 to 4 processes and prints nothing if every one equals
one.so, moves what is planned, and every process runs its own devices.

  check_processes.py PLANNED.json MPIRUN..."""

import json
import pathlib
import subprocess
import sys


def sort(movements):
    return sorted((m["phase"], m["kind"], tuple(m["devices"]), tuple(m["bytes"]))
                  for m in movements)


planned = pathlib.Path(sys.argv[1])
folder = planned.parent
expected = sort(json.loads(planned.read_text())["movements"])
assert any(m[0] == "step" for m in expected)
devices = {1: [[0, 1, 2, 3]], 2: [[0, 1], [2, 3]], 3: [[0, 1], [2], [3]],
           4: [[0], [1], [2], [3]]}


def run(*command):
    return json.loads(subprocess.run(
        [*map(str, command), folder / "four.so", f"--compare={folder / 'one.so'}",
         "--iterations=2", "--json"], check=True, stdout=subprocess.PIPE).stdout)


# What one process does, device by device.
alone = run("soap-run")["processes"]
assert len(alone) == 1 and alone[0]["devices"] == devices[1][0]
for ranks, owned in devices.items():
    report = run(*sys.argv[2:], ranks, "soap-run", "--transport=mpi")
    processes = report["processes"]
    assert report["equal"] and report["devices"] == 4
    assert sort(report["movements"]) == expected
    assert [p["rank"] for p in processes] == list(range(ranks))
    assert len({p["pid"] for p in processes}) == ranks
    assert [p["devices"] for p in processes] == owned, processes
    # Memory and rows are those of one process, divided.
    for what in ("arena_bytes", "rows_run"):
        assert all(p[what] > 0 for p in processes)
        assert sum(p[what] for p in processes) == alone[0][what], (what, processes)
