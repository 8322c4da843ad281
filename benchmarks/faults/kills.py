#!/usr/bin/env python3
"""Kills trainings at random moments, with SIGKILL, on one device and on two
processes, and lets them go on from their last checkpoint: they have to end with the
bits of a training that nobody has disturbed, log included, and on another number of
devices with its numbers.

  kills.py --build-dir=build/release [--kills=50] [--folder=build/kills] [--seed=1]
           [--steps=900] [--latest=0.9] [--strategy=data-parallel]

Trains the LSTM of examples/digits, which has no kinks: where an activation lies at
one, the last bit of a sum, which depends on the devices, decides about more. A moment is uniform between the
start of the processes and --latest of the seconds that the undisturbed training took.
Prints one line per kill, and keeps it in FOLDER/results.jsonl: what is there already
is not done again. Exit code 1 if anything was lost.
"""

import argparse
import json
import pathlib
import random
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test" / "models"), str(ROOT / "examples" / "digits")]
import digits
from compiled_models import Tools
from killed_training import Training, difference

TOLERANCE = 1e-4


class Setting:
    """Trainings on so many devices, each a process of its own."""

    def __init__(self, tools, folder, devices, steps, strategy):
        self.tools, self.folder, self.devices = tools, folder, devices
        self.compiled = folder / f"lstm{devices}.so"
        tools.run("soap-compile", folder / "lstm.onnx", "--batch=32", "--train=adam",
                  "--lr=0.001", f"--devices={devices}", "--cores-per-device=1",
                  f"--strategy={'single' if devices == 1 else strategy}", "-o",
                  self.compiled)
        self.options = [*(f"--data={name}={folder / 'lstm.train.npz'}"
                          for name in ("image", "label")),
                        f"--steps={steps}", "--shuffle=1", "--checkpoint-every=20"]

    def training(self, name):
        result = Training(self.tools, self.compiled, self.options,
                          self.folder / f"{name}{self.devices}", self.devices)
        result.clear()
        return result


def check(killed, whole, other):
    """Lets a training that was killed go on, and `other` from the same checkpoint on
    other devices: the step of the checkpoint, the difference of `other`, and all
    that is wrong."""
    if killed.checkpoints.exists():
        shutil.copytree(killed.checkpoints, other.checkpoints)
    newest = killed.newest()
    begin = int(newest.stem.split("-")[1]) if newest else 0
    killed.run("--resume")
    other.run("--resume")
    problems = []
    if killed.newest().name != whole.newest().name or \
            killed.newest().read_bytes() != whole.newest().read_bytes():
        problems.append("other bits")
    if killed.steps() != whole.steps():
        problems.append("another log")
    apart = difference(other.newest(), whole.newest())
    if apart > TOLERANCE:
        problems.append(f"on other devices a difference of {apart:.1e}")
    return begin, apart, problems


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", default=str(ROOT / "build" / "release"))
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build" / "kills")
    parser.add_argument("--kills", type=int, default=50, help="of each setting")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=900)
    parser.add_argument("--latest", type=float, default=0.9)
    parser.add_argument("--strategy", default="data-parallel", help="on two processes")
    arguments = parser.parse_args()

    tools, folder = Tools(arguments.build_dir), arguments.folder.resolve()
    digits.write(folder)
    settings = {n: Setting(tools, folder, n, arguments.steps, arguments.strategy)
                for n in (1, 2)}
    wholes = {}
    for devices, setting in settings.items():
        wholes[devices] = setting.training("whole")
        wholes[devices].seconds = wholes[devices].run()

    results = folder / "results.jsonl"
    done = [json.loads(line) for line in results.read_text().splitlines()] \
        if results.exists() else []
    with results.open("a") as file:
        for case in range(2 * arguments.kills):
            devices, number = 1 + case % 2, case // 2
            key = {"devices": devices, "number": number, "seed": arguments.seed,
                   "steps": arguments.steps, "strategy": arguments.strategy}
            if any(key.items() <= entry.items() for entry in done):
                continue
            choices = random.Random(f"{arguments.seed} {devices} {number}")
            whole = wholes[devices]
            delay = choices.uniform(0, arguments.latest * whole.seconds)
            killed = settings[devices].training("killed")
            # The machine may have become faster since the undisturbed training.
            while killed.kill(delay, choices.randrange(devices)) == 0:
                delay *= 0.7
                killed = settings[devices].training("killed")
            begin, apart, problems = check(killed, whole,
                                           settings[3 - devices].training("other"))
            entry = {**key, "delay": delay, "begin": begin, "apart": apart,
                     "problems": problems}
            done.append(entry)
            print(json.dumps(entry), file=file, flush=True)
            print(f"{'WRONG' if problems else 'ok   '} {devices} process(es), killed "
                  f"after {delay:.2f} s: went on from step {begin}, on "
                  f"{3 - devices} device(s) {apart:.1e} apart"
                  f"{''.join(', ' + problem for problem in problems)}", flush=True)
    for devices in settings:
        mine = [entry for entry in done if entry["devices"] == devices
                and entry["seed"] == arguments.seed]
        print(f"{devices} process(es): {len(mine)} kills, "
              f"{sum(entry['begin'] > 0 for entry in mine)} behind a checkpoint, "
              f"{sum(bool(entry['problems']) for entry in mine)} wrong, at most "
              f"{max(entry['apart'] for entry in mine):.1e} apart on other devices")
    sys.exit(any(entry["problems"] for entry in done))


if __name__ == "__main__":
    main()
