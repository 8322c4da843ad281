"""The networks, as ONNX files with weights that all engines read."""

import pathlib
import subprocess
import sys

import numpy as np
import onnx
import zoo
from zoo.graph import Graph
from zoo.layers import batch_norm, conv, fully_connected, global_average_pool, relu
from zoo.weights import save as save_graph

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIGHT = pathlib.Path(onnx.__file__).parent / "backend/test/data/light"
# Networks of the ONNX package, with the seeded weights that SOAP makes.
PACKAGED = ("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet", "squeezenet",
            "vgg19", "zfnet512")
# Networks of the zoo, with the options that are not its own.
ZOO = {"vit_b16": {}, "gpt2_small": {}, "rnnlm": {}, "nmt": {}, "unet": {}, "bert_base": {}, "resnet101": {},
       "transformer": {}, "rnntc": {}, "dlrm": {}, "llama_7b": {"layers": 2, "seq": 128}}
SEED = 1


def depthwise_network(g):
    """Depthwise convolutions and pointwise ones in turn: the sizes of MobileNets (Howard et al., 2017, table 1)."""
    def layer(name, x, channels, kernel, stride, group=1):
        y = conv(g, name, x, channels, kernel, stride, kernel // 2, group, bias=False)
        return relu(g, f"{name}.relu", batch_norm(g, f"{name}.norm", y))
    x = layer("conv1", g.input("image", (g.batch, 3, 224, 224)), 32, 3, 2)
    blocks = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1))
    for number, (channels, stride) in enumerate(blocks, 1):
        x = layer(f"block{number}.depthwise", x, x.shape[1], 3, stride, x.shape[1])
        x = layer(f"block{number}.pointwise", x, channels, 1, 1)
    g.output(fully_connected(g, "fc", global_average_pool(g, "pool", x), 1000), "logits")


NAMES = (*PACKAGED, *ZOO, "mobilenet")


def write(name, batch, path, build):
    """The network as a file; `build` is the folder of the build, whose importer makes the packaged ones' weights."""
    if name in PACKAGED:
        command = [sys.executable, ROOT / "scripts/materialize_weights.py", LIGHT / f"light_{name}.onnx",
                   f"--seed={SEED}", f"--batch={batch}", f"--soap-translate={build / 'bin/soap-translate'}",
                   "-o", path]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    elif name == "mobilenet":
        graph = Graph(name, zoo.DEFAULT_OPSET, batch)
        depthwise_network(graph)
        save_graph(graph, f"random:{SEED}", "depthwise convolutions", path)
    else:
        zoo.save(path, name, batch=batch, weights=f"random:{SEED}", **ZOO[name])


def rows_read_by(model, name):
    """Of the smallest table that the integers of an input are looked up in, or 100."""
    sizes = {tensor.name: tensor.dims for tensor in model.graph.initializer}
    rows = [sizes[node.input[0]][0] for node in model.graph.node
            if node.op_type == "Gather" and node.input[1] == name and node.input[0] in sizes]
    return min([100, *rows])


def feeds(path):
    """Inputs by name: normal floats, integers from 0 to 99, or below the number of rows that they look up; masks hide
    nothing."""
    random = np.random.default_rng(0)
    model = onnx.load(path, load_external_data=False)
    weights = {tensor.name for tensor in model.graph.initializer}
    result = {}
    for port in model.graph.input:
        if port.name in weights:
            continue
        tensor = port.type.tensor_type
        shape = [dim.dim_value for dim in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        floats = np.issubdtype(dtype, np.floating)
        if port.name.endswith("mask"):
            values = np.ones(shape)
        elif floats:
            values = random.standard_normal(shape)
        else:
            values = random.integers(0, rows_read_by(model, port.name), shape)
        result[port.name] = values.astype(dtype)
    return result
