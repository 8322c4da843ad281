"""Random matrix products, as operators.py."""

from operators import (MAX_ELEMENTS, combination, of_rank, operator, ranked,
                       size)


@operator("Gemm", of=of_rank(2))
def gemm(b, op, x, shape):
    turns, turned = b.chance(0.3), b.chance(0.5)
    first = b.chance(0.85)  # Else a parameter times x.
    outer = b.rng.randint(1, 10)
    inner = shape[(0 if turns else 1) if first else (1 if turned else 0)]
    kept = shape[(1 if turns else 0) if first else (0 if turned else 1)]
    rows, columns = (kept, outer) if first else (outer, kept)
    of = (columns, inner) if turned else (inner, columns)
    if not first:
        of = (inner, rows) if turns else (rows, inner)
    other = b.operand(of, inner**-0.5)
    bias = []
    if b.opset < 11 or b.chance(0.7):
        bias = [b.operand(b.rng.choice([(columns,), (columns,), (1, columns),
                                        (rows, columns), (rows, 1), (1,), (1, 1)]), 0.5)
                if b.chance(0.9) else b.scalar(0.7)]
    b.node(op, [*([x, other] if first else [other, x]), *bias], (rows, columns),
           alpha=b.rng.choice([1.0, 0.5, 2.0]), beta=b.rng.choice([1.0, 1.0, 0.5, 0.0]),
           transA=int(turns), transB=int(turned))
    return True


def product_shape(x, y):
    """Of x times y, where a vector is a row or a column that goes again; None if they
    do not fit."""
    a = (1, *x) if len(x) == 1 else x
    c = (*y, 1) if len(y) == 1 else y
    rank = max(len(a), len(c)) - 2
    pad = lambda s: (1,) * (rank + 2 - len(s)) + tuple(s[:-2])
    batch = list(zip(pad(a), pad(c)))
    if a[-1] != c[-2] or any(p != q and 1 not in (p, q) for p, q in batch):
        return None
    return (*(max(pair) for pair in batch), *([a[-2]] if len(x) > 1 else []),
            *([c[-1]] if len(y) > 1 else []))


@operator("MatMul", of=ranked)
def matmul(b, op, x, shape):
    y = b.pick(lambda other: other and product_shape(shape, other) is not None)
    if y and b.chance(0.5):
        other = b.shapes[y]
    elif b.chance(0.15):  # A parameter times x.
        y, other = x, shape
        inner = shape[-2] if len(shape) > 1 else shape[0]
        shape = b.rng.choice([(b.rng.randint(1, 8), inner), (inner,)])
        x = b.operand(shape, inner**-0.5)
    else:
        inner, columns = shape[-1], b.rng.randint(1, 10)
        batch = [n if b.chance(0.5) and n > 1 else 1 if n > 1 else b.rng.randint(1, 3)
                 for n in shape[:-2]]
        batch = batch[b.rng.randint(0, len(batch)):]
        if len(shape) < 4 and b.chance(0.1):
            batch.insert(0, 2)
        other = b.rng.choice([(*batch, inner, columns)] * 8 + [(inner,)])
        y = b.operand(other, inner**-0.5)
    result = product_shape(shape, other)
    if result is None or size(result) > MAX_ELEMENTS:
        return False
    b.node(op, [x, y], result)
    return True


@combination
def attention(b):
    """Two products with a softmax in between, whose scores are multiplied and masked as
    exporters write it."""
    x = b.pick(of_rank(2, 4))
    if not x:
        return False
    *batch, rows, depth = b.shapes[x]
    steps, features = b.rng.randint(1, 40), b.rng.randint(1, 20)
    if size(batch) * rows * steps > MAX_ELEMENTS or depth > 64:
        return False
    keys = b.operand((*batch, steps, depth), depth**-0.5)
    turned = b.hidden("Transpose", [keys], (*batch, depth, steps),
                      perm=[*range(len(batch)), len(batch) + 1, len(batch)])
    shape = (*batch, rows, steps)
    scores = b.hidden("MatMul", [x, turned], shape)
    if b.chance(0.6):
        scores = b.hidden(*b.rng.choice([
            ("Div", [scores, b.scalar(depth**0.5)]), ("Mul", [scores, b.scalar(0.7)])]), shape)
    if b.chance(0.7):
        start = b.rng.randint(0, len(shape))
        mask = [n if b.chance(0.7) else 1 for n in shape[start:]]
        if b.opset < 9 or b.chance(0.4):
            scores = b.hidden("Add", [scores, b.operand(mask)], shape)
        else:
            # What hides all steps of a row is the same number everywhere: no jump.
            hidden = b.initializer(b.values.random(mask) < 0.4)
            low = b.scalar(b.rng.choice([-1e4, -3.0]))
            order = [low, scores] if b.chance(0.5) else [scores, low]
            scores = b.hidden("Where", [hidden, *order], shape)
    last = len(shape) - 1
    weights = b.hidden("Softmax", [scores], shape, axis=b.axis(last, len(shape)))
    if b.chance(0.2):
        b.shapes[weights] = shape  # Somebody else may read it.
    b.node("MatMul", [weights, b.operand((*batch, steps, features))], (*batch, rows, features))
    return True


@combination
def split_product(b):
    """A layer whose result is cut along its last dimension, as queries, keys and
    values are."""
    x = b.pick(lambda shape: 2 <= len(shape) <= 4)
    if not x:
        return False
    shape = b.shapes[x]
    sizes = [b.rng.randint(1, 4) for _ in range(b.rng.randint(2, 3))]
    if b.chance(0.5):
        sizes = [sizes[0]] * len(sizes)
    columns = sum(sizes)
    result = (*shape[:-1], columns)
    if len(shape) == 2 and b.chance(0.5):
        turned = b.chance(0.5)
        weight = b.operand((columns, shape[-1]) if turned else (shape[-1], columns),
                           shape[-1]**-0.5)
        bias = [b.operand((columns,))] if b.opset < 11 or b.chance(0.6) else []
        whole = b.node("Gemm", [x, weight, *bias], result, transB=int(turned))
    else:
        whole = b.node("MatMul", [x, b.operand((shape[-1], columns), shape[-1]**-0.5)],
                       result)
        if b.chance(0.6):
            operands = [whole, b.operand((columns,))]
            b.rng.shuffle(operands)
            whole = b.node("Add", operands, result)
    if b.chance(0.8):
        del b.shapes[whole]  # Mostly nobody else reads it.
    even = len(set(sizes)) == 1 and b.chance(0.5)
    parts = [(*shape[:-1], n) for n in sizes]
    outputs = [b.name("t") for _ in sizes]
    axis = b.axis(len(shape) - 1, len(shape))
    if b.opset < 13:
        b.multi_node("Split", [whole], parts, outputs, axis=axis,
                     split=None if even else sizes)
    elif even:
        b.multi_node("Split", [whole], parts, outputs, axis=axis,
                     num_outputs=len(sizes) if b.opset >= 18 else None)
    else:
        b.multi_node("Split", [whole, b.integers(sizes)], parts, outputs, axis=axis)
    return True


EQUATIONS = {
    1: ["i,i->", "i,j->ij", "i->", "i,ij->j"],
    2: ["nk,kf->nf", "nk,kf->fn", "nk,fk", "ij->ji", "ij->i", "ij,ij->i", "ij,kj->ik",
        "ij,jk,kl->il", "i j, j k -> i k", "ji", "ij,k->ijk", "ij,i->j"],
    3: ["bnk,bkf->bnf", "bnk,bmk->bnm", "bnk,kf->bnf", "bij->bji", "bij->b", "bij,bj->bi",
        "bij,bjk->kbi", "bij,bjk,bkl->bil", "bij,ij->b"],
    4: ["bhqd,bhkd->bhqk", "bqhd,bkhd->bhqk", "bhqk,bkhd->bqhd", "nchw->nhwc",
        "bchw,cf->bfhw", "bchw->bc"]}


@operator("Einsum", since=12, of=of_rank(1, 4))
def einsum(b, op, x, shape):
    equation = b.rng.choice(EQUATIONS[len(shape)])
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if not arrow:
        right = "".join(sorted(c for c in set(left) - {","} if left.count(c) == 1))
    sizes = dict(zip(terms[0], shape))
    for letter in left.replace(",", ""):
        sizes.setdefault(letter, b.rng.randint(1, 6))
    operands = [x]
    for term in terms[1:]:
        summed = [sizes[c] for c in term if c not in right]
        operands.append(b.operand([sizes[c] for c in term], size(summed)**-0.5))
    result = [sizes[c] for c in right]
    if size(result) > MAX_ELEMENTS:
        return False
    # The same in the dimensions that an ellipsis stands for.
    if equation in ("bnk,bkf->bnf", "bnk,kf->bnf", "bij->bji") and b.chance(0.4):
        equation = equation.replace("b", "...")
    b.node(op, operands, result, equation=equation)
    return True
