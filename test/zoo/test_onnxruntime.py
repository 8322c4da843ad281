"""onnxruntime runs every network at batch 1, and what networks must not see they do not
see. The two largest run in full with --large, else with fewer layers and
steps."""

import numpy as np
import onnx
import onnxruntime
import pytest
import zoo

FEWER = {
    "gpt2_medium": {"seq": 64, "layers": 2},
    "llama_7b": {"seq": 64, "layers": 1},
}
MEMORY_GB = {"llama_7b": 60}  # In full; others need less than 10.


def session_of(path_or_bytes):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 2
    return onnxruntime.InferenceSession(path_or_bytes, options,
                                        providers=["CPUExecutionProvider"])


def feeds_of(session, seed=0):
    generator = np.random.default_rng(seed)
    return {value.name: generator.random(value.shape, np.float32)
            if value.type == "tensor(float)"
            else generator.integers(0, 2, value.shape) for value in session.get_inputs()}


def run(path, seed=0, **changed):
    session = session_of(str(path))
    return session.run(None, feeds_of(session, seed) | changed)


def memory_gb():
    with open("/proc/meminfo") as lines:
        return int(next(lines).split()[1]) / 2**20


@pytest.mark.parametrize("name", list(zoo.NETWORKS))
def test_runs(name, tmp_path, request):
    large = request.config.getoption("--large")
    if large and memory_gb() < MEMORY_GB.get(name, 0):
        pytest.skip(f"needs {MEMORY_GB[name]} GB of memory")
    options = {} if large else FEWER.get(name, {})
    path = tmp_path / "model.onnx"
    zoo.save(path, name, batch=1, **options)
    shapes = zoo.count.tensor_shapes(onnx.load(path))
    session = session_of(str(path))
    values = session.run(None, feeds_of(session))
    for output, value in zip(session.get_outputs(), values, strict=True):
        assert value.shape == shapes[output.name]
        assert np.isfinite(value).all()


def spread(value):
    return value.std() / np.sqrt(np.mean(value.astype(np.float64)**2))


# One of each family, small enough for random weights.
SMALL = {
    "lenet5": {}, "alexnet": {}, "inception_v3_aux": {}, "resnet50": {},
    "resnet200": {},
    "rnntc": {"layers": 2, "hidden": 64},
    "rnnlm_2steps": {"hidden": 64},
    "nmt": {"hidden": 64, "vocabulary": 500},
    "gnmt": {"hidden": 64, "vocabulary": 500},
    "transformer": {"layers": 2, "features": 64, "inner": 128, "vocabulary": 500},
    "bert_base": {"layers": 2, "features": 96, "seq": 16, "vocabulary": 500},
    "gpt2_small": {"layers": 2, "features": 96, "seq": 16, "vocabulary": 500},
    "vit_b16": {"layers": 2, "features": 96, "inner": 128},
    "llama_7b": {"layers": 2, "features": 128, "heads": 4, "inner": 256, "seq": 16,
                 "vocabulary": 500},
    "dlrm": {"tables": (10, 20, 30)},
    "unet": {"size": 188}, "unet_resize": {"size": 188},
}


@pytest.mark.parametrize("name", SMALL)
def test_random_weights_say_something(name, tmp_path):
    """Outputs are neither constant nor far from 1, and depend on the input."""
    zoo.save(tmp_path / "model.onnx", name, batch=1, weights="random:1", **SMALL[name])
    first, second = (run(tmp_path / "model.onnx", seed) for seed in (0, 1))
    for a, b in zip(first, second, strict=True):
        rms = np.sqrt(np.mean(a.astype(np.float64)**2))
        assert 0.01 < rms < 100
        assert a.size < 3 or spread(a) > 0.1
        assert not np.allclose(a, b, rtol=1e-3)


@pytest.mark.parametrize("name, opset", [
    (name, opset) for opset in (9, 12, 13, 20, 25)
    for name in ("rnnlm_2steps", "transformer", "bert_base", "gpt2_small", "vit_b16",
                 "llama_7b", "unet_resize", "dlrm")])
def test_operator_sets_agree(name, opset, tmp_path):
    outputs = []
    for number in (zoo.DEFAULT_OPSET, opset):
        path = tmp_path / f"{number}.onnx"
        zoo.save(path, name, batch=1, weights="random:1", opset=number, **SMALL[name])
        outputs.append(run(path)[0])
    a, b = outputs
    assert np.linalg.norm(a - b) < 1e-5 * np.linalg.norm(a)


@pytest.mark.parametrize("name, words, causal", [
    ("rnnlm", "tokens", True), ("gpt2_small", "tokens", True),
    ("llama_7b", "tokens", True), ("transformer", "target", True),
    ("transformer", "source", False), ("nmt", "target", True),
    ("nmt", "source", False), ("gnmt", "target", True), ("gnmt", "source", False)])
def test_steps_do_not_see_later_ones(name, words, causal, tmp_path):
    """A changed word changes the steps from it on; one of the source all."""
    options = {"hidden": 64} if name == "rnnlm" else SMALL[name]
    path = tmp_path / "model.onnx"
    zoo.save(path, name, batch=1, weights="random:1", **options | {"seq": 12})
    session = session_of(str(path))
    feeds = feeds_of(session)
    changed = feeds[words].copy()
    changed[0, 7] += 2
    a = session.run(None, feeds)[0]
    b = session.run(None, feeds | {words: changed})[0]
    differs = np.abs(a - b).max(axis=2)[0] > 1e-5
    assert differs[7:].all() and (differs[:7] == (not causal)).all()


def test_bert_does_not_see_padding(tmp_path):
    path = tmp_path / "model.onnx"
    zoo.save(path, "bert_base", batch=1, weights="random:1", **SMALL["bert_base"])
    session = session_of(str(path))
    feeds = feeds_of(session)
    feeds["attention_mask"] = (np.arange(16) < 10).astype(np.int64)[None]
    changed = feeds["input_ids"].copy()
    changed[0, 12] += 2
    run = lambda **other: session.run(None, feeds | other)[0]
    assert np.allclose(run(), run(input_ids=changed), atol=1e-6)
    everything = np.ones((1, 16), np.int64)
    assert not np.allclose(run(attention_mask=everything),
                           run(attention_mask=everything, input_ids=changed), atol=1e-4)


@pytest.mark.parametrize("name", ["lenet5", "dlrm", "rnnlm_2steps", "unet"])
def test_loss_is_cross_entropy(name, tmp_path):
    """Of the logits of the same model."""
    for loss in (False, True):
        zoo.save(tmp_path / f"{loss}.onnx", name, batch=3, weights="random:1", loss=loss,
                 **SMALL[name])
    session = session_of(str(tmp_path / "True.onnx"))
    feeds = feeds_of(session)
    labels = feeds["labels"]
    loss = session.run(None, feeds)[0]
    del feeds["labels"]
    logits = session_of(str(tmp_path / "False.onnx")).run(None, feeds)[0]
    logits = logits.astype(np.float64)
    if name == "dlrm":
        signs = np.where(labels == 1, -1, 1)
        expected = np.log1p(np.exp(signs * logits[:, 0])).mean()
    else:
        axis = 2 if logits.ndim == 3 else 1
        picked = np.take_along_axis(logits, np.expand_dims(labels, axis), axis)
        total = np.log(np.exp(logits).sum(axis=axis, keepdims=True))
        expected = (total - picked).mean()
    assert loss == pytest.approx(expected, rel=1e-4)
