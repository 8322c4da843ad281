"""Translation with recurrent layers.

NMT of the FlexFlow paper (Jia, Zaharia, Aiken, 2019, section 8.1, table 3 and figure
14): encoder and decoder of two LSTM layers of 1024 each, attention on the last decoder
layer, softmax over the vocabulary, 40 steps. Choices: the vocabulary of 32,000 word
pieces of the publication that it follows (Wu et al., 2016, section 4.1), for either
language, and word vectors of the size of the layers; attention with the score h_t W h_s
and the state tanh(W [context; h_t]) of Luong, Pham, Manning, 2015, "Effective
approaches to attention-based neural machine translation", section 3.1. Decoder layers
start from the final states of the encoder's.

GNMT with four layers of the FastT paper (Yi et al., 2020, table 1): Wu et al., 2016,
"Google's neural machine translation system", sections 3.1 to 3.3, with layers of 1024.
The first encoder layer reads in both directions; residual connections start at the third
layer; the context goes to every decoder layer but the first. Decoder layers start at
zero.

Differences from both publications: attention is not fed back through the decoder. There
a decoder step reads the context of the step before; here NMT has no input feeding, and
the bottom layer of GNMT reads words only, so that every recurrent layer is one node over
the whole sequence. The score h_t W h_s stands in both for the small network of Bahdanau,
Cho, Bengio, 2014, "Neural machine translation by jointly learning to align and translate",
which the papers name, so that attention is products of matrices.
"""

from ..graph import add, concat
from ..layers import embedding, linear, tokens
from ..recurrent import attentional_state, global_attention, lstm, time_major


def words(g, side, name, seq, vocabulary, hidden):
    """Word vectors (s, b, hidden)."""
    x = embedding(g, f"{side}.embedding", tokens(g, name, seq), vocabulary, hidden)
    return time_major(g, f"{side}.embedding.transpose", x)


def build(g, seq, layers=2, hidden=1024, vocabulary=32000):
    x = words(g, "encoder", "source", seq, vocabulary, hidden)
    states = []
    for number in range(1, layers + 1):
        x, state = lstm(g, f"encoder.lstm{number}", x, hidden, states=True)
        states.append(state)
    memory = time_major(g, "encoder.transpose", x)
    x = words(g, "decoder", "target", seq, vocabulary, hidden)
    for number, state in enumerate(states, 1):
        x = lstm(g, f"decoder.lstm{number}", x, hidden, initial=state)
    query = time_major(g, "decoder.transpose", x)
    context = global_attention(g, "attention", query, memory)
    x = attentional_state(g, "attention.state", query, context)
    return linear(g, "softmax.linear", x, vocabulary)


def residual_lstm(g, name, x, hidden, residual, context=None):
    read = concat(g, f"{name}.concat", [x, context], 2) if context else x
    y = lstm(g, name, read, hidden)
    return add(g, f"{name}.residual", y, x) if residual else y


def build_gnmt(g, seq, layers=4, hidden=1024, vocabulary=32000):
    x = words(g, "encoder", "source", seq, vocabulary, hidden)
    x = lstm(g, "encoder.lstm1", x, hidden, bidirectional=True)
    for number in range(2, layers + 1):
        x = residual_lstm(g, f"encoder.lstm{number}", x, hidden, number > 2)
    memory = time_major(g, "encoder.transpose", x)
    x = words(g, "decoder", "target", seq, vocabulary, hidden)
    x = lstm(g, "decoder.lstm1", x, hidden)
    query = time_major(g, "attention.query", x)
    context = global_attention(g, "attention", query, memory)
    context = time_major(g, "attention.context.transpose", context)
    for number in range(2, layers + 1):
        x = residual_lstm(g, f"decoder.lstm{number}", x, hidden, number > 2, context)
    x = time_major(g, "decoder.transpose", x)
    return linear(g, "softmax.linear", x, vocabulary)
