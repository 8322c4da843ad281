#!/usr/bin/env python3
"""Kills and stops random ranks of `mpirun soap-run` at random moments, half of
them while the ranks start and load, and checks that the run ends, fails, and
that every other rank names the one that is lost.

  faults.py --build-dir=build/release [--repeat=20] [--ranks=4]

Prints one line per fault and the times from the fault to the end of mpirun. Exit
code 1 if a run hung, succeeded or did not name the rank.
"""

import argparse
import pathlib
import random
import signal
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "models"))
import launcher
from compiled_models import Tools


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", default=str(ROOT / "build" / "release"))
    parser.add_argument("--repeat", type=int, default=20, help="of each signal")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--timeout", type=float, default=10,
                        help="soap-run --timeout")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--latest", type=float, default=4,
                        help="seconds from the start to the latest fault")
    arguments = parser.parse_args()

    tools = Tools(arguments.build_dir)
    choices = random.Random(arguments.seed)
    wrong, times = 0, {}
    with tempfile.TemporaryDirectory() as name:
        model = launcher.compile_for_faults(tools, arguments.ranks,
                                            pathlib.Path(name))
        for case in range(2 * arguments.repeat):
            fault = (signal.SIGKILL, signal.SIGSTOP)[case % 2]
            rank = choices.randrange(arguments.ranks)
            early = case // 2 % 2
            delay = choices.uniform(0, 0.5 if early else arguments.latest)
            seconds, problem = launcher.inject(
                tools, model, fault, rank, arguments.ranks, delay,
                arguments.timeout)
            times.setdefault(fault.name, []).append(seconds)
            print(f"{'WRONG' if problem else 'ok   '} {fault.name} of rank {rank} "
                  f"after {delay:.2f} s: ended in {seconds:.2f} s"
                  + (f", {problem}" if problem else ""), flush=True)
            wrong += problem is not None
    for fault, values in times.items():
        values.sort()
        print(f"{fault}: {len(values)} faults, to the end median "
              f"{values[len(values) // 2]:.2f} s, max {values[-1]:.2f} s")
    print(f"{wrong} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
