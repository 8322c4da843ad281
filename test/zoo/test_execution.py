"""What SOAP computes equals onnxruntime: on one device, and under random structured
strategies on two to four devices: three, or two for the small and the slowest ones. A
network that cannot be imported yet is skipped; the list that test_import.py keeps exact
says so."""

import json
import sys

import numpy as np
import onnxruntime
import pytest
import zoo
from conftest import ROOT
from test_import import read_expected

sys.path.append(str(ROOT / "test" / "models"))
from compiled_models import Tools
from light_models import MIN_SPREAD, TOLERANCE, devices_of, random_seeds, spread

# Network, samples, options.
FULL = {
    "lenet5": ("lenet5", 4, {}),
    "alexnet": ("alexnet", 4, {}),
    "resnet50": ("resnet50", 2, {}),
    "inception_v3": ("inception_v3", 2, {}),
    "rnnlm_2steps": ("rnnlm_2steps", 4, {}),
    "rnnlm": ("rnnlm", 2, {}),
    "bert_2layers": ("bert_base", 2, {"layers": 2}),
    "gpt2_2layers": ("gpt2_small", 2, {"layers": 2, "seq": 64}),
    "vit_b16": ("vit_b16", 2, {}),
}
SMALL = {
    # The other families.
    "rnntc_small": ("rnntc", 4, {"layers": 2, "hidden": 64}),
    "nmt_small": ("nmt", 4, {"seq": 12, "hidden": 64, "vocabulary": 1000}),
    "gnmt_small": ("gnmt", 4, {"seq": 12, "hidden": 64, "vocabulary": 1000}),
    "transformer_small": ("transformer", 4, {
        "seq": 12, "layers": 1, "features": 64, "inner": 128, "vocabulary": 1000}),
    "llama_small": ("llama_7b", 4, {"seq": 12, "layers": 1, "features": 64, "heads": 4,
                                    "inner": 128, "vocabulary": 1000}),
    "dlrm_small": ("dlrm", 8, {"tables": (1000,) * 4}),
    "unet_small": ("unet", 1, {"size": 188}),
    "unet_resize_small": ("unet_resize", 1, {"size": 188}),
    # With the operators of the newest set.
    "bert_newest": ("bert_base", 2, {
        "opset": zoo.NEWEST_OPSET, "seq": 16, "layers": 1, "features": 96,
        "vocabulary": 1000}),
}
CASES = FULL | SMALL
SLOWEST = ("rnnlm", "rnnlm_2steps", "vit_b16")
STRATEGIES = [(case, strategy) for case in CASES for strategy in
              ("one", *range(3 if case in FULL and case not in SLOWEST else 2))]

# With recurrent layers in parts of so many steps.
UNROLLED = [("nmt_small", 1), ("nmt_small", 5), ("gnmt_small", 1), ("rnntc_small", 8)]

# Integer inputs that are not words.
FLAGS = ("attention_mask", "token_type_ids")


def importable(case):
    return CASES[case][0] not in read_expected()


@pytest.fixture(scope="module")
def tools(request):
    return Tools(request.config.getoption("--build-dir"))


@pytest.fixture(scope="module")
def model(request, tmp_path_factory):
    """The folder of a model with its inputs and onnxruntime's logits."""
    if not importable(request.param):
        pytest.skip("cannot be imported yet")
    name, batch, options = CASES[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    zoo.save(folder / "model.onnx", name, batch=batch, weights="random:1", **options)
    session_options = onnxruntime.SessionOptions()
    session_options.log_severity_level = 3
    session_options.intra_op_num_threads = 2
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), session_options,
                                           providers=["CPUExecutionProvider"])
    generator = np.random.default_rng(1)
    feeds = {}
    for value in session.get_inputs():
        feeds[value.name] = (
            generator.random(value.shape, np.float32) if value.type == "tensor(float)"
            else generator.integers(0, 2 if value.name in FLAGS else 1000, value.shape))
        np.save(folder / f"{value.name}.npy", feeds[value.name])
    (logits,) = session.run(["logits"], feeds)
    assert spread(logits) >= MIN_SPREAD
    np.save(folder / "expected.npy", logits)
    yield request.param, folder, list(feeds)
    for file in folder.iterdir():
        file.unlink()  # Hundreds of megabytes.


def expect_equal(tools, folder, inputs, *arguments):
    """Compiles the model with these arguments, runs it and compares."""
    tools.run("soap-compile", folder / "model.onnx", *arguments, "--no-reference",
              "-o", folder / "model.so")
    result = tools.run(
        "soap-run", folder / "model.so",
        *(f"--input={name}={folder / name}.npy" for name in inputs),
        f"--expected=logits={folder / 'expected.npy'}", f"--rtol={TOLERANCE}",
        "--atol=0", "--json", check=False)
    assert result.stdout, result.stderr
    (compared,) = json.loads(result.stdout)["expected"]
    assert compared["norm_rel"] <= TOLERANCE


@pytest.mark.parametrize("model, strategy", STRATEGIES, indirect=["model"])
def test_equals_onnxruntime(tools, model, strategy):
    case, folder, inputs = model
    arguments = ["--devices=1"]
    if strategy != "one":
        seed = random_seeds(case, 5)[strategy]
        arguments = [f"--devices={devices_of(seed)}", "--strategy=random",
                     f"--seed={seed}"]
    expect_equal(tools, folder, inputs, *arguments)


@pytest.mark.parametrize("model, chunk", UNROLLED, indirect=["model"])
def test_unrolled_equals_onnxruntime(tools, model, chunk):
    case, folder, inputs = model
    for arguments in (["--devices=1"],
                      ["--devices=2", "--strategy=random",
                       f"--seed={random_seeds(case, 1)[0]}"]):
        expect_equal(tools, folder, inputs, f"--unroll-rnn={chunk}", *arguments)
