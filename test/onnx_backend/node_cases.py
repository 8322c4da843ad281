"""ONNX's own node tests (onnx.backend.test), for the operators that the
importer lists: one small model each, with inputs and the outputs that the
reference implementation of ONNX computed."""

import dataclasses
import pathlib
import subprocess

import numpy as np
import onnx
from onnx import numpy_helper

DATA = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "node"

# Operands that have to be known at compile time, by operator: they are bound.
CONSTANT_OPERANDS = {
    "Clip": (1, 2), "ConstantOfShape": (0,), "CumSum": (1,), "Dropout": (1, 2),
    "Expand": (1,), "OneHot": (1,), "Pad": (1, 2, 3), "Range": (0, 1, 2),
    "Reshape": (1,), "Resize": (1, 2, 3), "Slice": (1, 2, 3, 4), "Split": (1,),
    "Squeeze": (1,), "Tile": (1,), "TopK": (1,), "Trilu": (1,), "Unsqueeze": (1,),
    "Upsample": (1,),
}
REDUCTIONS = (1,)

# Outputs that only training needs are left out, by operator: the first so many are
# compared.
COMPARED_OUTPUTS = {"LayerNormalization": 1}


class Tools:
    """Runs the tools of a build folder."""

    def __init__(self, build):
        self.bin = pathlib.Path(build).resolve() / "bin"

    def run(self, tool, *args):
        return subprocess.run([str(self.bin / tool), *map(str, args)],
                              capture_output=True, text=True, timeout=300)


@dataclasses.dataclass
class Case:
    name: str
    folder: pathlib.Path
    model: onnx.ModelProto

    def tensors(self, kind, values):
        """The tensors of the first data set, by name; None for what is not one
        (sequences, optionals)."""
        result = {}
        for number, value in enumerate(values):
            file = self.folder / "test_data_set_0" / f"{kind}_{number}.pb"
            tensor = onnx.TensorProto()
            if not value.type.HasField("tensor_type"):
                result[value.name] = None
                continue
            tensor.ParseFromString(file.read_bytes())
            result[value.name] = numpy_helper.to_array(tensor)
        return result

    def inputs(self):
        return self.tensors("input", self.model.graph.input)

    def outputs(self):
        return self.tensors("output", self.model.graph.output)

    def file(self, folder):
        """The model, without outputs that are not compared."""
        (node, *others) = self.model.graph.node
        keep = COMPARED_OUTPUTS.get(node.op_type)
        if others or not keep:
            return self.folder / "model.onnx"
        del self.model.graph.output[keep:]
        onnx.save(self.model, folder / "model.onnx")
        return folder / "model.onnx"

    def bound(self):
        """Names of inputs that have to be known at compile time."""
        names = set()
        for node in self.model.graph.node:
            places = CONSTANT_OPERANDS.get(
                node.op_type,
                REDUCTIONS if node.op_type.startswith("Reduce") else ())
            names.update(node.input[i] for i in places if i < len(node.input))
        return names


def supported_cases(tools):
    """All cases whose operators are all in the importer's table, by name."""
    table = tools.run("soap-translate", "--list-onnx-ops").stdout
    operators = {line.split("|")[1].strip() for line in table.splitlines()
                 if line.startswith("| ")}
    cases = []
    for folder in sorted(DATA.iterdir()):
        model = onnx.load(folder / "model.onnx")
        if all(node.op_type in operators and node.domain in ("", "ai.onnx")
               for node in model.graph.node):
            cases.append(Case(folder.name, folder, model))
    return cases


def compile_case(tools, case, folder):
    """The compiled model, or the importer's complaint."""
    arguments, inputs = [], case.inputs()
    for number, (name, value) in enumerate(inputs.items()):
        if name in case.bound() and value is not None:
            file = folder / f"bound{number}.npy"
            np.save(file, value)
            arguments.append(f"--bind={name}={file}")
    result = tools.run("soap-compile", case.file(folder), "--devices=1", *arguments,
                       "-o", folder / "model.so")
    return result.returncode == 0, result.stderr


def run_case(tools, case, folder):
    """Outputs of a compiled model, by name."""
    arguments, files = [], {}
    for number, (name, value) in enumerate(case.inputs().items()):
        if name not in case.bound():
            file = folder / f"input{number}.npy"
            np.save(file, value)
            arguments.append(f"--input={name}={file}")
    for number, name in enumerate(case.outputs()):
        files[name] = folder / f"output{number}.npy"
        arguments.append(f"--output={name}={files[name]}")
    result = tools.run("soap-run", folder / "model.so", *arguments)
    assert result.returncode == 0, result.stderr
    return {name: np.load(file) for name, file in files.items()}
