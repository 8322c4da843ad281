"""Weights after some steps beside PyTorch's."""

import json
import pathlib
import re
import subprocess
import tempfile

import numpy as np
import torch

from .models import SMALL, small
from .running import BINARIES, export, train_torch

TYPES = {"F64": np.float64, "F32": np.float32, "I64": np.int64}

# Options of soap-compile, PyTorch's optimizer, and the limit of the gradients' norm.
OPTIMIZERS = {
    "sgd": ("--train=sgd --lr=0.05", lambda w: torch.optim.SGD(w, lr=0.05), None),
    "momentum": ("--train=sgd --lr=0.05 --momentum=0.9", lambda w: torch.optim.SGD(w, lr=0.05, momentum=0.9), None),
    "nesterov": ("--train=sgd --lr=0.05 --momentum=0.9 --nesterov --weight-decay=0.01",
                 lambda w: torch.optim.SGD(w, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01), None),
    "adam": ("--train=adam --lr=0.003 --weight-decay=0.01",
             lambda w: torch.optim.Adam(w, lr=0.003, weight_decay=0.01), None),
    "adamw": ("--train=adamw --lr=0.003 --weight-decay=0.01 --clip-norm=0.5",
              lambda w: torch.optim.AdamW(w, lr=0.003, weight_decay=0.01), 0.5),
}


def read_state(path):
    data = pathlib.Path(path).read_bytes()
    size = int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        tensors[name] = np.frombuffer(data[begin:end], TYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def compare(name, kind, steps, dtype, folder):
    """The largest differences of weights, by the norm of each, and of losses."""
    options, make, clip = OPTIMIZERS[kind]
    model, x, labels, axis = small(name)
    model = model.to(dtype)
    if x.is_floating_point():
        x = x.to(dtype)
    export(model, x, folder / "model.onnx")
    np.save(folder / "x.npy", x.numpy())
    np.save(folder / "label.npy", labels.numpy())
    losses = train_torch(model, x, labels, axis, make(model.parameters()), clip, steps)
    worst = []
    for devices in (1, 2):
        strategy = "single" if devices == 1 else "random"
        subprocess.run([BINARIES / "soap-compile", folder / "model.onnx", *options.split(), f"--class-axis={axis}",
                        f"--devices={devices}", f"--strategy={strategy}", "-o", folder / "step.so"], check=True,
                       capture_output=True)
        subprocess.run([BINARIES / "soap-run", folder / "step.so", f"--input=x={folder / 'x.npy'}",
                        f"--input=label={folder / 'label.npy'}", f"--iterations={steps}",
                        f"--save-state={folder / 'state'}", f"--log={folder / 'log'}"], check=True,
                       capture_output=True)
        state = read_state(folder / "state")
        expected = {key: value.detach().numpy() for key, value in model.state_dict().items()
                    if not key.endswith("num_batches_tracked")}
        missing = expected.keys() - state.keys()
        if missing:
            raise SystemExit(f"{name}: not trained: {', '.join(sorted(missing))}")
        weights = max((np.linalg.norm(state[key] - value) / max(np.linalg.norm(value), 1e-30), key)
                      for key, value in expected.items())
        ours = [json.loads(line)["loss"] for line in (folder / "log").read_text().splitlines()]
        worst.append((*weights, max(abs(a - b) / abs(b) for a, b in zip(ours, losses))))
    return worst


def print_equality(arguments):
    dtype = torch.float32 if arguments.single else torch.float64
    print("| network | optimizer | weights, 1 device | 2 devices | worst | losses, 1 device | 2 devices |")
    print("|---|---|---|---|---|---|---|")
    for name in SMALL:
        for kind in OPTIMIZERS:
            if not re.search(arguments.only, f"{name} {kind}"):
                continue
            with tempfile.TemporaryDirectory() as folder:
                one, two = compare(name, kind, arguments.steps, dtype, pathlib.Path(folder))
            print(f"| {name} | {kind} | {one[0]:.1e} | {two[0]:.1e} | {max(one, two)[1]} | {one[2]:.1e} | {two[2]:.1e} |",
                  flush=True)
