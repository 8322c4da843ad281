#!/usr/bin/env python3
"""Runs onnxruntime on the CPU and compares tensors in .npy files with its
outputs.

  compare_onnxruntime.py model.onnx --make-input=data=x.npy:SEED[:LOW:HIGH]
  soap-run model.so --input=data=x.npy --output=prob=y.npy
  compare_onnxruntime.py model.onnx --input=data=x.npy --output=prob=y.npy

An output passes if the error is below --tolerance (1e-4) of the norm of the
reference. NaN fails, and so does a reference that says little: one whose standard
deviation is below --min-spread (0.1) of its RMS. Exit code 1 if an output fails, 2 if the
arguments are wrong.
"""

import argparse
import sys

import numpy as np
import onnxruntime


def fail(message):
    print(f"error: {message}", file=sys.stderr)
    sys.exit(2)


def pairs(texts, what):
    result = {}
    for text in texts:
        name, _, file = text.partition("=")
        if not name or not file:
            fail(f"expected --{what}=NAME=FILE.npy, got: '{text}'")
        result[name] = file
    return result


def compare(name, got, expected, tolerance, min_spread):
    """One line of the report and whether the output passes."""
    if got.shape != expected.shape:
        return False, f"{name}: shape {got.shape}, expected {expected.shape}"
    got = got.astype(np.float64)
    expected = expected.astype(np.float64)
    norm = np.linalg.norm(expected)
    error = np.linalg.norm(got - expected) / norm if norm else np.inf
    rms = norm / np.sqrt(expected.size)
    spread = expected.std() / rms if rms else 0.0
    # Comparisons with NaN are false.
    passes = bool(error < tolerance) and bool(spread >= min_spread)
    return passes, f"{name}: error {error:.2e}, std/rms {spread:.3f}, rms {rms:.3g}"


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", metavar="MODEL.onnx")
    parser.add_argument("--input", action="append", default=[], metavar="NAME=FILE.npy")
    parser.add_argument("--output", action="append", default=[], metavar="NAME=FILE.npy")
    parser.add_argument("--make-input", action="append", default=[],
                        metavar="NAME=FILE.npy:SEED[:LOW:HIGH]",
                        help="write uniform values, in [0, 1) if not said, for an "
                        "input and stop")
    parser.add_argument("--save-output", action="append", default=[],
                        metavar="NAME=FILE.npy", help="write the reference")
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--min-spread", type=float, default=0.1)
    parser.add_argument("--threads", type=int, default=0)
    arguments = parser.parse_args(argv)

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if arguments.threads:
        options.intra_op_num_threads = arguments.threads
    try:
        session = onnxruntime.InferenceSession(
            arguments.model, options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:
        fail(f"expected a model that onnxruntime loads, got: {error}")
    inputs = {value.name: value for value in session.get_inputs()}
    outputs = [value.name for value in session.get_outputs()]

    made = pairs(arguments.make_input, "make-input")
    for name, target in made.items():
        file, *numbers = target.split(":")
        if name not in inputs or len(numbers) not in (1, 3):
            fail(f"expected an input of {sorted(inputs)} and FILE:SEED[:LOW:HIGH], "
                 f"got: {name}={target}")
        low, high = map(float, numbers[1:] or (0, 1))
        random = np.random.default_rng(int(numbers[0]))
        values = random.random(inputs[name].shape, dtype=np.float32)
        np.save(file, np.float32(low) + np.float32(high - low) * values)
    if made:
        return 0

    feeds = {n: np.load(f) for n, f in pairs(arguments.input, "input").items()}
    if set(feeds) != set(inputs):
        fail(f"expected --input for {sorted(inputs)}, got: {sorted(feeds)}")
    wanted = pairs(arguments.output, "output")
    saved = pairs(arguments.save_output, "save-output")
    unknown = (set(wanted) | set(saved)) - set(outputs)
    if unknown or not (wanted or saved):
        fail(f"expected --output for some of {outputs}, got: {sorted(unknown)}")
    names = sorted(set(wanted) | set(saved))
    references = dict(zip(names, session.run(names, feeds)))
    for name, file in saved.items():
        np.save(file, references[name])
    failed = 0
    for name, file in wanted.items():
        passes, line = compare(name, np.load(file), references[name],
                               arguments.tolerance, arguments.min_spread)
        print(("ok    " if passes else "FAIL  ") + line)
        failed += not passes
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
