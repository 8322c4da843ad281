#!/usr/bin/env python3
"""Runs the light models with thirty random structured strategies each (grids
over all loops, reductions and replicated work included, on few of two to six
devices), in one process and under mpirun, and compares with one device: the
outputs, the tensor before the softmax and ten intermediate tensors, what moves
with what the compiler planned, and that each process ran its own devices only.

  random_strategies.py --build-dir=build/release [--models=resnet50,vgg19]

Runs in the environment of scripts/setup.sh. Exit code 1 if a strategy is wrong.
"""

import argparse
import pathlib
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "models"))
import light_models
from compiled_models import Tools, Zoo, steps


def worst_error(report):
    """NaN is the largest."""
    return max((c["norm_rel"] for c in report["expected"]),
               key=lambda error: error if error == error else float("inf"))


def problems(result, alone, ranks, devices):
    """What is wrong with a run, as words."""
    report = result.report
    if not report["equal"]:
        yield "DIFFERENT"
    if light_models.movements(report["movements"]) != \
            light_models.movements(result.planned):
        yield "NOT AS PLANNED"
    processes = report["processes"]
    own = processes[0]["devices"] if ranks == 1 else \
        [d for p in processes for d in p["devices"]]
    whole = alone["processes"][0]
    shares = (sum(p["arena_bytes"] for p in processes) == whole["arena_bytes"] and
              sum(p["rows_run"] for p in processes) // steps(report) ==
              whole["rows_run"] // steps(alone))
    if len({p["pid"] for p in processes}) != ranks or \
            own != list(range(devices)) or not shares:
        yield "NOT ITS OWN DEVICES"


def check(zoo, name, batch, seed, devices, all_ranks):
    """One line of the table and how many runs are wrong."""
    wrong, texts, alone = 0, [], None
    for ranks in all_ranks:
        try:
            result = zoo.parallel_run(name, batch, f"random:{seed}", devices, ranks)
        except AssertionError as error:
            texts.append(f"{ranks}: failed: {str(error).strip().splitlines()[-1]}")
            wrong += 1
            if alone is None:
                break
            continue
        if alone is None:
            alone = result.report
            moved = [m for m in alone["movements"] if m["phase"] == "step"]
            total = sum(sum(m["bytes"]) for m in moved)
            texts.append(f"{len(moved):5d} movements, {total / 1e6:8.2f} MB")
        found = list(problems(result, alone, ranks, devices))
        wrong += bool(found)
        texts.append(f"{ranks}: " + ", ".join(
            [f"error {worst_error(result.report):.1e}", *found]))
    zoo.parallel(name, batch, f"random:{seed}", devices).unlink()
    return "; ".join(texts), wrong


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", default=str(ROOT / "build" / "release"))
    parser.add_argument("--models", default=",".join(light_models.NAMES))
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--devices", type=int, help="default: 2 to 6 in turn")
    parser.add_argument("--strategies", type=int, default=30)
    parser.add_argument("--ranks", default="1,2,4",
                        help="numbers of processes, of devices at most")
    arguments = parser.parse_args()
    models = arguments.models.split(",")
    if unknown := sorted(set(models) - set(light_models.NAMES)):
        parser.error(f"expected models of {', '.join(light_models.NAMES)}, got: "
                     f"{', '.join(unknown)}")

    wrong = runs = 0
    for name in models:
        with tempfile.TemporaryDirectory() as folder:
            zoo = Zoo(Tools(arguments.build_dir), pathlib.Path(folder), [arguments.batch])
            for seed in range(arguments.strategies):
                start = time.monotonic()
                devices = arguments.devices or light_models.devices_of(seed)
                ranks = sorted({min(int(n), devices)
                                for n in arguments.ranks.split(",")})
                text, failures = check(zoo, name, arguments.batch, seed, devices,
                                       ranks)
                print(f"{'WRONG' if failures else 'ok   '} {name:13} seed {seed:2d} on "
                      f"{devices}: "
                      f"{text}, {time.monotonic() - start:.1f} s", flush=True)
                wrong += failures
                runs += len(ranks)
    print(f"{runs} runs, {wrong} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
