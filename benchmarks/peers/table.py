"""Tables of what was measured."""

import json
import math
import os
import statistics

from .measuring import first_soap


class State:
    """A file with one line of JSON per row; of several for one row the last counts."""

    def __init__(self, folder):
        self.path = folder / "rows.jsonl"

    def records(self):
        if not self.path.exists():
            return {}
        return {record["row"]: record for record in map(json.loads, self.path.read_text().splitlines())}

    def add(self, record):
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        os.write(file, (json.dumps(record) + "\n").encode())
        os.close(file)


def interval(values):
    """The order statistics between which the median lies with a probability of 95% or more, or the range."""
    ordered, n = sorted(values), len(values)
    below, rank = 0.0, 0
    while rank < n // 2:
        below += math.comb(n, rank) / 2**n
        if below > 0.025:
            break
        rank += 1
    rank = max(rank - 1, 0)
    return ordered[rank], ordered[n - 1 - rank]


def cell(values, least):
    if least:
        return f"{min(values):.{2 if min(values) < 100 else 0}f}"
    low, high = interval(values)
    digits = 2 if high < 100 else 0
    return f"{statistics.median(values):.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def print_table(records, engines, clock, least=False):
    """`clock` is wall or cpu. The last but one column is the fastest peer over the first SOAP, turn by turn: above 1, SOAP
    is faster. Where all engines are SOAP, the others are its peers. `least`: the shortest turns in place of medians."""
    ours = first_soap(engines)
    others = [engine for engine in engines if not engine.startswith("soap")] or [e for e in engines if e != ours]
    print(f"| network | batch | {' | '.join(engines)} | best peer / soap | difference |")
    print("|---" * (len(engines) + 4) + "|")
    ratios = []
    for record in records:
        cells, medians, differences = [], {}, []
        for engine in engines:
            found = record["engines"].get(engine, {"error": "not run"})
            if "error" in found:
                cells.append(found["error"])
                continue
            cells.append(cell(found[clock], least))
            medians[engine] = min(found[clock]) if least else statistics.median(found[clock])
            if found["difference"] is not None:
                differences.append(found["difference"])
        peer = min((engine for engine in medians if engine in others), key=medians.get, default=None)
        ratio = None
        if peer and ours in medians:
            turns = zip(record["engines"][peer][clock], record["engines"][ours][clock])
            ratio = medians[peer] / medians[ours] if least else statistics.median(a / b for a, b in turns)
            ratios.append(ratio)
        print(f"| {record['network']} | {record['batch']} | {' | '.join(cells)} | {f'{ratio:.2f}' if ratio else ''} | "
              f"{f'{max(differences):.1e}' if differences else ''} |")
    if ratios:
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        print(f"| **geometric mean** |{' |' * (len(engines) + 1)} **{mean:.2f}** | |")
