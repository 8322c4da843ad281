"""Memory that a step was planned to take, and what its process came to hold."""

import pathlib
import re
import tempfile

import torch

from .models import GPT, LARGE, Recurrent, large
from .running import compile_step, prepare, run_step

MEBIBYTE = 2**20


def resident(options, inputs, devices, output, strategy="data-parallel"):
    """Of a step on so many processes of a device each: planned bytes of all devices, those that the runtime counted,
    and those of the processes after some steps."""
    step = compile_step([*options, f"--devices={devices}", f"--strategy={strategy}"], output)
    counts = run_step(step, ["--info"], devices)["devices"]
    processes = run_step(step, [*inputs, "--iterations=2"], devices)["processes"]
    return (sum(count["planned"]["peak_bytes"] for count in counts), sum(count["peak_bytes"] for count in counts),
            sum(process["resident_bytes"] for process in processes))


def tiny(name):
    """The network with next to no parameters, if it comes in sizes, else a product: processes hold the library's code,
    and the code that it generates, for its operations, too."""
    torch.manual_seed(0)
    words = torch.randint(0, 10, (8, 5))
    if name == "lstm":
        return Recurrent(10, 16), words, words, 2
    if name == "gpt2":
        return GPT(2, 16, 2, 10, 5), words, words, 2
    return torch.nn.Linear(4, 4), torch.randn(8, 4), torch.randint(0, 4, (8,)), 1


def held_besides(name, folder, devices):
    """What such processes hold besides."""
    planned, _, held = resident(*prepare(tiny(name), folder), devices, folder / "tiny.so")
    return held - planned


def print_memory(arguments):
    print(f"| network, batch {arguments.batch} | devices | strategy | planned, MiB | counted, MiB | held, MiB | "
          "held / planned |")
    print("|---|---|---|---|---|---|---|")
    for name in LARGE:
        if not re.search(arguments.only, name):
            continue
        cases = [(1, "data-parallel"), (2, "data-parallel")]
        if arguments.sharded:
            cases = [(devices, strategy) for devices in (2, 4)
                     for strategy in ("data-parallel", "zero-1", "fsdp")]
        for devices, strategy in cases:
            with tempfile.TemporaryDirectory() as folder:
                folder = pathlib.Path(folder)
                besides = held_besides(name, folder, devices)
                options, inputs = prepare(large(name, arguments.batch), folder)
                if arguments.sharded:
                    options = [option for option in options if option not in ("--train=sgd", "--momentum=0.9")]
                    options.append("--train=adam")
                planned, counted, held = resident(options, inputs, devices, folder / "step.so", strategy)
            held -= besides
            print(f"| {name} | {devices} | {strategy} | {planned / MEBIBYTE:.1f} | {counted / MEBIBYTE:.1f} | "
                  f"{held / MEBIBYTE:.1f} | {held / planned:.3f} |", flush=True)
