"""unrolled_models.py CASE FOLDER --chunks=K,...: compiles a case of
test/Target/ONNX/Inputs/models.py with recurrent layers in parts of K steps, for one device
and for two, runs it and compares its outputs with onnxruntime. Ends with an error if
one differs."""

import pathlib
import subprocess
import sys

import onnx

ROOT = pathlib.Path(__file__).resolve().parents[4]
STRATEGIES = (["--devices=1"],
              ["--devices=2", "--strategy=random", "--seed=1"],
              ["--devices=2", "--strategy=model-parallel"])


def run(*command):
    result = subprocess.run([str(part) for part in command], capture_output=True,
                            text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout


def script(path, *arguments):
    return run(sys.executable, ROOT / path, *arguments)


def main():
    case, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    chunks = [int(k) for k in sys.argv[3].removeprefix("--chunks=").split(",")]
    folder.mkdir(exist_ok=True)
    model, compiled = folder / f"{case}.onnx", folder / f"{case}.so"
    script("test/Target/ONNX/Inputs/models.py", case, model)
    graph = onnx.load(model).graph
    steps = graph.input[0].type.tensor_type.shape.dim[0].dim_value
    inputs = {value.name: folder / f"in.{value.name}.npy" for value in graph.input}
    outputs = {value.name: folder / f"out.{value.name}.npy" for value in graph.output}
    compare = ["scripts/compare_onnxruntime.py", model]
    script(*compare, *(f"--make-input={name}={file}:1:-2:2"
                       for name, file in inputs.items()))
    feeds = [f"--input={name}={file}" for name, file in inputs.items()]
    results = [f"--output={name}={file}" for name, file in outputs.items()]
    for chunk in chunks:
        for strategy in STRATEGIES if chunk < steps else STRATEGIES[:1]:
            arguments = [f"--unroll-rnn={chunk}", *strategy]
            run("soap-compile", model, *arguments, "-o", compiled)
            for file in outputs.values():
                file.unlink(missing_ok=True)
            run("soap-run", compiled, *feeds, *results)
            report = script(*compare, *feeds, *results, "--tolerance=1e-5")
            equal = sum(line.startswith("ok ") for line in report.splitlines())
            print(f"{' '.join(arguments)}: {equal} outputs equal", flush=True)


if __name__ == "__main__":
    main()
