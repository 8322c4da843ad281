"""Shared by the figures: exporting a network, running PyTorch and SOAP on it."""

import json
import os
import pathlib
import shlex
import subprocess
import sys

import numpy as np
import torch

BINARIES = pathlib.Path(__file__).resolve().parents[2] / "build" / "release" / "bin"


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


def median(values):
    return sorted(values)[len(values) // 2]


def prepare(network, folder):
    """Writes model, inputs and labels of (model, x, labels, axis of classes) to `folder`; the options of soap-compile
    and of soap-run that a step of SGD with momentum needs."""
    model, x, labels, axis = network
    export(model, x, folder / "model.onnx")
    np.save(folder / "x.npy", x.numpy())
    np.save(folder / "label.npy", labels.numpy())
    return ([folder / "model.onnx", "--train=sgd", "--momentum=0.9", "--lr=0.001", f"--class-axis={axis}"],
            [f"--input=x={folder / 'x.npy'}", f"--input=label={folder / 'label.npy'}"])


def run_tool(tool, *arguments, processes=1):
    """What a tool of the build prints; on several processes, under mpirun."""
    launcher = ["mpirun", "-n", str(processes), "--oversubscribe"] if processes > 1 else []
    # Open MPI asks root for these.
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run([*launcher, BINARIES / tool, *arguments], capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(f"error: {shlex.join(map(str, done.args))}\n{done.stderr}")
    return done.stdout


def compile_step(options, output):
    run_tool("soap-compile", *options, "-o", output)
    return output


def run_step(step, options, processes=1):
    """What soap-run says in JSON."""
    return json.loads(run_tool("soap-run", step, *options, "--json", processes=processes))
