"""Shuffles the operations of @main of a partitioned module: any order in which
an operation follows those that it reads.

usage: shuffle_tasks.py FROM.mlir TO.mlir SEED
"""

import pathlib
import random
import re
import sys

source, target, seed = sys.argv[1:]
lines = pathlib.Path(source).read_text().splitlines()
begin = next(i for i, line in enumerate(lines) if "func.func @main" in line) + 1
end = next(i for i in range(begin, len(lines)) if lines[i].strip() == "return")
indent = len(lines[begin]) - len(lines[begin].lstrip())

# An operation begins at the block's indentation; a closing brace ends one.
operations = []
for line in lines[begin:end]:
    if line.startswith(" " * indent) and line[indent] not in " })":
        operations.append([])
    operations[-1].append(line)


def results(operation):
    names, equals, _ = operation[0].partition(" = ")
    return re.findall(r"%\w+", names) if equals and names.strip()[0] == "%" else []


def operands(operation):
    # Inside of a region everything is made there.
    made = set(results(operation))
    text = operation[0].partition(" = ")[2] if made else operation[0]
    if len(operation) > 1:
        text = text.partition(" -> ")[0]
        text = re.sub(r"%\w+ = (%\w+)", r"\1", text)
    return set(re.findall(r"%\w+", text)) - made


maker = {name: i for i, op in enumerate(operations) for name in results(op)}
waiting = [{maker[name] for name in operands(op)} for op in operations]
generator = random.Random(int(seed))
order, launched = [], set()
while len(order) < len(operations):
    ready = [i for i in range(len(operations))
             if i not in launched and waiting[i] <= launched]
    chosen = generator.choice(ready)
    launched.add(chosen)
    order.append(chosen)
assert sorted(order) == list(range(len(operations)))
moved = sum(a != b for a, b in enumerate(order))
shuffled = [line for i in order for line in operations[i]]
pathlib.Path(target).write_text(
    "\n".join(lines[:begin] + shuffled + lines[end:]) + "\n")
print(f"{moved} of {len(operations)} operations moved")
