#!/usr/bin/env python3
"""Trains two small networks on scikit-learn's handwritten digits, from files to the
model that onnxruntime runs: a convolutional one, and an LSTM that reads an image row
by row. Each on one device and, data parallel and under a strategy that is searched,
on two and four devices of one core; prints accuracies on the 360 digits that were
held out, and how far the losses of the first epoch are from those of one device.

  train.py [--build-dir=build/release] [--folder=build/digits]
           [--networks=cnn,lstm] [--devices=1,2,4] [--epochs=20]

Exit code 1 if an accuracy is below 98% or losses differ by more than 1e-3.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys

import digits
import numpy as np
import onnxruntime

BATCH, ACCURACY, DIFFERENCE = 32, 0.98, 1e-3


def run(tool, *arguments):
    command = [str(tool), *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"error: {' '.join(command)}\n{result.stderr}")
    return result.stdout


def compile_network(binaries, folder, network, epochs, devices, strategy):
    """The compiled model."""
    model = folder / f"{network}.{devices}.{strategy}.so"
    steps = epochs * -(-len(np.load(folder / f"{network}.train.npz")["label"]) // BATCH)
    run(binaries / "soap-compile", folder / f"{network}.onnx", f"--batch={BATCH}",
        "--train=adamw", "--lr=0.006", "--weight-decay=0.1", "--clip-norm=1",
        "--lr-schedule=cosine", f"--lr-period={steps}", f"--devices={devices}", f"--strategy={strategy}",
        "--cores-per-device=1", "--budget=20", "-o", model)
    return model


def train(binaries, folder, network, model, epochs):
    """The report of soap-run, and the losses of the first epoch."""
    checkpoints, log = model.with_suffix(".checkpoints"), model.with_suffix(".jsonl")
    shutil.rmtree(checkpoints, ignore_errors=True)
    options = [f"--{option}={name}={folder / f'{network}.{part}.npz'}"
               for option, part in (("data", "train"), ("eval-data", "test"))
               for name in ("image", "label")]
    report = json.loads(run(
        binaries / "soap-run", model, *options, f"--epochs={epochs}", "--shuffle=1",
        f"--checkpoint={checkpoints}", f"--log={log}", "--json",
        f"--onnx-model={folder / f'{network}.onnx'}",
        f"--export-onnx={model.with_suffix('.onnx')}"))
    lines = map(json.loads, log.read_text().splitlines())
    losses = [line["loss"] for line in lines if line.get("epoch") == 1]
    return report["training"], np.array(losses)


def accuracy_of_export(folder, network, model):
    test = np.load(folder / f"{network}.test.npz")
    session = onnxruntime.InferenceSession(model.with_suffix(".onnx"))
    scores, = session.run(None, {"image": test["image"]})
    return (scores.argmax(1) == test["label"]).mean()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--build-dir", type=pathlib.Path,
                        default=root / "build" / "release")
    parser.add_argument("--folder", type=pathlib.Path, default=root / "build" / "digits")
    parser.add_argument("--networks", default="cnn,lstm")
    parser.add_argument("--devices", default="1,2,4")
    parser.add_argument("--epochs", type=int, default=20)
    arguments = parser.parse_args()
    binaries, folder = arguments.build_dir.resolve() / "bin", arguments.folder.resolve()
    digits.write(folder)

    print("network  devices  strategy       accuracy  onnxruntime  seconds  "
          "samples/s  first epoch", flush=True)
    wrong = 0
    for network in arguments.networks.split(","):
        reference = None
        for devices in map(int, arguments.devices.split(",")):
            for strategy in ("data-parallel", "search") if devices > 1 else ("single",):
                model = compile_network(binaries, folder, network, arguments.epochs,
                                        devices, strategy)
                report, losses = train(binaries, folder, network, model,
                                       arguments.epochs)
                reference = losses if reference is None else reference
                apart = np.abs(losses - reference).max()
                accuracy = report["evaluation"]["accuracy"]
                exported = accuracy_of_export(folder, network, model)
                fine = min(accuracy, exported) >= ACCURACY and apart <= DIFFERENCE
                wrong += not fine
                print(f"{network:7}  {devices:7}  {strategy:13}  {accuracy:8.2%}  "
                      f"{exported:11.2%}  {report['seconds']:7.1f}  "
                      f"{report['samples_per_second']:9.0f}  {apart:11.1e}"
                      f"{'' if fine else '  WRONG'}", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
