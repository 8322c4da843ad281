"""DLRM: Naumov et al., 2019, "Deep learning recommendation model for personalization and
recommendation systems", sections 2.2 and 5.1: embedding tables, an MLP of the dense
features, dot products of all pairs, an MLP on top.

Choices from the authors' benchmark for the Criteo Kaggle data (dlrm_s_criteo_kaggle.sh in
their code): the 26 tables have the rows of that data and vectors of 16, the MLPs
13-512-256-64-16 and 367-512-256-1. Each category is one index per sample, an input of
its own. One logit; a loss puts a zero beside it, so that the softmax of two is the
sigmoid of one.
"""

import numpy as np
from onnx import TensorProto

from ..graph import concat, matmul, reshape, transpose, unsqueeze
from ..layers import embedding, fully_connected, gather, relu

TABLES = (1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593,
          3194, 27, 14992, 5461306, 10, 5652, 2173, 4, 7046547, 18, 15, 286181, 105,
          142572)


def mlp(g, name, x, widths, last_relu):
    for number, width in enumerate(widths, 1):
        x = fully_connected(g, f"{name}.fc{number}", x, width, gain=2.0)
        if last_relu or number < len(widths):
            x = relu(g, f"{name}.relu{number}", x)
    return x


def interaction(g, vectors, dense):
    """Dot products of all pairs of vectors (b, v, c), after the dense vector."""
    count = vectors.shape[1]
    transposed = transpose(g, "interaction.transpose", vectors, (0, 2, 1))
    products = matmul(g, "interaction", vectors, transposed)
    products = reshape(g, "interaction.flatten", products, (0, count * count))
    rows, columns = np.tril_indices(count, -1)
    pairs = g.constant("interaction.pairs.indices",
                       (rows * count + columns).astype(np.int64))
    return concat(g, "interaction.concat",
                  [dense, gather(g, "interaction.pairs", products, pairs, 1)], 1)


def build(g, tables=TABLES, dense=13, vector=16, bottom=(512, 256, 64),
          top=(512, 256, 1)):
    x = g.input("dense", (g.batch, dense))
    categories = [g.input(f"category{k}", (g.batch,), TensorProto.INT64)
                  for k in range(1, len(tables) + 1)]
    x = mlp(g, "bottom", x, (*bottom, vector), last_relu=True)
    vectors = [unsqueeze(g, "bottom.unsqueeze", x, [1])]
    for k, (rows, ids) in enumerate(zip(tables, categories), 1):
        row = embedding(g, f"table{k}", ids, rows, vector)
        vectors.append(unsqueeze(g, f"table{k}.unsqueeze", row, [1]))
    joint = concat(g, "vectors", vectors, 1)
    return mlp(g, "top", interaction(g, joint, x), top, last_relu=False)
