"""The models are valid ONNX in every operator set, with readable names, and the
arguments do what they say."""

import os
import subprocess
import sys

import numpy as np
import onnx
import pytest
import zoo
from conftest import ROOT
from onnx import numpy_helper

NAMES = list(zoo.NETWORKS)
NEWEST = zoo.NEWEST_OPSET


def check(model):
    onnx.checker.check_model(model, full_check=True)
    shapes = zoo.count.tensor_shapes(model)
    outputs = [name for node in model.graph.node for name in node.output]
    assert not [name for name in outputs
                if name not in shapes or None in shapes[name]]
    return shapes


def build_any(name, opset, **arguments):
    opset = max(opset, zoo.NETWORKS[name].minimum_opset)
    return zoo.build(name, opset=opset, **arguments)


# The sets where operators of the zoo change: attributes that become inputs (10, 13, 18),
# LayerNormalization (17), Gelu (20).
@pytest.mark.parametrize("opset", [9, 10, 11, 12, 13, 17, 18, 20, NEWEST])
@pytest.mark.parametrize("name", NAMES)
def test_valid(name, opset):
    model = build_any(name, opset)
    check(model)
    dims = {value.type.tensor_type.shape.dim[0].dim_param for value in model.graph.input}
    assert dims == {"batch"}


@pytest.mark.parametrize("opset", [12, 13, 17, NEWEST])
@pytest.mark.parametrize("name", NAMES)
def test_valid_with_loss_and_batch(name, opset):
    model = build_any(name, opset, loss=True, batch=3)
    shapes = check(model)
    assert [value.name for value in model.graph.output] == ["loss"]
    assert shapes["loss"] == ()
    assert all(shapes[value.name][0] == 3 for value in model.graph.input)
    assert "labels" in {value.name for value in model.graph.input}


@pytest.mark.parametrize("name", NAMES)
def test_names(name):
    """Nodes have unique names, and their first output the same one, but for the ends
    of the graph."""
    model = zoo.build(name)
    names = [node.name for node in model.graph.node]
    assert len(set(names)) == len(names) and all(names)
    renamed = [node.output[0] for node in model.graph.node
               if node.output[0] not in (node.name, f"{node.name}.1")]
    assert set(renamed) == {value.name for value in model.graph.output}


def test_names_are_the_documented_ones():
    """Strategies refer to them."""
    def kinds(name):
        return {node.name: node.op_type for node in zoo.build(name).graph.node}
    assert kinds("resnet101")["layer3.block5.conv2"] == "Conv"
    assert kinds("nmt")["decoder.lstm2"] == "LSTM"
    assert kinds("bert_base")["layer12.attention.query"] == "MatMul"
    assert kinds("vgg19")["fc8"] == "Gemm"


@pytest.mark.parametrize("name", NAMES)
def test_light_models_are_small(name):
    # Tables of rotary embeddings are real numbers.
    assert zoo.build(name).ByteSize() < 2_000_000


@pytest.mark.parametrize("name", ["lenet5", "resnet50", "rnnlm_2steps"])
def test_light_parameters_are_nodes(name):
    model = zoo.build(name)
    assert not [t.name for t in model.graph.initializer
                if t.data_type == onnx.TensorProto.FLOAT and t.dims]


def weights(model):
    return {t.name: numpy_helper.to_array(t) for t in model.graph.initializer
            if t.data_type == onnx.TensorProto.FLOAT}


def test_random_weights():
    first, again, other = (weights(zoo.build("resnet50", weights=f"random:{seed}"))
                           for seed in (7, 7, 8))
    assert first.keys() == again.keys() == other.keys()
    assert all(np.array_equal(first[name], again[name]) for name in first)
    name = "layer3.block5.conv2.weight"
    assert not np.array_equal(first[name], other[name])
    # Variance 2 / fan_in, for 256 channels of 3 x 3.
    assert np.var(first[name]) == pytest.approx(2 / (256 * 9), rel=0.01)
    assert np.all(first["layer1.block1.bn1.variance"] >= 0.5)


def test_large_weights_are_external(tmp_path):
    path = tmp_path / "rnntc.onnx"
    zoo.save(path, "rnntc", weights="random:1", batch=1)
    data = tmp_path / "rnntc.onnx.data"
    assert path.stat().st_size < 100_000 < 100_000_000 < data.stat().st_size
    # The same as those in memory.
    written, built = onnx.load(path), zoo.build("rnntc", weights="random:1", batch=1)
    a, b = weights(written), weights(built)
    assert a.keys() == b.keys()
    assert all(np.array_equal(a[name], b[name]) for name in a)
    # Light weights leave no data behind.
    zoo.save(path, "rnntc", batch=1)
    assert not data.exists()


def test_small_weights_are_inside(tmp_path):
    zoo.save(tmp_path / "lenet.onnx", "lenet5", weights="random:1")
    assert os.listdir(tmp_path) == ["lenet.onnx"]


@pytest.mark.parametrize("arguments, message", [
    ({"name": "resnet"}, "expected one of lenet5, .*, got: resnet"),
    ({"name": "lenet5", "opset": 8}, "expected an operator set from 9 to .*, got: 8"),
    ({"name": "lenet5", "opset": 11, "loss": True}, "from 12 to .*, got: 11"),
    ({"name": "lenet5", "opset": NEWEST + 1}, f"got: {NEWEST + 1}"),
    ({"name": "lenet5", "batch": 0}, "expected a batch of at least 1, got: 0"),
    ({"name": "lenet5", "seq": 4}, "expected no sequence length for lenet5, got: 4"),
    ({"name": "gpt2_small", "seq": 1025}, "expected at most 1024 steps, got: 1025"),
    ({"name": "bert_base", "seq": 513}, "expected at most 512 steps, got: 513"),
    ({"name": "unet", "size": 570}, "expected a size of 188 plus .*, got: 570"),
    ({"name": "lenet5", "weights": "random"}, "expected light or random:SEED, got: "),
    ({"name": "lenet5", "layers": 2}, "expected no option for lenet5, got: layers"),
    ({"name": "bert_base", "depth": 2}, "expected an option of .*layers.*, got: depth"),
    ({"name": "bert_base", "layers": 0}, "expected a size of at least 1 for layers"),
    ({"name": "bert_base", "layers": "2"}, "expected a size of at least 1 for layers"),
    ({"name": "bert_base", "heads": 7}, "heads that divides 768 features, got: 7"),
    ({"name": "llama_7b", "features": 32}, "expected heads of an even size, got: 1"),
    ({"name": "transformer", "features": 7, "heads": 7}, "even number of features"),
    ({"name": "resnet50", "blocks": (1, 0)}, "expected sizes of at least 1, .*blocks"),
    ({"name": "unet", "resize": 2}, "expected 0 or 1 for resize, got: 2"),
])
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        zoo.build(**arguments)


def run(*arguments):
    return subprocess.run([sys.executable, "-m", "zoo", *map(str, arguments)],
                          cwd=ROOT / "benchmarks", capture_output=True, text=True)


def test_command_line(tmp_path):
    path = tmp_path / "bert.onnx"
    result = run("bert_base", "--batch=2", "--seq=16", "--opset=20", "--loss",
                 "--weights=light", "--option=layers=2", "-o", path)
    assert result.returncode == 0, result.stderr
    assert onnx.load(path) == zoo.build("bert_base", batch=2, seq=16, opset=20,
                                        loss=True, layers=2)


def test_command_line_takes_several_sizes(tmp_path):
    path = tmp_path / "model.onnx"
    for name, text, options in (("resnet50", "blocks=1,1,1,1", {"blocks": (1, 1, 1, 1)}),
                                ("dlrm", "tables=9", {"tables": (9,)}),
                                ("unet", "resize=1", {"resize": True})):
        result = run(name, f"--option={text}", "-o", path)
        assert result.returncode == 0, result.stderr
        assert onnx.load(path) == zoo.build(name, **options)


def test_command_line_lists_all():
    lines = run("--list").stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == NAMES
    assert "44,549,160" in next(line for line in lines if line.startswith("resnet101"))


@pytest.mark.parametrize("arguments, message", [
    (("lenet", "-o", "x.onnx"), "expected one of"),
    (("lenet5", "-o", "/nowhere/x.onnx"), "No such file"),
    (("lenet5", "--option=layers", "-o", "x.onnx"), "expected --option KEY=N"),
    (("gnmt", "--option=seq=8", "-o", "x.onnx"), "'seq' has an argument of its own"),
    (("resnet50", "--option=blocks=1,,1", "-o", "x.onnx"), "expected --option KEY=N"),
    (("lenet5",), "expected --list, or NAME and -o"),
])
def test_command_line_errors(arguments, message):
    result = run(*arguments)
    assert result.returncode != 0 and message in result.stderr
    assert "Traceback" not in result.stderr
