"""What publications say of the networks: trainable parameters and flops per sample.

A count is published with the network or in the documentation of a library, or it is
worked out here from the sizes in the publication, layer by layer, by arithmetic that
shares nothing with the builders: where the publication has no number, or a round one
(ROUND below). Multiply-adds are doubled to flops."""

import dataclasses

# num_params and GFLOPS (multiply-adds, in fact, and rounded) of the pages under
# https://docs.pytorch.org/vision/stable/models.html
TORCHVISION = "torchvision, models and pre-trained weights"
# Efficient processing of deep neural networks: a tutorial and survey; rounded.
SZE = "Sze, Chen, Yang, Emer, 2017, table II"
HE = "He et al., 2016, Deep residual learning, table 1, rounded"
# PreResNet-200b in https://github.com/osmr/imgclsmob/blob/master/pytorch/README.md
IMGCLSMOB = "imgclsmob, table of pre-trained models"
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


def alexnet():
    """Krizhevsky et al., 2012, section 3.5. Convolutions as (maps, inputs per map,
    kernel, height and width of the result)."""
    parameters, products = 0, 0
    for maps, inputs, kernel, size in ((96, 3, 11, 55), (256, 48, 5, 27),
                                       (384, 256, 3, 13), (384, 192, 3, 13),
                                       (256, 192, 3, 13)):
        parameters += linear(inputs * kernel**2, maps)
        products += maps * inputs * kernel**2 * size**2
    for layer in ((256 * 6 * 6, 4096), (4096, 4096), (4096, 1000)):
        parameters += linear(*layer)
        products += layer[0] * layer[1]
    return parameters, 2 * products


def resnet200():
    """Parameters: bottlenecks of [3, 24, 36, 3] with widths 64 to 512."""
    weights, norms, c = 3 * 64 * 49, 2 * 64, 64
    for width, blocks in ((64, 3), (128, 24), (256, 36), (512, 3)):
        for block in range(blocks):
            if block == 0:
                weights += c * 4 * width
            weights += c * width + 9 * width * width + 4 * width * width
            # Normalisation in front of each convolution; not of the first of all.
            norms += 2 * (2 * width) + (0 if width == 64 and block == 0 else 2 * c)
            c = 4 * width
    return weights + norms + 2 * 2048 + linear(2048, 1000)


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


def layer_norm(width):
    return 2 * width


def blocks(width, layers):
    """Parameters of encoder blocks: four projections and an inner layer of four times
    the width, with biases, and two normalisations."""
    return layers * (4 * linear(width, width) + linear(width, 4 * width)
                     + linear(4 * width, width) + 2 * layer_norm(width))


def bert(width, layers, classes=2):
    """Devlin et al., 2019, section 3; 30,522 word pieces, 512 positions, two segments
    and the pooled first token as in https://github.com/google-research/bert."""
    return ((30522 + 512 + 2) * width + layer_norm(width) + blocks(width, layers)
            + linear(width, width) + linear(width, classes))


def gpt2(width, layers):
    """Radford et al., 2019, section 2.3 and table 2."""
    return (50257 + 1024) * width + blocks(width, layers) + layer_norm(width)


def llama(width, layers, inner, words):
    """Touvron et al., 2023, section 2.2: no biases, and normalisations have a scale."""
    return layers * (4 * width**2 + 3 * width * inner + 2 * width) + width + 2 * width * words


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

# The auxiliary head of Inception-v3: 1x1 to 128, 5x5 to 768, classes; each convolution
# with a normalisation and no bias.
AUXILIARY = 768 * 128 + 2 * 128 + 25 * 128 * 768 + 2 * 768 + linear(768, 1000)

PUBLISHED = {
    "lenet5": Published(
        LENET, "LeCun et al., 1998, section II.B", LENET_FLOPS, SIZES,
        36 * 25 - 12 - 32 + linear(84, 10), "C3 in full, plain pools, linear output"),
    "alexnet": Published(alexnet()[0], SIZES, 2 * 724e6, SZE),
    "inception_v3": Published(
        27_161_264 - AUXILIARY, f"{TORCHVISION}, without the auxiliary head",
        2 * 5.71e9, TORCHVISION),
    "inception_v3_aux": Published(27_161_264, TORCHVISION, 2 * 5.71e9, TORCHVISION),
    "resnet50": Published(25_557_032, TORCHVISION, 2 * 3.8e9, HE),
    "resnet101": Published(44_549_160, TORCHVISION, 2 * 7.6e9, HE),
    "resnet200": Published(resnet200(), SIZES, 2 * 15_068.63e6, IMGCLSMOB),
    "vgg19": Published(143_667_240, TORCHVISION, 2 * 19.6e9,
                       "He et al., 2016, section 3.3"),
    "rnntc": counted(*rnntc()),
    "rnnlm": counted(*rnnlm(40)),
    "rnnlm_2steps": counted(*rnnlm(2)),
    "nmt": counted(*nmt()),
    "gnmt": counted(*gnmt()),
    "transformer": counted(*vaswani()),
    "bert_base": Published(bert(768, 12), SIZES, 22.5e9,
                           "Jiao et al., 2020, TinyBERT, table 1, rounded"),
    "bert_large": counted(bert(1024, 24), bert_flops(64, 1024, 24)),
    "gpt2_small": counted(gpt2(768, 12), gpt2_flops(768, 12)),
    "gpt2_medium": counted(gpt2(1024, 24), gpt2_flops(1024, 24)),
    "vit_b16": Published(86_567_656, TORCHVISION, 2 * 17.56e9, TORCHVISION),
    "llama_7b": counted(
        llama(4096, 32, 11008, 32000),
        transformer_flops(2048, 4096, 11008 * 3 // 2, 32) + 2 * 2048 * 4096 * 32000),
    "dlrm": counted(*dlrm()),
    "unet": counted(unet()[0], 2 * unet()[1]),
    "unet_resize": counted(unet()[0], 2 * unet()[2]),
}

# Round numbers in millions of the publications themselves, and why the zoo has others.
ROUND = {
    "lenet5": (0.06, "LeCun et al., 1998, section II.B", "see the builder's choices"),
    "alexnet": (61, "Sze et al., 2017, table II; Krizhevsky et al., 2012, abstract: 60", ""),
    "resnet200": (64.666_280, IMGCLSMOB, ""),  # A normalisation more, of 64 channels.
    "vgg19": (144, "Simonyan and Zisserman, 2015, table 2", ""),
    "transformer": (65, "Vaswani et al., 2017, table 3",
                    "44.1 million and a vocabulary that is said to be about 37000"),
    "bert_base": (110, "Devlin et al., 2019, section 3", ""),
    "bert_large": (340, "Devlin et al., 2019, section 3", ""),
    "gpt2_small": (117, "Radford et al., 2019, table 2",
                   "the authors corrected it to 124, https://github.com/openai/gpt-2"),
    "gpt2_medium": (345, "Radford et al., 2019, table 2",
                    "the authors corrected it to 355, https://github.com/openai/gpt-2"),
    "vit_b16": (86, "Dosovitskiy et al., 2021, table 1", ""),
    "llama_7b": (6700, "Touvron et al., 2023, table 2", ""),
    "dlrm": (540, "Naumov et al., 2019, section 5.1", ""),
}
