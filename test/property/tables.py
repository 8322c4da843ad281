"""Counts what the cases of a run exercised, and what none did."""

import collections

# The rows of the communication plan's table (docs/Partition.md), and more that
# a strategy may say.
ROWS = ["local", "local reduction", "broadcast", "all_gather", "all_to_all",
        "halo_exchange", "all_reduce", "reduce_scatter", "home layout", "transfer",
        "feed", "drain"]
USES = ["launch order", "regather", "replicate", "repeated devices",
        "permuted devices", "partial results", "split parameter",
        "parameter elsewhere"]


class Coverage:
    def __init__(self):
        # "OPERATION LOOP" to how often it was split evenly, unevenly, and how
        # often it could have been.
        self.loops = {}
        self.parts = set()  # Operations that were part of a fused one.
        self.rows, self.uses = collections.Counter(), collections.Counter()
        self.operators = collections.Counter()

    def add(self, coverage):
        for loop, counts in coverage["loops"].items():
            known = self.loops.setdefault(loop, [0, 0, 0, 0])
            for i, count in enumerate(counts):
                known[i] += count
        self.parts.update(coverage["parts"])
        self.rows.update(coverage["rows"])
        self.uses.update(coverage["uses"])

    def merge(self, other):
        self.add({"loops": other.loops, "parts": other.parts, "rows": other.rows,
                  "uses": other.uses})
        self.operators.update(other.operators)

    def add_graph(self, graph):
        self.operators.update(node.op_type for node in graph.model.graph.node)

    def unsplit(self):
        """Loops that could be split evenly (unevenly) and never were: (loop, True
        or False)."""
        return [(loop, even) for loop, counts in sorted(self.loops.items())
                for even, done, could in ((True, counts[0], counts[2]),
                                          (False, counts[1], counts[3]))
                if could and not done]

    def missing(self, operators, operations):
        """What should have occurred and did not."""
        lines = [f"operator {name}" for name in operators if not self.operators[name]]
        seen = {loop.split()[0] for loop in self.loops} | self.parts
        lines += [f"operation {name}" for name in operations if name not in seen]
        lines += [f"row {name}" for name in ROWS if not self.rows[name]]
        lines += [f"use {name}" for name in USES if not self.uses[name]]
        lines += [f"loop {loop} split {'evenly' if even else 'unevenly'}"
                  for loop, even in self.unsplit()]
        return lines

    def print(self):
        print("\nONNX operators:")
        print_columns([f"{name} {count}" for name, count in
                       sorted(self.operators.items())])
        print("\nloops that were split (nodes that could: evenly, unevenly):")
        print_columns([f"{loop} ({nodes}: {even}, {uneven})" for loop,
                       (even, uneven, nodes, _) in sorted(self.loops.items())])
        print("\ncommunication plans:")
        print_columns([f"{name} {self.rows[name]}" for name in ROWS])
        print("\nstrategies:")
        print_columns([f"{name} {self.uses[name]}" for name in USES], flush=True)


def print_columns(texts, width=100, flush=False):
    cell = max(map(len, texts), default=0) + 2
    columns = max(1, width // cell)
    for i in range(0, len(texts), columns):
        print("  " + "".join(text.ljust(cell) for text in texts[i:i + columns]).rstrip(),
              flush=flush)
