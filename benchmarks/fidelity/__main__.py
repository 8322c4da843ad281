"""How good simulations on measured costs are: strategies of networks, simulated and run.

  python -m fidelity run [--only=REGEX] [--runs=N] [--tune=SECONDS]   rows that are not there yet, into build/fidelity
  python -m fidelity table [--only=REGEX] [--strategies]               what is there, as Markdown
  python -m fidelity list                                              the rows
  python -m fidelity products [--runs=N]                               a product split by samples and by channels

Run it with PYTHONPATH=benchmarks and build/venv/bin/python, after a build in build/release, on a quiet machine with two
cores. A row is NETWORK.BATCH[.slow]: ten strategies on two devices of one core. Their kernels are measured first
(soap-compile --cost=measured); then all are compiled again on what is known, and run in turn, in an order that is
shuffled again and again. Runs that measure kernels and runs that measure steps are never the same. A row that was
ended goes on where it was. Kernels are kept in build/fidelity/kept, calibrations too.
"""

import argparse
import os
import pathlib
import re
import statistics
import sys

from .products import print_products
from .rows import NAMED, RESULTS, ROOT, all_rows, drift, interval


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


def summarize(row, result):
    strategies = {s["name"]: (s["simulated_ms"], *interval(s["runs"]), drift(s["runs"]))
                  for s in result["strategies"]}
    ten = {name: values for name, values in strategies.items() if name != "tuned"}
    errors = [abs(simulated / median - 1) for simulated, median, *_ in ten.values()]
    ranks = tau([(values[1], values[0]) for values in ten.values()])
    best = min(NAMED, key=lambda name: ten[name][1])
    return {"row": row.name, "errors": errors, "tau": ranks, "best": best, "strategies": strategies,
            "found": ten["found"], "named": ten[best], "tuned": strategies.get("tuned"),
            "drift": statistics.median(values[4] for values in ten.values()), "measuring": result["measuring"]}


def shown(values):
    return f"{values[1]:.2f} ({values[2]:.2f} to {values[3]:.2f})"


def print_table(rows, strategies):
    summaries = [summarize(row, row.result()) for row in rows if row.result()]
    print("| row | mean error | 95th percentile | Kendall's tau | found, ms | best named, ms | tuned, ms | "
          "a strategy against itself | kernels measured | seconds |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for s in summaries:
        print(f"| {s['row']} | {100 * statistics.mean(s['errors']):.1f}% | {100 * percentile(s['errors'], 0.95):.1f}% | "
              f"{'-' if s['tau'] is None else format(s['tau'], '.2f')} | {shown(s['found'])} | "
              f"{shown(s['named'])} ({s['best']}) | {shown(s['tuned']) if s['tuned'] else '-'} | "
              f"{100 * s['drift']:.1f}% | {s['measuring']['kernels']} | {s['measuring']['seconds']:.0f} |")
    if summaries:
        errors = [error for s in summaries for error in s["errors"]]
        print(f"\nAll: mean error {100 * statistics.mean(errors):.1f}%, 95th percentile "
              f"{100 * percentile(errors, 0.95):.1f}%.")
    for s in summaries if strategies else ():
        print(f"\n{s['row']}\n\n| strategy | simulated, ms | measured, ms | error |\n|---|---|---|---|")
        for name, values in s["strategies"].items():
            print(f"| {name} | {values[0]:.2f} | {shown(values)} | {100 * (values[0] / values[1] - 1):+.1f}% |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "table", "list", "products"))
    parser.add_argument("--only", default="", metavar="REGEX", help="rows: NETWORK.BATCH[.slow]")
    parser.add_argument("--runs", type=int, default=20, help="of every strategy")
    parser.add_argument("--iterations", type=int, default=7, help="steps of a run, whose median counts")
    parser.add_argument("--budget", type=float, default=60, metavar="SECONDS", help="of searching and measuring")
    parser.add_argument("--tune", type=float, metavar="SECONDS", help="a strategy that was tuned, too")
    parser.add_argument("--strategies", action="store_true", help="tables of all strategies as well")
    parser.add_argument("--build-dir", type=pathlib.Path, default=ROOT / "build" / "release")
    arguments = parser.parse_args()
    rows = [row for row in all_rows() if re.search(arguments.only, row.name)]
    if arguments.what == "table":
        print_table(rows, arguments.strategies)
    elif arguments.what == "list":
        print(*(row.name for row in rows), sep="\n")
    elif arguments.what == "products":
        arguments.environment = {**os.environ, "SOAP_CALIBRATION_DIR": str(RESULTS / "kept")}
        print_products(arguments)
    else:
        (RESULTS / "kept").mkdir(parents=True, exist_ok=True)
        arguments.environment = {**os.environ, "SOAP_CALIBRATION_DIR": str(RESULTS / "kept")}
        missing = [row for row in rows if not row.result()]
        for number, row in enumerate(missing, 1):
            print(f"{number} of {len(missing)}: {row.name}", file=sys.stderr, flush=True)
            row.run(arguments)


if __name__ == "__main__":
    main()
