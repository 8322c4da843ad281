"""Milliseconds per step: beside PyTorch's on one core, and on two devices beside one."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import time

import torch

from .models import LARGE, large
from .running import BINARIES, compile_step, median, prepare, run_step, train_torch

TIMED = ["--iterations=2", "--warmup=1"]


def our_step(step, inputs):
    return run_step(step, [*inputs, *TIMED])["step"]["median_ns"] / 1e6


def steps_at_once(step, inputs):
    """The same step in two processes that know nothing of each other, each on a core of its own: the mean of both."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    running = [subprocess.Popen(["taskset", "-c", str(core), BINARIES / "soap-run", step, *inputs, "--iterations=6",
                                 "--warmup=1", "--json"], stdout=subprocess.PIPE, text=True) for core in cores]
    outputs = [process.communicate()[0] for process in running]
    return sum(json.loads(output)["step"]["median_ns"] for output in outputs) / len(outputs) / 1e6


def beside_torch(name, batch, rounds, folder):
    """PyTorch's step with one thread, and SOAP's on one core, in turn."""
    network = large(name, batch)
    model, x, labels, axis = network
    options, inputs = prepare(network, folder)
    step = compile_step([*options, "--devices=1", "--cores-per-device=1"], folder / "step.so")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
    theirs, ours = [], []
    for _ in range(rounds):
        for repeat in range(3):
            start = time.perf_counter()
            train_torch(model, x, labels, axis, optimizer, None, 1)
            if repeat:
                theirs.append(1000 * (time.perf_counter() - start))
        ours.append(our_step(step, inputs))
    return median(theirs), median(ours)


def on_devices(name, batch, rounds, folder, strategy):
    """A step on one device of one core, on two, and on one beside another process's, in turn."""
    options, inputs = prepare(large(name, batch), folder)
    chosen = [f"--strategy={strategy}"] if strategy != "search" else ["--budget=20"]
    steps = [compile_step([*options, f"--devices={devices}", "--cores-per-device=1", *(chosen if devices > 1 else [])],
                          folder / f"step{devices}.so") for devices in (1, 2)]
    times = [[], [], []]
    for _ in range(rounds):
        for step, taken in zip(steps, times):
            taken.append(our_step(step, inputs))
        times[2].append(steps_at_once(steps[0], inputs))
    return [median(taken) for taken in times]


def print_table(arguments, columns, measure):
    """`measure` gives what stands behind a network's name."""
    print(f"| network, batch {arguments.batch} | {' | '.join(columns)} |")
    print("|---" * (1 + len(columns)) + "|")
    for name in LARGE:
        if not re.search(arguments.only, name):
            continue
        with tempfile.TemporaryDirectory() as folder:
            cells = measure(name, arguments.batch, arguments.rounds, pathlib.Path(folder))
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def print_speed(arguments):
    def cells(*rest):
        theirs, ours = beside_torch(*rest)
        return [f"{theirs:.1f}", f"{ours:.1f}", f"{theirs / ours:.2f}"]
    print_table(arguments, ["PyTorch, ms", "SOAP, ms", "PyTorch / SOAP"], cells)


def print_devices(arguments):
    """Two steps at once do twice the work: what one device loses beside another, any two lose that stream as much."""
    def cells(*rest):
        one, two, beside = on_devices(*rest, arguments.strategy)
        return [f"{one:.1f}", f"{two:.1f}", f"{one / two:.2f}", f"{beside:.1f}", f"{2 * one / beside:.2f}"]
    print_table(arguments, ["one device, ms", f"two ({arguments.strategy}), ms", "one / two", "two steps at once, ms",
                            "steps at once / one by one"], cells)
