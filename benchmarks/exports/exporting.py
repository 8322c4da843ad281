"""Exports a network, and runs the export in onnxruntime. Each is called in a process of its own."""

import json
import tempfile
import warnings

import numpy as np
import onnx
import onnxruntime
import torch

from .networks import NETWORKS
from .rows import EXPORTED

SEED = 1


def sample(network, sizes):
    torch.manual_seed(SEED)
    made = NETWORKS[network].build(*sizes)
    made.module.eval()
    return made


def load_libraries():
    """Makes the exporters and transformers load and build what they do once per process, so that forks have it."""
    import transformers.modeling_utils  # noqa: F401
    module, x = torch.nn.Linear(2, 2).eval(), torch.zeros(2, 2)
    with tempfile.TemporaryDirectory() as folder:
        for options in ({"dynamo": True, "dynamic_shapes": {"input": {0: "batch"}}, "verbose": False},
                        {"dynamo": False}):
            torch.onnx.export(module, (x,), f"{folder}/model.onnx", **options)


class Positional(torch.nn.Module):
    """A module that takes its inputs by position and returns a tuple of tensors, as TorchScript wants it."""

    def __init__(self, module, names):
        super().__init__()
        self.module, self.names = module, names

    def forward(self, *inputs):
        return tuple(flat(self.module(**dict(zip(self.names, inputs)))))


def export(row, folder):
    """Writes model.onnx, the arguments as they are compiled for, and what PyTorch makes of them."""
    warnings.simplefilter("ignore")
    made = sample(row.network, EXPORTED)
    names = list(made.inputs)
    options = {"dynamo": row.exporter == "dynamo", "opset_version": row.opset,
               "input_names": names}
    if row.shapes == "dynamic":
        key = "dynamic_shapes" if row.exporter == "dynamo" else "dynamic_axes"
        options[key] = made.dynamic
    if row.exporter == "dynamo":
        options["verbose"] = False
        torch.onnx.export(made.module, (), folder / "model.onnx", kwargs=made.inputs, **options)
    else:
        torch.onnx.export(Positional(made.module, names).eval(), tuple(made.inputs.values()),
                          str(folder / "model.onnx"), **options)
    inputs = sample(row.network, row.compiled_sizes).inputs if row.shapes == "dynamic" else \
        made.inputs
    with torch.no_grad():
        outputs = flat(made.module(**inputs))
    np.savez(folder / "inputs.npz", **{name: value.numpy() for name, value in inputs.items()})
    np.savez(folder / "torch.npz", *[value.numpy() for value in outputs])


def flat(outputs):
    """The tensors of nested tuples, lists and dictionaries, in order."""
    if isinstance(outputs, torch.Tensor):
        return [outputs]
    if isinstance(outputs, dict):
        outputs = list(outputs.values())
    if not isinstance(outputs, (tuple, list)):
        return []
    return [tensor for part in outputs for tensor in flat(part)]


def norm_error(got, expected):
    """The 2-norm of the difference, relative to that of what is expected."""
    if got.shape != expected.shape:
        return float("inf")
    got, expected = got.astype(np.float64), expected.astype(np.float64)
    norm = np.linalg.norm(expected)
    error = np.linalg.norm(got - expected)
    return float(error / norm) if norm else (0.0 if error == 0 else float("inf"))


def reference(folder):
    """Runs onnxruntime. Writes input and output files, and ort.json: their names, the sizes of
    symbols, and how far PyTorch is from onnxruntime."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options,
                                           providers=["CPUExecutionProvider"])
    given = dict(np.load(folder / "inputs.npz"))
    feeds = {value.name: given[value.name] for value in session.get_inputs()}
    names = [value.name for value in session.get_outputs()]
    outputs = session.run(names, feeds)
    pytorch = list(np.load(folder / "torch.npz").values())
    errors = [norm_error(a, b) for a, b in zip(pytorch, outputs)]
    report = {"inputs": {}, "outputs": {}, "dims": sizes_of_symbols(folder, feeds),
              "torch_error": max(errors) if len(pytorch) == len(outputs) else None,
              "nodes": len(onnx.load(folder / "model.onnx", load_external_data=False).graph.node),
              "spread": 0.0}
    for kind, values in (("inputs", feeds), ("outputs", dict(zip(names, outputs)))):
        for index, (name, value) in enumerate(values.items()):
            file = folder / f"{kind}{index}.npy"
            np.save(file, value)
            report[kind][name] = file.name
    for value in outputs:
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            print(f"error: an output of onnxruntime is not finite")
            raise SystemExit(1)
        if value.size:
            report["spread"] = max(report["spread"], float(np.std(value.astype(np.float64))))
    (folder / "ort.json").write_text(json.dumps(report))


def sizes_of_symbols(folder, feeds):
    """Sizes of the inputs' open dimensions, as --dim takes them."""
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    sizes = {}
    for value in model.graph.input:
        for k, dim in enumerate(value.type.tensor_type.shape.dim):
            if value.name in feeds and not dim.HasField("dim_value"):
                size = feeds[value.name].shape[k]
                sizes[dim.dim_param or f"{value.name}:{k}"] = size
    return sizes
