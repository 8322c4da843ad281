"""Recurrent layers over whole sequences: ONNX LSTM nodes (Hochreiter and
Schmidhuber, 1997, with the forget gate of Gers et al., 2000; gates in ONNX's order
input, output, forget, cell; no peepholes)."""

from .graph import concat, matmul, reshape, softmax, squeeze, transpose, unary
from .layers import linear


def time_major(g, name, x):
    """Between (b, s, c) and (s, b, c), which LSTM nodes read."""
    return transpose(g, name, x, (1, 0, 2))


def lstm(g, name, x, hidden, bidirectional=False, initial=None, states=False):
    """Of `x` (s, b, c): outputs (s, b, hidden), or twice as many if bidirectional; with
    `states` also the final states (directions, b, hidden)."""
    steps, batch, c = x.shape
    directions = 2 if bidirectional else 1
    # The two biases of a gate are one to the network; ONNX has both.
    inputs = [x, g.parameter(f"{name}.weight", (directions, 4 * hidden, c), "weight", c),
              g.parameter(f"{name}.recurrence", (directions, 4 * hidden, hidden),
                          "weight", hidden),
              g.parameter(f"{name}.bias", (directions, 8 * hidden), "bias")]
    if initial:
        inputs += [None, *initial]
    state = (directions, batch, hidden)
    outputs = [name, f"{name}.hidden", f"{name}.cell"] if states else [name]
    y, *final = g.multi_op(
        "LSTM", name, inputs, outputs,
        [(steps, directions, batch, hidden), state, state][:len(outputs)],
        hidden_size=hidden,
        direction="bidirectional" if bidirectional else "forward")
    if bidirectional:
        y = transpose(g, f"{name}.transpose", y, (0, 2, 1, 3))
        y = reshape(g, f"{name}.merge", y, (0, 0, directions * hidden))
    else:
        y = squeeze(g, f"{name}.squeeze", y, 1)
    return (y, final) if states else y


def global_attention(g, name, query, memory):
    """The context of every step of `query` (b, t, c) in `memory` (b, s, c), with the
    score h_t W h_s (Luong et al., 2015, equation 8)."""
    keys = linear(g, f"{name}.key", memory, query.shape[-1], bias=False)
    keys = transpose(g, f"{name}.key.transpose", keys, (0, 2, 1))
    weights = softmax(g, f"{name}.softmax", matmul(g, f"{name}.scores", query, keys))
    return matmul(g, f"{name}.context", weights, memory)


def attentional_state(g, name, query, context):
    """tanh(W [context; h_t]) (the same paper, equation 5)."""
    joint = concat(g, f"{name}.concat", [context, query], 2)
    combined = linear(g, f"{name}.combine", joint, query.shape[-1], bias=False)
    return unary(g, "Tanh", name, combined)
