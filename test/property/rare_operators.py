"""Random operators that few networks have, on bits, n-grams and boxes, as operators.py.
What jumps reads inputs of the graph only."""

import numpy as np
from onnx import TensorProto

from integer_operators import pick_input
from operators import combination, operator
from quantized_operators import number

# onnxruntime has no shifts of UINT16.
SHIFTED = [np.uint8, np.uint32, np.uint64]


def as_floats(b, name, shape, dtype):
    """Of a size that other operators can be given: others than bytes are small."""
    if dtype in (np.uint8, np.int8, np.int16) and b.opset >= 10:
        b.node("DequantizeLinear", [name, number(b, 0.01)], shape)
    else:
        b.node("Cast", [name], shape, to=TensorProto.FLOAT)
    return True


@operator("BitShift", since=11)
def bit_shift(b, op):
    shape = b.shapes[pick_input(b)]
    dtype = b.rng.choice(SHIFTED)
    places = tuple(1 if b.chance(0.3) else n for n in shape)
    places = places[b.rng.choice([0, 0, b.rng.randint(0, len(places))]):]
    direction = b.rng.choice(["LEFT", "RIGHT"])
    most = 256 if dtype == np.uint8 else 5 if direction == "LEFT" else 50
    x = b.add_integer_input(shape, 0, most, dtype)
    # Fewer than its bits: onnxruntime leaves the others to the processor.
    most = 8 if dtype == np.uint8 and direction == "LEFT" else 3
    y = b.initializer(b.values.integers(0, most, places).astype(dtype))
    # There and back: both directions are operations of nn.
    other = "RIGHT" if direction == "LEFT" else "LEFT"
    there = b.hidden(op, [x, y], shape, direction=direction)
    return as_floats(b, b.hidden(op, [there, y], shape, direction=other), shape, dtype)


@operator("BitCast", since=26)
def bit_cast(b, op):
    """Floats without the last places of their bits, or bits of another sign."""
    x = pick_input(b)
    shape = b.shapes[x]
    if b.chance(0.5):
        kind, dtype = b.rng.choice([(TensorProto.INT32, np.int32),
                                    (TensorProto.UINT32, np.uint32)])
        bits = b.hidden(op, [x], shape, to=kind)
        mask = np.array(0xffff0000, np.uint32).view(dtype)
        kept = b.hidden("BitwiseAnd", [bits, b.initializer(mask)], shape)
        b.node(op, [kept], shape, to=TensorProto.FLOAT)
        return True
    dtype, low, high, other, to = b.rng.choice([
        (np.int8, -128, 128, np.uint8, TensorProto.UINT8),
        (np.uint16, 65000, 65536, np.int16, TensorProto.INT16),
        (np.int64, 0, 20, np.uint64, TensorProto.UINT64)])
    y = b.add_integer_input(shape, low, high, dtype)
    return as_floats(b, b.hidden(op, [y], shape, to=to), shape, other)


@operator("TfIdfVectorizer", since=9)
def ngrams(b, op):
    rows, words = b.rng.randint(1, 6), b.rng.randint(2, 12)
    shape = (rows, words) if b.chance(0.8) else (words,)
    longest = b.rng.randint(1, 3)
    shortest = b.rng.randint(1, longest)
    pool, starts = [], []
    for length in range(1, longest + 1):
        starts.append(len(pool))
        known = {tuple(b.values.integers(0, 3, length)) for _ in range(4)}
        for gram in sorted(known):
            pool += map(int, gram)
    count = sum((end - start) // (k + 1) for k, (start, end) in
                enumerate(zip(starts, [*starts[1:], len(pool)])))
    columns = list(range(count))
    b.rng.shuffle(columns)
    mode = b.rng.choice(["TF", "IDF", "TFIDF"])
    weights = [float(w) for w in b.values.uniform(0.5, 2, count)]
    x = b.add_integer_input(shape, 0, 3, b.rng.choice([np.int32, np.int64]))
    b.node(op, [x], (*shape[:-1], count), mode=mode, min_gram_length=shortest,
           max_gram_length=longest, max_skip_count=b.rng.randint(0, 2),
           ngram_counts=starts, ngram_indexes=columns, pool_int64s=pool,
           weights=weights if mode != "TF" and b.chance(0.7) else None)
    return True


@operator("NonMaxSuppression", since=11)
def suppression(b, op):
    """Boxes are inputs: their scores are compared. Corners are those of boxes of some
    size, in any order."""
    images, classes = b.rng.randint(1, 5), b.rng.randint(1, 5)
    boxes, most = b.rng.randint(1, 9), b.rng.randint(1, 9)
    x = b.add_input((images, boxes, 4))
    scores = b.add_input((images, classes, boxes))
    center = b.chance(0.5)
    if center:
        b.inputs[x][..., 2:] = np.abs(b.inputs[x][..., 2:]) + np.float32(0.2)
    operands = [x, scores, b.initializer(np.array([most])),
                number(b, [b.rng.uniform(0.05, 0.6)])]
    if b.chance(0.7):
        operands.append(number(b, [b.rng.uniform(-1, 0)]))
    name = b.hidden(op, operands, (), center_point_box=int(center))
    rows = images * classes * min(most, boxes)
    b.typed[name] = (rows, 3), TensorProto.INT64  # As many as there can be.
    return True


@combination
def narrow_floats(b):
    """There and back through types in which elements are only stored."""
    x = pick_input(b)
    by_way = [(19, TensorProto.FLOAT8E4M3FN), (19, TensorProto.FLOAT8E5M2),
              (19, TensorProto.FLOAT8E4M3FNUZ), (19, TensorProto.FLOAT8E5M2FNUZ),
              (13, TensorProto.BFLOAT16)]
    fitting = [kind for since, kind in by_way if since <= b.opset]
    if not fitting:
        return False
    shape = b.shapes[x]
    stored = b.hidden("Cast", [x], shape, to=b.rng.choice(fitting))
    b.node("Cast", [stored], shape, to=TensorProto.FLOAT)
    return True
