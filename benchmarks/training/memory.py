"""Memory that a step was planned to take, and what its process came to hold."""

import pathlib
import re
import tempfile

import torch

from .models import LARGE, large
from .running import compile_step, prepare, run_step

MEBIBYTE = 2**20


def resident(options, inputs, devices, output):
    """Of a step on so many processes of a device each: planned bytes of all devices, those that the runtime counted,
    and those of the processes after some steps."""
    step = compile_step([*options, f"--devices={devices}", "--strategy=data-parallel"], output)
    counts = run_step(step, ["--info"], devices)["devices"]
    processes = run_step(step, [*inputs, "--iterations=2"], devices)["processes"]
    return (sum(count["planned"]["peak_bytes"] for count in counts), sum(count["peak_bytes"] for count in counts),
            sum(process["resident_bytes"] for process in processes))


def held_besides(folder, devices):
    """What such processes hold besides: a step of a network with next to no parameters."""
    torch.manual_seed(0)
    network = torch.nn.Linear(4, 4), torch.randn(2, 4), torch.randint(0, 4, (2,)), 1
    planned, _, held = resident(*prepare(network, folder), devices, folder / "nothing.so")
    return held - planned


def print_memory(arguments):
    print(f"| network, batch {arguments.batch} | devices | planned, MiB | counted, MiB | held, MiB | held / planned |")
    print("|---|---|---|---|---|---|")
    for name in LARGE:
        if not re.search(arguments.only, name):
            continue
        for devices in (1, 2):
            with tempfile.TemporaryDirectory() as folder:
                folder = pathlib.Path(folder)
                besides = held_besides(folder, devices)
                planned, counted, held = resident(*prepare(large(name, arguments.batch), folder), devices,
                                                  folder / "step.so")
            held -= besides
            print(f"| {name} | {devices} | {planned / MEBIBYTE:.1f} | {counted / MEBIBYTE:.1f} | "
                  f"{held / MEBIBYTE:.1f} | {held / planned:.3f} |", flush=True)
