"""scripts/gpu-check.sh: see there."""

import argparse
import json
import os
import pathlib
import re
import sys

from checks import all_checks
from figures import all_figures, print_figures
from machine import Machine, NoGpu
from runner import Results, print_table, run_items, summarize

FAILED, USAGE, NO_GPU, TIME_IS_UP = 1, 2, 3, 4
MINUTES = {"check": 15, "figures": 25}


def default_jobs():
    return max(1, min(8, (os.cpu_count() or 1) // 2))


def parse():
    parser = argparse.ArgumentParser(
        prog="gpu-check.sh", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Checks the target cuda on a machine with an NVIDIA GPU, and measures it.",
        epilog="Exit status: 0 all is well, 1 something failed, 2 wrong usage, 3 no GPU that\n"
               "can be used, 4 the time was up before the end.\n\n"
               "Example:\n  scripts/gpu-check.sh --pack=gpu-check.tar.xz\n"
               "  tar -xJf gpu-check.tar.xz && gpu-check/gpu-check.sh --check --figures")
    what = parser.add_argument_group("What to do")
    what.add_argument("--pack", metavar="FILE.tar.xz",
                      help="make the archive, from a build of SOAP")
    what.add_argument("--check", action="store_true", help="run every check")
    what.add_argument("--figures", action="store_true", help="measure every figure")
    what.add_argument("--list", action="store_true", help="print what these would run")
    how = parser.add_argument_group("How")
    how.add_argument("--results", default="gpu-check-results", metavar="FOLDER",
                     help="where results are kept (default: gpu-check-results); what has "
                     "one there is not run again unless it failed")
    how.add_argument("--only", default="", metavar="REGEX",
                     help="those whose name matches, as --list prints them")
    how.add_argument("--jobs", type=int, default=default_jobs(), metavar="N",
                     help="checks that run at a time (default: one per two cores, 8 at "
                     "most); figures never share the GPU")
    how.add_argument("--minutes", type=float, metavar="N",
                     help="stop after so long (default: 15 for --check, 25 for --figures)")
    pack = parser.add_argument_group("Packing")
    pack.add_argument("--build", default="build/release", metavar="FOLDER",
                      help="the build (default: build/release)")
    pack.add_argument("--kernels", type=int, default=120, metavar="N",
                      help="graphs of an operator each (default: 120)")
    pack.add_argument("--products", type=int, default=23, metavar="N",
                      help="graphs of products, in four precisions each (default: 23, all)")
    pack.add_argument("--strategies", type=int, default=200, metavar="N",
                      help="random strategies (default: 200)")
    pack.add_argument("--networks", default="all", metavar="NAME,...",
                      help="networks of the checks (default: all; none)")
    pack.add_argument("--measured", default="all", metavar="NAME,...",
                      help="networks of the figures (default: all; none; lenet5, which is "
                      "small, to try them)")
    pack.add_argument("--batches", default="1,64", metavar="N,...",
                      help="batch sizes of the figures (default: 1,64)")
    pack.add_argument("--precisions", default="tf32,bf16", metavar="NAME,...",
                      help="precisions of the figures: f32, tf32, bf16, f16 (default: "
                      "tf32,bf16)")
    arguments = parser.parse_args()
    if not (arguments.pack or arguments.check or arguments.figures or arguments.list):
        parser.error("expected --pack, --check, --figures or --list")
    try:
        arguments.only = re.compile(arguments.only)
    except re.error as error:
        parser.error(f"expected a regular expression with --only, got: {error}")
    return arguments


def read_manifest():
    root = pathlib.Path(__file__).resolve().parents[1]
    file = root / "manifest.json"
    if not file.exists():
        sys.exit(usage(f"expected to run in an archive, got: {root} without manifest.json; "
                       "make one with --pack=FILE.tar.xz and unpack it"))
    return root, json.loads(file.read_text())


def usage(message):
    print(f"error: {message}", file=sys.stderr)
    return USAGE


def selected(items, arguments):
    return [item for item in items if arguments.only.search(item[0])]


def describe(gpu):
    versions = [entry["name"] for entry in gpu.get("libraries", []) if "name" in entry]
    return ", ".join([gpu["name"], gpu["library"], *versions])


def main():
    arguments = parse()
    if arguments.pack:
        import pack  # Needs a build and its Python environment.
        return pack.make(arguments)
    root, manifest = read_manifest()
    machine = Machine(root)
    parts = [(kind, make(machine, manifest))
             for kind, make, wanted in (("check", all_checks, arguments.check),
                                        ("figures", all_figures, arguments.figures))
             if wanted or not (arguments.check or arguments.figures)]
    if arguments.list:
        for kind, items in parts:
            for name, _ in selected(items, arguments):
                print(f"--{kind} {name}")
        return 0
    try:
        gpu = machine.describe()
    except NoGpu as reason:
        print(f"gpu-check: no GPU that SOAP can use: {reason}", file=sys.stderr)
        return NO_GPU
    print(f"{describe(gpu)}; archive of {manifest['commit']}")
    results = Results(arguments.results, f"{manifest['commit']} {manifest['digest']} "
                      f"{describe(gpu)}")
    status = 0
    for kind, items in parts:
        items = selected(items, arguments)
        minutes = MINUTES[kind] if arguments.minutes is None else arguments.minutes
        jobs = max(1, arguments.jobs) if kind == "check" else 1
        in_time = run_items(items, results, 60 * minutes, jobs)
        machine.end()
        is_well = summarize(items, results)
        if kind == "figures":
            print_figures(manifest, results)
        if not in_time:
            print(f"the {minutes:g} minutes are up; run the same again to go on")
            status = status or TIME_IS_UP
        elif not is_well:
            status = FAILED
    return status


if __name__ == "__main__":
    sys.exit(main())
