"""Steps of SOAP beside those of onnxruntime and OpenVINO, in turn, on the same file, inputs and cores.

  python -m peers list
  python -m peers run [--only=REGEX] [--batch=1,8] [--cores=0]   goes on where it was stopped
  python -m peers run --again --label=before                     measures rows again, under a name of their own
  python -m peers table [--clock=cpu]                            medians of all rows, with intervals
  python -m peers profile [--only=REGEX]                         time by class of kernel, beside the machine's limit

benchmarks/peers/setup.sh makes the environment; SOAP is the build in build/release. Nothing is asserted: a row is what
was measured. Intervals hold the median of a turn with a probability of 95%. The clock "cpu" counts processor time of
the whole process, which other programs disturb less; "difference" compares outputs with SOAP's.
"""

import argparse
import os
import pathlib
import re

from .measuring import measure_row, row_name
from .networks import NAMES, ROOT
from .profile import limits, print_profile
from .table import State, print_table

ENGINES = ("soap", "onnxruntime", "openvino")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("list", "run", "table", "profile"))
    parser.add_argument("--only", default="", metavar="REGEX", help="networks")
    parser.add_argument("--batch", default="1", help="samples per step, separated by commas")
    parser.add_argument("--rounds", type=int, default=7, help="turns of every engine")
    parser.add_argument("--cores", default=str(min(os.sched_getaffinity(0))), help="of the one device, with commas")
    parser.add_argument("--engines", default=",".join(ENGINES), metavar="NAMES",
                        help="soap+--no-fuse is SOAP with an option of the compiler (more with more +), "
                             "openvino+INFERENCE_PRECISION_HINT=bf16 is OpenVINO with a property")
    parser.add_argument("--again", action="store_true", help="measure rows that are there")
    parser.add_argument("--label", default="", help="part of the name of rows, to compare builds")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--least", action="store_true",
                        help="print the shortest turns, not medians: for a machine whose speed changes by itself")
    parser.add_argument("--keep", action="store_true", help="keep the models with their weights")
    parser.add_argument("--compile", action="append", default=[], metavar="OPTION", help="an option of soap-compile")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/peers/work")
    arguments = parser.parse_args()
    arguments.cores = [int(core) for core in arguments.cores.split(",")]
    arguments.batches = [int(batch) for batch in arguments.batch.split(",")]
    arguments.engines = arguments.engines.split(",")
    arguments.work.mkdir(parents=True, exist_ok=True)
    return arguments


def main():
    arguments = parse()
    state = State(arguments.work)
    rows = [(name, batch) for batch in arguments.batches for name in NAMES if re.search(arguments.only, name)]
    if arguments.what == "list":
        print("\n".join(NAMES))
    elif arguments.what == "run":
        known = state.records()
        for name, batch in rows:
            if row_name(name, batch, arguments) in known and not arguments.again:
                continue
            record = measure_row(name, batch, arguments)
            state.add(record)
            print_table([record], arguments.engines, arguments.clock, arguments.least)
    elif arguments.what == "table":
        known = state.records()
        names = [row_name(name, batch, arguments) for name, batch in rows]
        print_table([known[name] for name in names if name in known], arguments.engines, arguments.clock,
                    arguments.least)
    else:
        machine = limits()
        for name, batch in rows:
            print_profile(name, batch, arguments, machine)


if __name__ == "__main__":
    main()
