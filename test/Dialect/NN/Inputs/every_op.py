"""Fails if an operation of the nn dialect has no test of its partition spec: a
line `CHECK-LABEL: name: nn.op` in one of the files.

usage: every_op.py FOLDER_WITH_TABLEGEN TEST.mlir...
"""

import pathlib
import re
import sys

folder, *tests = sys.argv[1:]
defined = set()
for file in pathlib.Path(folder).glob("NN*Ops.td"):
    defined |= set(re.findall(r'^def \w+Op\s*:\s*NN_\w*Op<"(\w+)"', file.read_text(), re.M))
checked = set()
for pattern in tests:
    path = pathlib.Path(pattern)
    for file in path.parent.glob(path.name):
        checked |= set(re.findall(r"CHECK-LABEL: \S+: nn\.(\w+)", file.read_text()))
missing = sorted(defined - checked)
if len(defined) < 20 or missing:
    sys.exit(f"{len(defined)} operations, without a test of their partition spec: "
             f"{', '.join(missing)}; add cases to partition-spec-config.mlir")
print(f"{len(defined)} operations, each with a test of its partition spec")
