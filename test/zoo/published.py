"""What publications say of the networks: trainable parameters and flops per sample.

A count is published with the network, or it is worked out here from the sizes in the
publication, layer by layer, by arithmetic that shares nothing with the builders.
Multiply-adds are doubled to flops."""

import dataclasses

TORCHVISION = "torchvision, table of pre-trained weights"
BVLC = "Caffe, bvlc_alexnet"
SZE = "Sze, Chen, Yang, Emer, 2017, table II"
HE = "He et al., 2016, table 1"
SIZES = "counted from the sizes in the publication"


@dataclasses.dataclass
class Published:
    parameters: int
    parameters_source: str
    flops: float  # Per sample.
    flops_source: str
    explained: int = 0  # Parameters that the zoo has more than the source.
    explanation: str = ""


def lstm(c, h):
    """With one bias per gate."""
    return 4 * h * (c + h + 1)


def lstm_flops(c, h):
    return 2 * 4 * h * (c + h)


def linear(c, f):
    return c * f + f


def resnet200():
    """Parameters and multiply-adds; bottlenecks of [3, 24, 36, 3] with widths 64 to
    512, the strides in the 3x3 convolutions."""
    weights, norms = 3 * 64 * 49, 2 * 64
    products = 3 * 64 * 49 * 112 * 112
    c, size = 64, 56
    for width, blocks, stride in ((64, 3, 1), (128, 24, 2), (256, 36, 2), (512, 3, 2)):
        for block in range(blocks):
            before = size
            if block == 0:
                size //= stride
                weights += c * 4 * width
                products += c * 4 * width * size**2
            weights += c * width + 9 * width * width + 4 * width * width
            products += c * width * before**2
            products += (9 + 4) * width * width * size**2
            # Normalisation in front of each convolution; not of the first of all.
            norms += 2 * (2 * width) + (0 if width == 64 and block == 0 else 2 * c)
            c = 4 * width
    norms += 2 * 2048
    return weights + norms + linear(2048, 1000), products + 2048 * 1000


def unet():
    """Parameters, and multiply-adds with transposed convolutions and with resizes."""
    weights, products, upsampled = 0, 0, 0
    c, size = 1, 572
    for width in (64, 128, 256, 512, 1024):
        for inputs in (c, width):
            size -= 2
            weights += 9 * inputs * width + width
            products += 9 * inputs * width * size**2
        c = width
        size = size // 2 if width != 1024 else size
    for width in (512, 256, 128, 64):
        weights += 4 * c * width + width
        products += c * 4 * width * size**2
        size *= 2
        upsampled += 4 * c * width * size**2 - c * 4 * width * (size // 2)**2
        for inputs in (c, width):
            size -= 2
            weights += 9 * inputs * width + width
            products += 9 * inputs * width * size**2
        c = width
    return (weights + linear(64, 2), products + 64 * 2 * size**2,
            products + upsampled + 64 * 2 * size**2)


def transformer_flops(tokens, width, inner, layers, attended=None, matrices=4):
    """Of the blocks: projections, an inner layer there and back, and two products of
    every token with those that it attends to."""
    attended = attended or tokens
    per_token = matrices * width * width + 2 * width * inner + 2 * attended * width
    return 2 * tokens * layers * per_token


def bert_flops(tokens, width, layers):
    return (transformer_flops(tokens, width, 4 * width, layers)
            + 2 * (width * width + 2 * width))


def gpt2_flops(width, layers, tokens=1024, vocabulary=50257):
    return (transformer_flops(tokens, width, 4 * width, layers)
            + 2 * tokens * width * vocabulary)


def vaswani():
    """Parameters and flops of the base model with 64 words on either side."""
    d, inner, words, n = 512, 2048, 37000, 64
    attention, norm = 4 * d * d, 2 * d
    feed_forward = linear(d, inner) + linear(inner, d)
    parameters = 37000 * d + 6 * (attention + feed_forward + 2 * norm) + 6 * (
        2 * attention + feed_forward + 3 * norm)
    flops = transformer_flops(n, d, inner, 12) + 6 * 2 * n * (4 * d * d + 2 * n * d)
    return parameters, flops + 2 * n * d * words


def kaggle_rows():
    """Of the 26 categorical features of the Criteo Kaggle data, as in the authors'
    benchmark."""
    return 33762577


def dlrm():
    bottom = ((13, 512), (512, 256), (256, 64), (64, 16))
    top = ((16 + 27 * 26 // 2, 512), (512, 256), (256, 1))
    parameters = 16 * kaggle_rows() + sum(linear(*layer) for layer in bottom + top)
    return parameters, 2 * (sum(c * f for c, f in bottom + top) + 27 * 27 * 16)


def gnmt(h=1024, words=32000, steps=40):
    cells = 2 * [(h, h)] + [(2 * h, h)] + 2 * [(h, h)]  # The encoder's.
    cells += [(h, h)] + 3 * [(2 * h, h)]  # The decoder's.
    parameters = (2 * words * h + sum(lstm(*cell) for cell in cells) + h * h
                  + linear(h, words))
    flops = steps * (sum(lstm_flops(*cell) for cell in cells)
                     + 2 * (h * h + 2 * steps * h + h * words))
    return parameters, flops


def nmt(h=1024, words=32000, steps=40):
    parameters = (2 * words * h + 4 * lstm(h, h) + h * h + 2 * h * h
                  + linear(h, words))
    flops = steps * (4 * lstm_flops(h, h)
                     + 2 * (h * h + 2 * steps * h + 2 * h * h + h * words))
    return parameters, flops


def rnnlm(steps, h=2048, words=10000):
    return (words * h + 2 * lstm(h, h) + linear(h, words),
            steps * (2 * lstm_flops(h, h) + 2 * h * words))


def rnntc(steps=40, h=1024, c=300, words=18765):
    return (words * c + lstm(c, h) + 3 * lstm(h, h) + linear(h, 2),
            steps * (lstm_flops(c, h) + 3 * lstm_flops(h, h)) + 2 * h * 2)


def counted(parameters, flops, source=SIZES):
    return Published(parameters, source, flops, source)


# Parameters of the layers of LeNet-5, section II.B: C1, S2, C3, S4, C5, F6; the codes of
# the output layer are not trained. All outputs of C3 read all 6 maps here, 36 pairs more
# with 25 weights each; S2 and S4 have no coefficient and bias; the output is linear.
LENET = 156 + 12 + 1516 + 32 + 48120 + 10164
LENET_FLOPS = 2 * (25 * 6 * 28**2 + 25 * 6 * 16 * 10**2 + 25 * 16 * 120 + 120 * 84
                   + 84 * 10)

PUBLISHED = {
    "lenet5": Published(
        LENET, "LeCun et al., 1998, section II.B", LENET_FLOPS, SIZES,
        36 * 25 - 12 - 32 + linear(84, 10), "C3 in full, plain pools, linear output"),
    "alexnet": Published(60_965_224, BVLC, 2 * 724e6, SZE),
    "inception_v3": Published(
        27_161_264 - 3_326_696, f"{TORCHVISION}, without the auxiliary head",
        2 * 5.71e9, TORCHVISION),
    "inception_v3_aux": Published(27_161_264, TORCHVISION, 2 * 5.71e9, TORCHVISION),
    "resnet50": Published(25_557_032, TORCHVISION, 2 * 3.8e9, HE),
    "resnet101": Published(44_549_160, TORCHVISION, 2 * 7.6e9, HE),
    "resnet200": counted(resnet200()[0], 2 * resnet200()[1]),
    "vgg19": Published(143_667_240, TORCHVISION, 2 * 19.6e9,
                       "He et al., 2016, section 3.3"),
    "rnntc": counted(*rnntc()),
    "rnnlm": counted(*rnnlm(40)),
    "rnnlm_2steps": counted(*rnnlm(2)),
    "nmt": counted(*nmt()),
    "gnmt": counted(*gnmt()),
    "transformer": counted(*vaswani()),
    "bert_base": Published(
        109_482_240, "checkpoint bert-base-uncased", 22.5e9, "Jiao et al., 2020, TinyBERT, table 1",
        linear(768, 2), "the classifier"),
    "bert_large": Published(
        335_141_888, "checkpoint bert-large-uncased", bert_flops(64, 1024, 24), SIZES, linear(1024, 2),
        "the classifier"),
    "gpt2_small": Published(124_439_808, "checkpoint gpt2", gpt2_flops(768, 12), SIZES),
    "gpt2_medium": Published(354_823_168, "checkpoint gpt2-medium", gpt2_flops(1024, 24),
                             SIZES),
    "vit_b16": Published(86_567_656, TORCHVISION, 2 * 17.56e9, TORCHVISION),
    "llama_7b": Published(
        6_738_415_616, "checkpoint LLaMA-7B",
        transformer_flops(2048, 4096, 11008 * 3 // 2, 32) + 2 * 2048 * 4096 * 32000,
        SIZES),
    "dlrm": counted(*dlrm()),
    "unet": counted(unet()[0], 2 * unet()[1]),
    "unet_resize": counted(unet()[0], 2 * unet()[2]),
}

# Round numbers in millions of the publications themselves, and why the zoo has others.
ROUND = {
    "lenet5": (0.06, "LeCun et al., 1998, section II.B", "see the builder's choices"),
    "alexnet": (60, "Krizhevsky et al., 2012, section 1", ""),
    "vgg19": (144, "Simonyan and Zisserman, 2015, table 2", ""),
    "transformer": (65, "Vaswani et al., 2017, table 3",
                    "the vocabulary is said to be about 37000"),
    "bert_base": (110, "Devlin et al., 2019, section 3", ""),
    "bert_large": (340, "Devlin et al., 2019, section 3", ""),
    "gpt2_small": (117, "Radford et al., 2019, table 2",
                   "the authors corrected the number to 124 later"),
    "gpt2_medium": (345, "Radford et al., 2019, table 2",
                    "the authors corrected the number to 355 later"),
    "vit_b16": (86, "Dosovitskiy et al., 2021, table 1", ""),
    "llama_7b": (6700, "Touvron et al., 2023, table 2", ""),
    "dlrm": (540, "Naumov et al., 2019, section 5.1", ""),
}
