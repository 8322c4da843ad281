"""against_onnxruntime.py CASE STEM [--unroll-rnn=K...] [soap-translate flags]: imports a
model of models.py, runs the nn passes over it, computes its outputs with
soap-evaluate-nn and compares them with onnxruntime, with and without the passes;
for each --unroll-rnn also with recurrent layers split into parts of K steps."""

import os
import subprocess
import sys

import onnx

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPTS = os.path.join(HERE, "../../../../scripts")
FOLD = ["--nn-fold-constants"]
PASSES = ["--nn-fold-batch-norm", "--nn-hoist-init"]
UNROLL = "--unroll-rnn="


def run(*command):
    subprocess.run(command, check=True)


def main():
    case, stem = sys.argv[1:3]
    path = stem + ".onnx"
    run(sys.executable, os.path.join(HERE, "models.py"), case, path)
    flags = [flag for flag in sys.argv[3:] if not flag.startswith(UNROLL)]
    chunks = [flag[len(UNROLL):] for flag in sys.argv[3:] if flag.startswith(UNROLL)]
    run("soap-translate", "--import-onnx", path, "-o", stem + ".mlir", *flags)
    run("soap-opt", stem + ".mlir", "-o", stem + ".folded.mlir", *FOLD, *PASSES)
    for chunk in chunks:
        run("soap-opt", stem + ".mlir", "-o", f"{stem}.{chunk}.mlir", *FOLD,
            f"--nn-unroll-rnn=chunk={chunk}", *FOLD, *PASSES)
    graph = onnx.load(path).graph
    compare = [sys.executable, os.path.join(SCRIPTS, "compare_onnxruntime.py"), path]
    initializers = {tensor.name for tensor in graph.initializer}
    inputs = [v.name for v in graph.input if v.name not in initializers]
    outputs = [v.name for v in graph.output]
    feeds = [f"--input={name}={stem}.in.{name}.npy" for name in inputs]
    run(*compare, *(f"--make-input={n}={stem}.in.{n}.npy:1:-2:2" for n in inputs))
    for source in (stem + ".mlir", stem + ".folded.mlir",
                   *(f"{stem}.{chunk}.mlir" for chunk in chunks)):
        results = [f"--output={name}={stem}.out.{name}.npy" for name in outputs]
        run("soap-evaluate-nn", source, *feeds, *results)
        run(*compare, *feeds, *results, "--tolerance=1e-5", "--min-spread=0")


if __name__ == "__main__":
    main()
