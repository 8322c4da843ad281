#!/usr/bin/env python3
"""Writes the values of --init-weights=random:SEED beside an ONNX file (OUT.onnx.data),
so that onnxruntime computes with the weights that SOAP makes from recipes, and adds
intermediate tensors as outputs.

  materialize_weights.py resnet50.onnx --seed=1 --batch=4 --intermediate=10 \\
      -o seeded.onnx --outputs-only=outputs.onnx
  soap-compile outputs.onnx --batch=4 --init-weights=random:1 -o model.so

computes the same outputs as onnxruntime on seeded.onnx. Recipes come from
soap-translate (in PATH, or --soap-translate=FILE). Runs in the environment of
scripts/setup.sh.
"""

import argparse
import copy
import json
import os
import random
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import random_recipe


ANY = "any"
ALIGNMENT = 64  # Of tensors in a file of values, in bytes.


def batch_size(text):
    return ANY if text == ANY else int(text)


def recipes_of(arguments):
    """The recipes that the importer chooses, from soap-translate."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "recipes.json")
        command = [
            arguments.soap_translate,
            "--import-onnx",
            arguments.model,
            f"--init-weights=random:{arguments.seed}",
            f"--emit-recipes={path}",
            "-o",
            os.devnull,
        ]
        if arguments.batch not in (None, ANY):
            command.append(f"--batch={arguments.batch}")
        command += [f"--dim={dim}" for dim in arguments.dim]
        if subprocess.run(command).returncode:
            sys.exit(2)
        with open(path) as file:
            return json.load(file)


def remove_initializer_inputs(graph):
    """Initializers that are inputs too would not be constants to onnxruntime."""
    names = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in names]
    del graph.input[:]
    graph.input.extend(inputs)


def set_batch(graph, batch):
    """The size `batch` for dimension 0 of all inputs and outputs, and for the
    first entry of constant Reshape shapes that start with the old size. ANY is a
    symbol there, and in shapes the size of what is reshaped."""
    old = {value.type.tensor_type.shape.dim[0].dim_value for value in graph.input}
    for value in [*graph.input, *graph.output]:
        dims = value.type.tensor_type.shape.dim
        if dims and batch == ANY:
            dims[0].dim_param = "batch"
        elif dims:
            dims[0].dim_value = batch
    del graph.value_info[:]
    shapes = {t.name: t for t in graph.initializer}
    patched = {}
    for node in graph.node:
        if node.op_type != "Reshape" or node.input[1] not in shapes:
            continue
        shape = numpy_helper.to_array(shapes[node.input[1]])
        if len(shape) and shape[0] in old and shape[0] != batch:
            shape = np.array([0 if batch == ANY else batch, *shape[1:]], dtype=np.int64)
            name = f"{node.input[1]}__batch{batch}"
            patched[name] = numpy_helper.from_array(shape, name)
            node.input[1] = name
    graph.initializer.extend(patched.values())


def external(name, shape, file, values):
    """An initializer whose float32 values are appended to an open file."""
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape,
                         data_location=TensorProto.EXTERNAL)
    file.write(bytes(-file.tell() % ALIGNMENT))
    for key, value in (("location", os.path.basename(file.name)),
                       ("offset", file.tell()), ("length", values.nbytes)):
        tensor.external_data.add(key=key, value=str(value))
    values.tofile(file)
    return tensor


def materialize(graph, recipes, file):
    """Replaces the tensors of `recipes` by initializers whose values are in `file`."""
    initializers = {tensor.name: tensor for tensor in graph.initializer}
    producers = {name: node for node in graph.node for name in node.output}
    removed = set()
    for recipe in recipes:
        name = recipe["tensor"]
        if name in initializers:
            shape = list(initializers[name].dims)
        else:
            node = producers[name]
            removed.add(id(node))
            if node.op_type == "ConstantOfShape":
                shape = numpy_helper.to_array(initializers[node.input[0]]).tolist()
            else:
                shape = list(node.attribute[0].t.dims)
        data = random_recipe.values(
            int(recipe["seed"]), name, recipe["elements"],
            recipe["distribution"], recipe["a"], recipe["b"],
        )
        tensor = external(name, shape, file, data)
        if name in initializers:
            initializers[name].CopyFrom(tensor)
        else:
            graph.initializer.append(tensor)
    nodes = [node for node in graph.node if id(node) not in removed]
    del graph.node[:]
    graph.node.extend(nodes)


def live_tensors(graph):
    """Names of tensors that depend on an input and reach an output, in order."""
    live = {value.name for value in graph.input}
    live -= {tensor.name for tensor in graph.initializer}
    names, needed = [], {value.name for value in graph.output}
    for node in graph.node:
        if live & set(node.input):
            live.update(node.output[:1])
            names.append((node.output[0], node))
    for node in reversed(graph.node):
        if needed & set(node.output):
            needed.update(node.input)
    return [(name, node) for name, node in names if name in needed]


def chosen_outputs(graph, arguments):
    present = {value.name for value in graph.output}
    tensors = live_tensors(graph)
    if arguments.outputs:
        names = arguments.outputs.split(",")
        unknown = set(names) - {name for name, _ in tensors}
        if unknown:
            sys.exit(f"error: expected tensors of the model, got: {sorted(unknown)}")
        return [name for name in names if name not in present]
    # What a Softmax reads, and a seeded choice of the others.
    names = [node.input[0] for _, node in tensors if node.op_type == "Softmax"]
    others = [n for n, _ in tensors if n not in present and n not in names]
    count = min(arguments.intermediate, len(others))
    picked = set(random.Random(arguments.seed).sample(others, count))
    return names + [name for name in others if name in picked]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", metavar="MODEL.onnx")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--batch", type=batch_size, metavar="N|any",
                        help="the batch of OUT.onnx: as in the model by default; with "
                        "any, it runs with every one")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=N")
    parser.add_argument("--outputs", help="tensors to add as outputs, with commas")
    parser.add_argument("--intermediate", type=int, default=0, metavar="K",
                        help="add K seeded tensors and what softmaxes read")
    parser.add_argument("--outputs-only", metavar="FILE.onnx",
                        help="also write the model with these outputs, but with the "
                        "weights and the batch that it had")
    parser.add_argument("--soap-translate", default="soap-translate")
    parser.add_argument("-o", "--output", required=True, metavar="OUT.onnx")
    arguments = parser.parse_args()

    recipes = recipes_of(arguments)
    model = onnx.load(arguments.model)
    graph = model.graph
    if arguments.outputs or arguments.intermediate:
        for name in chosen_outputs(graph, arguments):
            graph.output.append(
                helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
            )
    if arguments.outputs_only:
        onnx.save(copy.deepcopy(model), arguments.outputs_only)
    remove_initializer_inputs(graph)
    model.ir_version = max(model.ir_version, 8)
    if arguments.batch:
        set_batch(graph, arguments.batch)
    with open(f"{arguments.output}.data", "wb") as file:
        materialize(graph, recipes, file)
    onnx.save(model, arguments.output)
    for output in graph.output:
        print(output.name)


if __name__ == "__main__":
    main()
