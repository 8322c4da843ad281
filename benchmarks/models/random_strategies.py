#!/usr/bin/env python3
"""Runs the light models with twenty random structured strategies each (grids
over all loops, reductions and replicated work included, on few devices) and
compares with one device: the outputs, the tensor before the softmax and ten
intermediate tensors, and what moves with what the compiler planned.

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
from compiled_models import Tools, Zoo


def check(zoo, name, batch, seed, devices):
    """One line of the table and whether the strategy is right."""
    try:
        result = zoo.parallel_run(name, batch, f"random:{seed}", devices)
    except AssertionError as error:
        return f"failed: {str(error).strip().splitlines()[-1]}", False
    outputs = result.report["expected"]
    # NaN is the largest error.
    worst = max((c["norm_rel"] for c in outputs),
                key=lambda error: error if error == error else float("inf"))
    planned = light_models.movements(result.planned)
    counted = light_models.movements(result.report["movements"])
    moved = sum(sum(m[3]) for m in counted if m[0] == "step")
    passes = result.report["equal"] and planned == counted
    text = f"error {worst:.1e}, {len(counted):5d} movements, {moved / 1e6:8.2f} MB"
    return text + ("" if planned == counted else ", NOT AS PLANNED"), passes


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", default=str(ROOT / "build" / "release"))
    parser.add_argument("--models", default=",".join(light_models.NAMES))
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--devices", type=int, help="default: 2, 3, 4 in turn")
    parser.add_argument("--strategies", type=int, default=20)
    arguments = parser.parse_args()
    models = arguments.models.split(",")
    if unknown := sorted(set(models) - set(light_models.NAMES)):
        parser.error(f"expected models of {', '.join(light_models.NAMES)}, got: "
                     f"{', '.join(unknown)}")

    wrong = 0
    for name in models:
        with tempfile.TemporaryDirectory() as folder:
            zoo = Zoo(Tools(arguments.build_dir), pathlib.Path(folder))
            for seed in range(arguments.strategies):
                start = time.monotonic()
                devices = arguments.devices or light_models.devices_of(seed)
                text, passes = check(zoo, name, arguments.batch, seed, devices)
                print(f"{'ok   ' if passes else 'WRONG'} {name:13} seed {seed:2d} on "
                      f"{devices}: "
                      f"{text}, {time.monotonic() - start:.1f} s", flush=True)
                wrong += not passes
    print(f"{wrong} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
