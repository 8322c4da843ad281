"""Values that are made again for the backward pass (--recompute), beside
micro-batches, unrolled recurrent layers and running statistics: on one device no bit
of what lasts changes, and on several its numbers are those of one."""

import numpy as np
import pytest
from test_training import MODELS, Model
from test_updates import TRAINED, Step, near

STEPS = 3


def language_model():
    """An embedding, an LSTM and a GRU whose first states are zero, steps first."""
    m = Model(13)
    steps, batch, hidden = 6, 4, 5
    m.inputs["tokens"] = m.random.integers(0, 7, (steps, batch))
    m.weights["direction"] = np.array([1])
    x = m.node("Gather", [m.weight("table", 7, hidden), "tokens"], "embedding")
    for kind, gates in ("LSTM", 4), ("GRU", 3):
        name = kind.lower()
        y = m.node(kind, [x, m.weight(name + ".w", 1, gates * hidden, hidden),
                          m.weight(name + ".r", 1, gates * hidden, hidden),
                          m.weight(name + ".b", 1, 2 * gates * hidden)], name + ".all",
                   hidden_size=hidden)
        x = m.node("Tanh", [m.node("Squeeze", [y, "direction"], name)], name + ".tanh")
    m.node("MatMul", [x, m.weight("head", hidden, 7)], "scores")
    return m, m.proto("scores", [steps, batch, 7]), [steps, batch, 7], 2


NETWORKS = {**MODELS, "language model": language_model}
MICRO = ["--accumulate=2"]
UNROLLED = ["--unroll-rnn=2"]
WORDS = ["--batch-dim=tokens=1"]
CASES = {
    "statistics of micro-batches": ("convolutional", MICRO),
    "statistics of parts": ("convolutional", ["--batch-norm=local",
                                              "--batch-norm-parts=2"]),
    "attention in micro-batches": ("transformer", ["--accumulate=3"]),
    "parts of recurrent layers": ("recurrent", UNROLLED),
    "recurrent layers in micro-batches": ("language model", [*MICRO, *WORDS]),
    "parts in micro-batches": ("language model", [*MICRO, *UNROLLED, *WORDS]),
}


@pytest.fixture(scope="module")
def steps(tools, tmp_path_factory):
    folder, result = tmp_path_factory.mktemp("recomputation"), {}
    for name in {name for name, _ in CASES.values()}:
        m, proto, shape, axis = NETWORKS[name]()
        labels = m.random.integers(0, shape[axis], shape[:axis] + shape[axis + 1:])
        result[name] = Step(tools, folder, name, proto, {**m.inputs, "label": labels}), axis
    return result


@pytest.mark.parametrize("case", CASES)
def test_changes_nothing(steps, case):
    name, how = CASES[case]
    step, axis = steps[name]
    # Operations that are fused with others may round otherwise.
    how = [*TRAINED, f"--class-axis={axis}", "--no-fuse", *how]
    expected = step.state(step.compiled(*how), STEPS)
    again = step.state(step.compiled(*how, "--recompute=.*"), STEPS)
    assert again.keys() == expected.keys()
    for key, value in expected.items():
        assert np.array_equal(again[key], value), key
    spread = step.compiled(*how, "--recompute=.*", "--devices=3", "--strategy=random",
                           "--seed=4", "--prove")
    near(step.state(spread, STEPS), expected, 1e-9)
