"""The loss behind the logits: SoftmaxCrossEntropyLoss, the mean over all samples and
steps, with class numbers in an input `labels`."""

from onnx import TensorProto

from .graph import add, mul, reshape

# Of the auxiliary head (Szegedy et al., 2014, "Going deeper with convolutions",
# section 5).
AUXILIARY_WEIGHT = 0.3


def cross_entropy(g, name, logits, labels):
    return g.op("SoftmaxCrossEntropyLoss", name, [logits, labels], (), reduction="mean")


def append_loss(g, logits):
    """From the logits, the main ones first, to a scalar."""
    main = logits[0]
    if len(main.shape) == 3:  # Steps of sequences: rows (b s, classes).
        main = reshape(g, "loss.logits", main, (-1, main.shape[2]))
        steps = g.input("labels", logits[0].shape[:2], TensorProto.INT64)
        labels = reshape(g, "loss.labels", steps, (-1,))
    else:  # Samples, or pixels (b, classes, h, w).
        labels = g.input("labels", (main.shape[0], *main.shape[2:]), TensorProto.INT64)
    if main.shape[1] == 1:  # A logit z becomes (0, z): its softmax is sigmoid(z).
        main = pad_class(g, main)
    loss = cross_entropy(g, "loss.cross_entropy", main, labels)
    for number, extra in enumerate(logits[1:], 1):
        name = f"loss.auxiliary{number}"
        part = mul(g, f"{name}.weight", cross_entropy(g, name, extra, labels),
                   AUXILIARY_WEIGHT)
        loss = add(g, f"{name}.add", loss, part)
    return loss


def pad_class(g, logits):
    pads = g.integers([0, 1, 0, 0])
    return g.op("Pad", "loss.pad", [logits, pads], (logits.shape[0], 2))
