"""The networks of the FlexFlow and FastT papers, and some of today's, as ONNX models
with the sizes of the original publications, without a download.

    zoo.build("resnet101", batch=64)               an onnx.ModelProto
    zoo.save("bert.onnx", "bert_base", weights="random:1")

On the command line: python -m zoo --help. docs/ModelZoo.md describes all of them.
"""

import onnx

from . import count, registry, weights as _weights
from .graph import Graph
from .loss import append_loss
from .registry import NETWORKS, Network

__all__ = ["DEFAULT_OPSET", "NETWORKS", "NEWEST_OPSET", "Network", "build", "count",
           "registry", "save"]

DEFAULT_OPSET = 17
LOSS_OPSET = 12  # SoftmaxCrossEntropyLoss.
# The newest operator set that is released: the package may know the next one, too.
NEWEST_OPSET = max(version for domain, version in onnx.helper.OP_SET_ID_VERSION_MAP
                   if domain == "ai.onnx")


def _graph(name, batch, seq, opset, loss, options):
    network = NETWORKS.get(name)
    if not network:
        raise ValueError(f"expected one of {', '.join(NETWORKS)}, got: {name}")
    lowest = LOSS_OPSET if loss else network.minimum_opset
    if not lowest <= opset <= NEWEST_OPSET:
        raise ValueError(f"expected an operator set from {lowest} to {NEWEST_OPSET} for "
                         f"{name}, got: {opset}")
    for what, number in (("batch", batch), ("sequence length", seq)):
        if number is not None and number < 1:
            raise ValueError(f"expected a {what} of at least 1, got: {number}")
    options = {option: network.option(option, value)
               for option, value in options.items()}
    arguments = network.options | options
    if network.seq:
        arguments["seq"] = seq or network.seq
    elif seq:
        raise ValueError(f"expected no sequence length for {name}, got: {seq}")
    g = Graph(name, opset, batch)
    logits = network.builder(g, **arguments)
    logits = logits if isinstance(logits, list) else [logits]
    if loss:
        g.output(append_loss(g, logits), "loss")
    else:
        for value, output in zip(logits, ("logits", "auxiliary_logits")):
            g.output(value, output)
    doc = f"{name} after {network.source}, made by the model zoo of SOAP"
    return g, doc


def build(name, batch=None, seq=None, weights="light", opset=DEFAULT_OPSET, loss=False,
          **options):
    """The ONNX model of a network of NETWORKS.

    `batch` samples, else a symbol of that name; `seq` steps, else the network's;
    `weights` is light or random:SEED; `loss` appends a loss with an input `labels`.
    `options` go to the builder (`layers=2` for a BERT of two layers). Raises
    ValueError where an argument does not fit.
    """
    return _weights.to_model(*_with_weights(name, batch, seq, weights, opset, loss,
                                            options))


def save(path, name, batch=None, seq=None, weights="light", opset=DEFAULT_OPSET,
         loss=False, **options):
    """Writes the model of `build`; random parameters of more than 100 MB go to
    `path`.data, without being in memory as a whole."""
    _weights.save(*_with_weights(name, batch, seq, weights, opset, loss, options), path)


def _with_weights(name, batch, seq, weights, opset, loss, options):
    _weights.parse(weights)
    graph, doc = _graph(name, batch, seq, opset, loss, options)
    return graph, weights, doc
