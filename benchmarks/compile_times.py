"""Prints how long networks and their kernels take to compile, as Markdown.

  build/venv/bin/python benchmarks/compile_times.py zoo --repeat=3
  build/exports/venv/bin/python benchmarks/compile_times.py exports --only=swin

Networks are those of the zoo, or those that `python -m exports run` has exported; weights are light (ConstantOfShape
nodes), so that nothing of their size is read or written. Times are processor seconds of soap-compile, the best of
several, for one device and for four with data parallel. With soap-kernel-times in the build folder, the slowest native
kernel of four devices is timed as well.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import onnx
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
FLOATS = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16)
LIGHT = 4096  # Elements; smaller tensors may be what shapes follow from.
BATCH = 8  # Of networks of the zoo.
DEVICES = {"1": ["--devices=1"], "4": ["--devices=4", "--strategy=data-parallel"]}


def make_light(path, output):
    """Copies a model with ConstantOfShape nodes in place of large floating point initializers."""
    model = onnx.load(str(path), load_external_data=False)
    graph, nodes, kept = model.graph, [], []
    for tensor in graph.initializer:
        count = 1
        for dim in tensor.dims:
            count *= dim
        if tensor.data_type not in FLOATS or count < LIGHT:
            kept.append(tensor)
            continue
        shape = helper.make_tensor(f"{tensor.name}/shape", TensorProto.INT64, [len(tensor.dims)], tensor.dims)
        value = helper.make_tensor("value", tensor.data_type, [1], [0.01])
        kept.append(shape)
        nodes.append(helper.make_node("ConstantOfShape", [shape.name], [tensor.name], value=value))
    small = [tensor for tensor in kept if tensor.data_location == TensorProto.EXTERNAL]
    for tensor in small:
        onnx.external_data_helper.load_external_data_for_tensor(tensor, str(path.parent))
        tensor.data_location = TensorProto.DEFAULT
        del tensor.external_data[:]
    nodes.extend(graph.node)
    del graph.initializer[:], graph.node[:]
    graph.initializer.extend(kept)
    graph.node.extend(nodes)
    onnx.save(model, str(output))


def zoo_models(only, folder):
    """Names, models, and options of soap-compile."""
    import zoo
    for name in zoo.NETWORKS:
        if re.search(only, name):
            path = folder / "model.onnx"
            zoo.save(str(path), name)
            yield name, path, [f"--batch={BATCH}"]


def exported_models(only, folder):
    rows = ROOT / "build" / "exports" / "rows"
    for row in sorted(rows.iterdir()):
        report = row / "ort.json"
        if not re.search(only, row.name) or not report.exists():
            continue
        path = folder / "model.onnx"
        make_light(row / "model.onnx", path)
        yield row.name, path, [f"--dim={name}={size}" for name, size in json.loads(report.read_text())["dims"].items()]


def compiled(tool, model, options, repeat):
    """Processor seconds, or none for a model that is refused."""
    best = None
    for _ in range(repeat):
        process = subprocess.Popen([tool, model, "--calibration=none", *options], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        if status:
            return None
        seconds = usage.ru_utime + usage.ru_stime
        best = seconds if best is None else min(best, seconds)
    return best


def slowest_kernel(build, program):
    """Milliseconds and operation of the kernel that takes longest to compile."""
    tool = build / "benchmarks" / "soap-kernel-times"
    if not tool.exists():
        return ""
    result = subprocess.run([tool, program], capture_output=True, text=True)
    found = re.search(r"^ *([\d.]+) ms +[\d.]+ us  (\S+)", result.stdout, re.M)
    return f"{found[1]} (`{found[2]}`)" if found else "none"


def measure(name, model, options, arguments, folder):
    tool = arguments.build_dir / "bin" / "soap-compile"
    times = [compiled(tool, model, [*options, *devices, "-o", folder / "model.so"], arguments.repeat)
             for devices in DEVICES.values()]
    kernel = ""
    if None not in times:
        program = folder / "program.mlir"
        compiled(tool, model, [*options, *DEVICES["4"], "--emit=soaprt", "-o", program], 1)
        kernel = slowest_kernel(arguments.build_dir, program)
    cells = ["refused" if time is None else f"{time:.2f}" for time in times]
    print(f"| {name} | {' | '.join(cells)} | {kernel} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", choices=("zoo", "exports"))
    parser.add_argument("--only", default="", metavar="REGEX", help="networks, or rows of exports")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="compilations, of which the fastest counts")
    parser.add_argument("--build-dir", type=pathlib.Path, default=ROOT / "build" / "release")
    arguments = parser.parse_args()
    models = {"zoo": zoo_models, "exports": exported_models}[arguments.models]
    print("| network | one device, s | four devices, s | slowest kernel, ms |\n|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, model, options in models(arguments.only, pathlib.Path(folder)):
            measure(name, model, options, arguments, pathlib.Path(folder))


if __name__ == "__main__":
    main()
