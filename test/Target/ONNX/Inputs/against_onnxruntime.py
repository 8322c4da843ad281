"""against_onnxruntime.py STEM CASE[:K,...]...: imports models of models.py, runs the nn
passes over them, computes their outputs with soap-evaluate-nn and compares them with
onnxruntime, with and without the passes; for each K also with recurrent layers split
into parts of K steps. Prints how many outputs of each case are equal."""

import contextlib
import io
import os
import subprocess
import sys

import onnx

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../../../scripts"))
import compare_onnxruntime
import models

FOLD = ["--nn-fold-constants"]
PASSES = ["--nn-fold-batch-norm", "--nn-hoist-init"]


def run(*command):
    subprocess.run(command, check=True)


def compare(*arguments):
    """What scripts/compare_onnxruntime.py prints; ends this program if it fails."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        status = compare_onnxruntime.main(arguments)
    if status:
        sys.exit(printed.getvalue())
    return printed.getvalue()


def check(case, chunks, stem):
    path = stem + ".onnx"
    models.write(case, path)
    run("soap-translate", "--import-onnx", path, "-o", stem + ".mlir")
    run("soap-opt", stem + ".mlir", "-o", stem + ".folded.mlir", *FOLD, *PASSES)
    for chunk in chunks:
        run("soap-opt", stem + ".mlir", "-o", f"{stem}.{chunk}.mlir", *FOLD,
            f"--nn-unroll-rnn=chunk={chunk}", *FOLD, *PASSES)
    graph = onnx.load(path).graph
    initializers = {tensor.name for tensor in graph.initializer}
    inputs = [v.name for v in graph.input if v.name not in initializers]
    outputs = [v.name for v in graph.output]
    feeds = [f"--input={name}={stem}.in.{name}.npy" for name in inputs]
    if inputs:
        compare(path, *(f"--make-input={n}={stem}.in.{n}.npy:1:-2:2" for n in inputs))
    equal = 0
    for source in (stem + ".mlir", stem + ".folded.mlir",
                   *(f"{stem}.{chunk}.mlir" for chunk in chunks)):
        results = [f"--output={name}={stem}.out.{name}.npy" for name in outputs]
        run("soap-evaluate-nn", source, *feeds, *results)
        lines = compare(path, *feeds, *results, "--tolerance=1e-5", "--min-spread=0")
        equal += lines.count("ok ")
    print(f"{case}: {equal} equal", flush=True)


def main():
    stem = sys.argv[1]
    for argument in sys.argv[2:]:
        case, _, chunks = argument.partition(":")
        check(case, chunks.split(",") if chunks else [], f"{stem}.{case}")


if __name__ == "__main__":
    main()
