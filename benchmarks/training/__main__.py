"""Training steps beside PyTorch's, from the same weights.

  python -m training equality [--steps=20] [--only=REGEX]   weights after some steps, in double: prints differences
  python -m training equality --single                      the same in float32
  python -m training speed [--batch=8] [--rounds=3]         ms per step of SGD with momentum on one core, in turn

Needs torch and onnx (benchmarks/exports/setup.sh makes such an environment), and a build in build/release.
"""

import argparse
import json
import pathlib
import re
import subprocess
import tempfile
import time

import numpy as np
import torch

from .models import LARGE, SMALL, large, small

BINARIES = pathlib.Path(__file__).resolve().parents[2] / "build" / "release" / "bin"
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


def export(model, x, path):
    """The model as it stands: nothing folded, batch norms kept."""
    model.eval()
    torch.onnx.export(model, (x,), path, dynamo=False, opset_version=17, do_constant_folding=False,
                      training=torch.onnx.TrainingMode.PRESERVE, input_names=["x"], output_names=["scores"])
    model.train()


def train_torch(model, x, labels, axis, optimizer, clip, steps):
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x).movedim(axis, 1), labels)
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        losses.append(loss.item())
    return losses


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


def median(values):
    return sorted(values)[len(values) // 2]


def time_step(name, batch, rounds, folder):
    """Milliseconds of a step: PyTorch's with one thread, and SOAP's on one core, in turn."""
    model, x, labels, axis = large(name, batch)
    export(model, x, folder / "model.onnx")
    np.save(folder / "x.npy", x.numpy())
    np.save(folder / "label.npy", labels.numpy())
    subprocess.run([BINARIES / "soap-compile", folder / "model.onnx", "--train=sgd", "--momentum=0.9", "--lr=0.001",
                    f"--class-axis={axis}", "--devices=1", "--cores-per-device=1", "-o", folder / "step.so"],
                   check=True, capture_output=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
    theirs, ours = [], []
    for _ in range(rounds):
        for step in range(3):
            start = time.perf_counter()
            train_torch(model, x, labels, axis, optimizer, None, 1)
            if step:
                theirs.append(1000 * (time.perf_counter() - start))
        result = subprocess.run([BINARIES / "soap-run", folder / "step.so", f"--input=x={folder / 'x.npy'}",
                                 f"--input=label={folder / 'label.npy'}", "--iterations=2", "--warmup=1", "--json"],
                                check=True, capture_output=True, text=True)
        ours.append(json.loads(result.stdout)["step"]["median_ns"] / 1e6)
    return median(theirs), median(ours)


def speed(arguments):
    torch.set_num_threads(1)
    print(f"| network, batch {arguments.batch} | PyTorch, ms | SOAP, ms | PyTorch / SOAP |")
    print("|---|---|---|---|")
    for name in LARGE:
        if not re.search(arguments.only, name):
            continue
        with tempfile.TemporaryDirectory() as folder:
            theirs, ours = time_step(name, arguments.batch, arguments.rounds, pathlib.Path(folder))
        print(f"| {name} | {theirs:.1f} | {ours:.1f} | {theirs / ours:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["equality", "speed"])
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--only", default="")
    parser.add_argument("--single", action="store_true")
    arguments = parser.parse_args()
    if arguments.what == "speed":
        return speed(arguments)
    torch.set_num_threads(1)
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


if __name__ == "__main__":
    main()
