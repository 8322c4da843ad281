"""RNNTC and RNNLM of the FlexFlow paper: Jia, Zaharia, Aiken, 2019, "Beyond data and
model parallelism for deep neural networks", section 8.1 and table 3: layers of LSTM
and a softmax layer, 40 steps.

RNNTC classifies texts: four layers of 1024. Choices: words, vectors of 300 and a
vocabulary of 18,765 as in the publication that it follows (Kim, 2014, "Convolutional
neural networks for sentence classification", section 3.1 and table 1, data set MR);
two classes, decided by the last step.

RNNLM is a language model of the Penn Treebank, with 10,000 words (Zaremba, Sutskever,
Vinyals, 2014, "Recurrent neural network regularization", section 4.1): two layers of
2048. Word vectors have the size of the layers, as there; every step has its logits.
Initial states are zero. Dropout is left out.
"""

from ..graph import cut, squeeze
from ..layers import embedding, fully_connected, linear, tokens
from ..recurrent import lstm, time_major


def stack(g, x, layers, hidden):
    for number in range(1, layers + 1):
        x = lstm(g, f"lstm{number}", x, hidden)
    return x


def build_classifier(g, seq, layers=4, hidden=1024, words=18765, vector=300, classes=2):
    x = embedding(g, "embedding", tokens(g, "tokens", seq), words, vector)
    x = stack(g, time_major(g, "embedding.transpose", x), layers, hidden)
    x = squeeze(g, "last.squeeze", cut(g, "last", x, 0, seq - 1, seq), 0)
    return fully_connected(g, "softmax.linear", x, classes)


def build_language_model(g, seq, layers=2, hidden=2048, words=10000):
    x = embedding(g, "embedding", tokens(g, "tokens", seq), words, hidden)
    x = stack(g, time_major(g, "embedding.transpose", x), layers, hidden)
    return linear(g, "softmax.linear", time_major(g, "steps.transpose", x), words)
