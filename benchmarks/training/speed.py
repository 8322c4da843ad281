"""Milliseconds per step: beside PyTorch's on one core, and on two devices beside one."""

import pathlib
import re
import tempfile
import time

import torch

from .models import LARGE, large
from .running import compile_step, median, prepare, run_step, train_torch


def our_step(step, inputs):
    result = run_step(step, [*inputs, "--iterations=2", "--warmup=1"])
    return result["step"]["median_ns"] / 1e6


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
    """A step on one device of one core, and on two, in turn."""
    options, inputs = prepare(large(name, batch), folder)
    chosen = [f"--strategy={strategy}"] if strategy != "search" else ["--budget=20"]
    steps = [compile_step([*options, f"--devices={devices}", "--cores-per-device=1", *(chosen if devices > 1 else [])],
                          folder / f"step{devices}.so") for devices in (1, 2)]
    times = [[], []]
    for _ in range(rounds):
        for step, taken in zip(steps, times):
            taken.append(our_step(step, inputs))
    return [median(taken) for taken in times]


def print_pairs(arguments, header, measure):
    print(f"| network, batch {arguments.batch} | {header} |")
    print("|---|---|---|---|")
    for name in LARGE:
        if not re.search(arguments.only, name):
            continue
        with tempfile.TemporaryDirectory() as folder:
            first, second = measure(name, arguments.batch, arguments.rounds, pathlib.Path(folder))
        print(f"| {name} | {first:.1f} | {second:.1f} | {first / second:.2f} |", flush=True)


def print_speed(arguments):
    print_pairs(arguments, "PyTorch, ms | SOAP, ms | PyTorch / SOAP", beside_torch)


def print_devices(arguments):
    print_pairs(arguments, f"one device, ms | two ({arguments.strategy}), ms | one / two",
                lambda *rest: on_devices(*rest, arguments.strategy))
