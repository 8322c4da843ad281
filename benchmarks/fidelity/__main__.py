"""How good simulations on measured costs are: strategies of networks, simulated and run.

  python -m fidelity run [--only=REGEX] [--runs=N] [--tune=SECONDS]   rows that are not there yet, into build/fidelity
  python -m fidelity table [--only=REGEX] [--strategies]               what is there, as Markdown
  python -m fidelity simulate [--only=REGEX]                           simulates them again, with another build
  python -m fidelity list                                              the rows
  python -m fidelity products [--runs=N]                               a product split by samples and by channels

Run it with PYTHONPATH=benchmarks and build/venv/bin/python, after a build in build/release, on a quiet machine with two
cores. A row is NETWORK.BATCH[.slow|.train]: ten strategies on two devices of one core. Their kernels are measured first
(soap-compile --cost=measured); then all are compiled again on what is known, and run in turn, in an order that is
shuffled again and again. Kernels are measured again in between, and steps simulated on these, too: what the error loses
by that is what the machine changed meanwhile. Runs that measure kernels and runs that measure steps are never the same.
A row that was ended goes on where it was. Kernels are kept in build/fidelity/kept, calibrations too.
"""

import argparse
import os
import pathlib
import re
import statistics
import sys

from .products import print_products
from .rows import NAMED, RESULTS, ROOT, all_rows, drift, interval, write


def tau(pairs):
    """Kendall's, over pairs of strategies whose measured steps differ by more than 5%; None if there are none."""
    total, count = 0, 0
    for i, (measured, simulated) in enumerate(pairs):
        for other, simulated_other in pairs[:i]:
            if abs(measured / other - 1) <= 0.05:
                continue
            agree = (measured - other) * (simulated - simulated_other)
            total += (agree > 0) - (agree < 0)
            count += 1
    return total / count if count else None


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


# Simulated steps: on kernels that were measured before; on medians of those of all strategies, measured in turn with the
# steps, so that both have seen the machine at the same times; on such medians of the strategy alone.
SIMULATED = {"simulated_ms": "before", "in_turn_ms": "in turn", "own_ms": "of the strategy"}


def summarize(row, result):
    ten = [s for s in result["strategies"] if s["name"] != "tuned"]
    measured = {s["name"]: interval(s["runs"]) for s in result["strategies"]}
    kinds = {}
    for kind in SIMULATED:
        if all(kind in s for s in ten):
            pairs = [(measured[s["name"]][0], s[kind]) for s in ten]
            kinds[kind] = ([abs(simulated / median - 1) for median, simulated in pairs], tau(pairs))
    best = min(NAMED, key=lambda name: measured[name][0])
    return {"row": row.name, "kinds": kinds, "best": best, "measured": measured, "strategies": result["strategies"],
            "drift": statistics.median(drift(s["runs"]) for s in ten), "measuring": result["measuring"]}


def shown(values):
    return "{:.2f} ({:.2f} to {:.2f})".format(*values)


def number(value):
    return "-" if value is None else f"{value:.2f}"


def errors_of(summary):
    """Mean and 95th percentile of the error and Kendall's tau, for each kind of simulation."""
    cells = []
    for kind in SIMULATED:
        errors, ranks = summary["kinds"].get(kind, (None, None))
        cells.append(f"{statistics.mean(errors):.1%}, {percentile(errors, 0.95):.1%}, {number(ranks)}" if errors else "-")
    return " | ".join(cells)


def print_table(rows, strategies):
    summaries = [summarize(row, row.result()) for row in rows if row.result()]
    print("Mean error, 95th percentile and Kendall's tau, by the kernels that are simulated.\n")
    print("| row | " + " | ".join(f"kernels measured {name}" for name in SIMULATED.values()) + " | found, ms | "
          "best named, ms | tuned, ms | a strategy against itself | kernels measured | seconds |")
    print("|---" * (len(SIMULATED) + 7) + "|")
    for s in summaries:
        measured = s["measured"]
        print(f"| {s['row']} | {errors_of(s)} | {shown(measured['found'])} | {shown(measured[s['best']])} ({s['best']}) "
              f"| {shown(measured['tuned']) if 'tuned' in measured else '-'} | {s['drift']:.1%} | "
              f"{s['measuring']['kernels']} | {s['measuring']['seconds']:.0f} |")
    for kind, name in SIMULATED.items():
        errors = [error for s in summaries for error in s["kinds"].get(kind, ((), None))[0]]
        if errors:
            print(f"\nAll, kernels measured {name}: mean error {statistics.mean(errors):.1%}, 95th percentile "
                  f"{percentile(errors, 0.95):.1%}.")
    for s in summaries if strategies else ():
        print(f"\n{s['row']}\n\n| strategy | measured, ms | "
              + " | ".join(f"simulated, kernels {name}" for name in SIMULATED.values()) + " |")
        print("|---" * (len(SIMULATED) + 2) + "|")
        for strategy in s["strategies"]:
            values = s["measured"][strategy["name"]]
            cells = (f"{strategy[kind]:.2f} ({strategy[kind] / values[0] - 1:+.1%})" if kind in strategy else "-"
                     for kind in SIMULATED)
            print(f"| {strategy['name']} | {shown(values)} | {' | '.join(cells)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "table", "simulate", "list", "products"))
    parser.add_argument("--only", default="", metavar="REGEX", help="rows: NETWORK.BATCH[.slow|.train]")
    parser.add_argument("--runs", type=int, default=20, help="of every strategy")
    parser.add_argument("--iterations", type=int, default=7, help="steps of a run, whose median counts")
    parser.add_argument("--budget", type=float, default=60, metavar="SECONDS", help="of searching and measuring")
    parser.add_argument("--tune", type=float, metavar="SECONDS", help="a strategy that was tuned, too")
    parser.add_argument("--strategies", action="store_true", help="tables of all strategies as well")
    parser.add_argument("--build-dir", type=pathlib.Path, default=ROOT / "build" / "release")
    arguments = parser.parse_args()
    arguments.environment = {**os.environ, "SOAP_CALIBRATION_DIR": str(RESULTS / "kept")}
    rows = [row for row in all_rows() if re.search(arguments.only, row.name)]
    if arguments.what == "table":
        print_table(rows, arguments.strategies)
    elif arguments.what == "list":
        print(*(row.name for row in rows), sep="\n")
    elif arguments.what == "products":
        print_products(arguments)
    elif arguments.what == "simulate":
        for row in rows:
            if result := row.result():
                row.simulate_all(arguments, result)
                write(row.file, result)
    else:
        (RESULTS / "kept").mkdir(parents=True, exist_ok=True)
        missing = [row for row in rows if not row.result()]
        for number, row in enumerate(missing, 1):
            print(f"{number} of {len(missing)}: {row.name}", file=sys.stderr, flush=True)
            row.run(arguments)


if __name__ == "__main__":
    main()
