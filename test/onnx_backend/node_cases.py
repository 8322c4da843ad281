"""ONNX's own tests (onnx.backend.test): small models, with inputs and the outputs
that the reference implementation of ONNX, or PyTorch, computed."""

import dataclasses
import functools
import pathlib
import subprocess

import numpy as np
import onnx
from onnx import numpy_helper

DATA = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data"
FOLDERS = ("node", "simple", "pytorch-operator", "pytorch-converted")

# Operands that have to be known at compile time, by operator: inputs from which they
# follow are bound.
CONSTANT_OPERANDS = {
    "AffineGrid": (1,), "BlackmanWindow": (0,), "CenterCropPad": (1,),
    "Col2Im": (1, 2), "Compress": (1,), "ConstantOfShape": (0,), "CumProd": (1,),
    "CumSum": (1,), "DFT": (1, 2), "Dropout": (1, 2), "Expand": (1,),
    "HammingWindow": (0,), "HannWindow": (0,), "If": (0,), "Loop": (0, 1),
    "MaxUnpool": (2,), "MelWeightMatrix": (0, 1, 2, 3, 4), "NonZero": (0,),
    "NonMaxSuppression": (2, 3, 4), "OneHot": (1,), "Pad": (1, 2, 3), "Range": (0, 1, 2), "Reshape": (1,),
    "Resize": (1, 2, 3), "STFT": (1, 3), "SequenceAt": (1,), "SequenceErase": (1,),
    "SequenceInsert": (2,), "Slice": (1, 2, 3, 4), "Split": (1,),
    "SplitToSequence": (1,), "Squeeze": (1,), "Tile": (1,), "TopK": (1,),
    "Trilu": (1,), "Unique": (0,),
    "Unsqueeze": (1,), "Upsample": (1,),
}
REDUCTIONS = (1,)
SHAPES = ("Shape", "Size")  # What they return follows from no value.


class Tools:
    """Runs the tools of a build folder."""

    def __init__(self, build):
        self.bin = pathlib.Path(build).resolve() / "bin"

    def run(self, tool, *args):
        return subprocess.run([str(self.bin / tool), *map(str, args)],
                              capture_output=True, text=True, timeout=300)


def subgraphs(node):
    return [attribute.g for attribute in node.attribute if attribute.HasField("g")]


def all_nodes(graph):
    """Also those of branches and of bodies of loops."""
    for node in graph.node:
        yield node
        for inner in subgraphs(node):
            yield from all_nodes(inner)


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
        weights = {tensor.name for tensor in self.model.graph.initializer}
        return self.tensors("input", [value for value in self.model.graph.input
                                      if value.name not in weights])

    def input_file(self, number):
        return self.folder / "test_data_set_0" / f"input_{number}.pb"

    def outputs(self):
        return self.tensors("output", self.model.graph.output)

    @functools.cached_property
    def bound(self):
        """Names of inputs that have to be known at compile time."""
        nodes = list(all_nodes(self.model.graph))
        makers = {name: node for node in nodes for name in node.output}
        found, names = set(), []
        for node in nodes:
            places = CONSTANT_OPERANDS.get(
                node.op_type,
                REDUCTIONS if node.op_type.startswith("Reduce") else ())
            names += [node.input[i] for i in places if i < len(node.input)]
        while names:
            name = names.pop()
            if name in found:
                continue
            found.add(name)
            if name in makers and makers[name].op_type not in SHAPES:
                names += makers[name].input
                for graph in subgraphs(makers[name]):
                    names += [name for node in all_nodes(graph) for name in node.input]
        return found


    @property
    def pads(self):
        """Whether the number of rows of a result depends on values."""
        return any(node.op_type == "NonMaxSuppression"
                   for node in all_nodes(self.model.graph))

    def sizes(self):
        """Options that give symbolic dimensions the sizes of the data."""
        options, inputs = [], self.inputs()
        for value in self.model.graph.input:
            for k, dim in enumerate(value.type.tensor_type.shape.dim):
                if inputs.get(value.name) is not None and not dim.HasField("dim_value"):
                    key = dim.dim_param or f"{value.name}:{k}"
                    options.append(f"--dim={key}={inputs[value.name].shape[k]}")
        return sorted(set(options))


def all_cases():
    """Every test of ONNX's, by folder and name."""
    return [Case(folder.name, folder, onnx.load(folder / "model.onnx"))
            for kind in FOLDERS for folder in sorted((DATA / kind).iterdir())]


def compile_case(tools, case, folder, *strategy):
    """The compiled model, or the importer's complaint."""
    arguments, inputs = case.sizes(), case.inputs()
    if case.pads:
        arguments.append("--pad-selections")
    for number, (name, value) in enumerate(inputs.items()):
        if name in case.bound and value is not None:
            file = case.input_file(number)
            arguments.append(f"--bind={name}={file}")
    result = tools.run("soap-compile", case.folder / "model.onnx", *strategy, *arguments,
                       "-o", folder / "model.so")
    return result.returncode == 0, result.stderr


def typed(array, dtype):
    """NumPy's files have no bfloat16, no floats of 8 bits and no integers of 4: they
    say void, as numpy.save writes arrays of ml_dtypes."""
    return array.view(dtype) if array.dtype.kind == "V" else array


def run_case(tools, case, folder):
    """Outputs of a compiled model, by name."""
    arguments, files, counts = [], {}, {}
    for number, (name, value) in enumerate(case.inputs().items()):
        if name not in case.bound and value.size:  # Nothing is fed to empty ones.
            arguments.append(f"--input={name}={case.input_file(number)}")
    for number, name in enumerate(case.outputs()):
        files[name] = folder / f"output{number}.npy"
        arguments.append(f"--output={name}={files[name]}")
        if case.pads:
            counts[name] = folder / f"count{number}.npy"
            arguments.append(f"--output={name}_count={counts[name]}")
    result = tools.run("soap-run", folder / "model.so", *arguments)
    assert result.returncode == 0, result.stderr
    outputs = {name: typed(np.load(file), case.outputs()[name].dtype)
               for name, file in files.items()}
    for name, file in counts.items():
        count = int(np.load(file))
        assert (outputs[name][count:] == -1).all()
        outputs[name] = outputs[name][:count]
    return outputs
