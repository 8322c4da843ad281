"""Exports networks of torchvision, transformers, timm and plain PyTorch with both exporters, static and dynamic,
compiles them, and compares with onnxruntime.

  python -m exports list
  python -m exports run --jobs=2                    # goes on where it was stopped
  python -m exports run --only='bert|vit' --again=all
  python -m exports run --again=wrong               # what was refused or differs
  python -m exports table
"""

import argparse
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXPORT_SECONDS = 1200


def wanted(arguments, rows, records):
    """The rows to run now."""
    from .table import failed_early, outcome
    for row in rows:
        record = records.get(row.name)
        if arguments.only and not re.search(arguments.only, row.name):
            continue
        again = record is None or arguments.again in ("all", "exports")
        if not again and outcome(record) != "equal":
            again = arguments.again == "failed" or arguments.again == "wrong" and not failed_early(record)
        if again:
            yield row


def run_row(row, arguments):
    """One row: the export, unless there is one already, onnxruntime, and the compilations."""
    from .checking import check
    from .exporting import export, reference
    from .processes import call
    folder = arguments.work / "rows" / row.name
    folder.mkdir(parents=True, exist_ok=True)
    record = {"row": row.name, "opset": row.opset}
    kept = folder / "ort.json"
    if arguments.again == "exports":
        kept.unlink(missing_ok=True)
    if not kept.exists():
        steps = (("exported", lambda: export(row, folder)), ("runs", lambda: reference(folder)))
        for step, function in steps:
            result = call(function, EXPORT_SECONDS, folder / f"{step}.log")
            record[step] = result.ok
            if not result.ok:
                return record | {"reason": result.reason}
    record["exported"] = record["runs"] = True
    check(arguments.build_dir / "bin", folder, record)
    return record


def work(rows, arguments, state):
    from .table import outcome, reason
    for row in rows:
        record = run_row(row, arguments)
        state.add(record)
        print(f"{row.name:45} {outcome(record):24} {reason(record)[:160]}", flush=True)


def run(arguments):
    from .rows import State, all_rows
    state = State(arguments.work)
    arguments.work.mkdir(parents=True, exist_ok=True)
    import torch
    torch.set_num_threads(1)  # So that a fork misses no thread.
    from .exporting import load_libraries
    from .networks import NETWORKS
    load_libraries()
    rows = list(wanted(arguments, all_rows(NETWORKS), state.records()))
    workers = []
    for job in range(arguments.jobs):
        pid = os.fork()
        if pid == 0:
            work(rows[job::arguments.jobs], arguments, state)
            os._exit(0)
        workers.append(pid)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in workers]
    sys.exit(1 if any(codes) else 0)


def table(arguments):
    from .rows import State
    from .networks import NETWORKS
    from .table import markdown
    libraries = {network.name: network.library for network in NETWORKS.values()}
    print(markdown(State(arguments.work).records(), libraries))


def list_networks(arguments):
    from .networks import NETWORKS
    for network in NETWORKS.values():
        print(f"{network.name:45} {network.library}")


def main():
    parser = argparse.ArgumentParser(prog="python -m exports", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "exports",
                        help="folder of the exports and of the state (default: build/exports)")
    commands = parser.add_subparsers(required=True)
    commands.add_parser("list", help="print the networks").set_defaults(function=list_networks)
    runs = commands.add_parser("run", help="run rows that were not run yet")
    runs.set_defaults(function=run)
    runs.add_argument("--only", metavar="REGEX", help="rows, as NETWORK.EXPORTER.SHAPES")
    runs.add_argument("--again", choices=("none", "wrong", "failed", "all", "exports"),
                      default="none", help="wrong: those that were refused or differ; failed: also those that were not "
                      "exported or that onnxruntime did not run; exports: all, and export them again")
    runs.add_argument("--jobs", type=int, default=1)
    runs.add_argument("--build-dir", type=pathlib.Path, default=ROOT / "build" / "release")
    commands.add_parser("table", help="print the table as Markdown").set_defaults(function=table)
    arguments = parser.parse_args()
    arguments.function(arguments)


if __name__ == "__main__":
    main()
