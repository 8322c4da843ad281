"""Rows of the table: which there are, and a state file that keeps what was found."""

import dataclasses
import json
import os
import pathlib

# Operator sets that the exporter of torch.export writes; rows take them in turn.
OPSETS = range(18, 24)
TORCHSCRIPT_OPSET = 17
# Batch and steps of what is exported. A model with dynamic shapes is compiled for others, which
# two devices cannot share evenly.
EXPORTED, COMPILED = (2, 8), (3, 11)


@dataclasses.dataclass(frozen=True)
class Row:
    network: str
    exporter: str
    shapes: str
    opset: int

    @property
    def name(self):
        return f"{self.network}.{self.exporter}.{self.shapes}"

    @property
    def compiled_sizes(self):
        return COMPILED if self.shapes == "dynamic" else EXPORTED


def all_rows(networks):
    """Every network with both exporters, with static and dynamic shapes; first every network once, then every network
    in another way, so that a part of the table says much."""
    ways = (("dynamo", "static"), ("torchscript", "dynamic"), ("dynamo", "dynamic"), ("torchscript", "static"))
    rows = []
    for exporter, shapes in ways:
        for index, network in enumerate(networks):
            opset = TORCHSCRIPT_OPSET
            if exporter == "dynamo":
                # Half the range apart, so that a network is seen with two.
                half = len(OPSETS) // 2 if shapes == "dynamic" else 0
                opset = OPSETS[(index + half) % len(OPSETS)]
            rows.append(Row(network, exporter, shapes, opset))
    return rows


class State:
    """One line of JSON per row; of several for one row the last counts."""

    def __init__(self, folder):
        self.path = pathlib.Path(folder) / "rows.jsonl"

    def records(self):
        if not self.path.exists():
            return {}
        records = map(json.loads, self.path.read_text().splitlines())
        return {record["row"]: record for record in records}

    def add(self, record):
        """Appends in one write, so that several processes may add rows."""
        line = (json.dumps(record) + "\n").encode()
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            os.write(file, line)
        finally:
            os.close(file)
