"""Recurrent layers in all forms."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from .build import model, weight

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
STEPS, BATCH, INPUTS, HIDDEN = 5, 3, 4, 2


def layer(op, form, inputs=(), directions=1, **attributes):
    """A node that reads x, its own weights and more inputs by place; its outputs."""
    name = f"{op}_{form}".lower()
    operands = ["x", f"{op}_w{directions}", f"{op}_r{directions}", f"{op}_b{directions}"]
    places = {"lengths": 4, "h": 5, "c": 6, "p": 7}
    for each in inputs:
        while len(operands) <= places[each]:
            operands.append("")
        operands[places[each]] = each if each == "lengths" else f"{each}{directions}"
    outputs = [f"{name}_y", f"{name}_h"] + [f"{name}_c"] * (op == "LSTM")
    if directions == 2:
        attributes["direction"] = "bidirectional"
    return helper.make_node(op, operands, outputs, name=name, hidden_size=HIDDEN,
                            **attributes)


def layers(op):
    more = {"LSTM": [("peeps", ("p",), {}), ("coupled", ("p",), {"input_forget": 1}),
                     ("all", ("lengths", "h", "c", "p"), {"clip": 0.4})],
            "GRU": [("linear", ("h",), {"linear_before_reset": 1}),
                    ("all", ("lengths", "h"), {"linear_before_reset": 1, "clip": 0.4})],
            "RNN": [("all", ("lengths", "h"), {"clip": 0.4})]}[op]
    count = {"LSTM": 3, "GRU": 2, "RNN": 1}[op]
    chosen = {3: ["Sigmoid", "Softsign", "Relu"], 2: ["Sigmoid", "Relu"], 1: ["Relu"]}
    others = {3: ["HardSigmoid", "LeakyRelu", "Elu"], 2: ["HardSigmoid", "Softplus"],
              1: ["Elu"]}
    alphas = {3: [0.3, 0.2, 0.7], 2: [0.3], 1: [0.7]}
    nodes = [
        layer(op, "plain"), layer(op, "states", ("h",)),
        layer(op, "backwards", ("h",), direction="reverse"),
        layer(op, "both", ("h",), 2), layer(op, "short", ("lengths", "h")),
        layer(op, "short_backwards", ("lengths", "h"), direction="reverse"),
        layer(op, "short_both", ("lengths", "h"), 2),
        layer(op, "clipped", clip=0.3), layer(op, "activated", activations=chosen[count]),
        layer(op, "activated_both", (), 2, activations=chosen[count] + others[count],
              activation_alpha=alphas[count]),
        *(layer(op, form, inputs, **attributes) for form, inputs, attributes in more),
        *(layer(op, form + "_both", inputs, 2, **attributes)
          for form, inputs, attributes in more),
    ]
    gates = GATES[op]
    weights = [numpy_helper.from_array(np.array([5, 2, 3], np.int32), "lengths")]
    for d in (1, 2):
        weights += [weight(f"{op}_w{d}", d, gates * HIDDEN, INPUTS),
                    weight(f"{op}_r{d}", d, gates * HIDDEN, HIDDEN),
                    weight(f"{op}_b{d}", d, 2 * gates * HIDDEN),
                    weight(f"h{d}", d, BATCH, HIDDEN), weight(f"c{d}", d, BATCH, HIDDEN),
                    weight(f"p{d}", d, 3 * HIDDEN)]
    read = {name for n in nodes for name in n.input}
    return model(nodes, {"x": [STEPS, BATCH, INPUTS]},
                 {name: None for n in nodes for name in n.output},
                 [w for w in weights if w.name in read], opset=14)


def lstm_layers():
    return layers("LSTM")


def gru_layers():
    return layers("GRU")


def rnn_layers():
    return layers("RNN")


def computed_lengths():
    """Lengths that are an input; all steps, as zeros behind them."""
    inputs = {"x": [STEPS, BATCH, INPUTS], "lengths": (TensorProto.INT32, [BATCH])}
    node = layer("GRU", "short", ("lengths",))
    return model([node], inputs, {node.output[0]: None},
                 [weight("GRU_w1", 1, 3 * HIDDEN, INPUTS),
                  weight("GRU_r1", 1, 3 * HIDDEN, HIDDEN),
                  weight("GRU_b1", 1, 6 * HIDDEN)], opset=14)


def batch_first():
    """Layout 1, which onnxruntime has not."""
    nodes = [helper.make_node("LSTM", ["x", "w", "r", "", "", "h"], ["y", "last", "cell"],
                              hidden_size=HIDDEN, layout=1, name="lstm")]
    return model(nodes, {"x": [BATCH, STEPS, INPUTS], "h": [BATCH, 1, HIDDEN]},
                 {"y": None, "last": None, "cell": None},
                 [weight("w", 1, 4 * HIDDEN, INPUTS), weight("r", 1, 4 * HIDDEN, HIDDEN)],
                 opset=14)


def layer_mistakes():
    """What is refused, and why."""
    def lstm(name, **attributes):
        return helper.make_node("LSTM", ["x", "w", "r"], [name], name=name,
                                hidden_size=HIDDEN, **attributes)

    return model(
        [
            lstm("layout", layout=2), lstm("clipped", clip=-1.0),
            lstm("activated", activations=["Sigmoid", "Tanh", "Swish"]),
            lstm("few", activations=["Sigmoid", "Tanh"]),
            helper.make_node("LSTM", ["x", "w", "r", "", "lengths"], ["long"],
                             name="long", hidden_size=HIDDEN),
        ],
        {"x": [STEPS, BATCH, INPUTS]},
        {k: None for k in ["layout", "clipped", "activated", "few", "long"]},
        [weight("w", 1, 4 * HIDDEN, INPUTS), weight("r", 1, 4 * HIDDEN, HIDDEN),
         numpy_helper.from_array(np.array([5, 6, 3], np.int32), "lengths")],
        opset=14,
    )
