"""Random operators that move elements, as operators.py."""

from operators import MAX_ELEMENTS, of_rank, operator, ranked, size


def regroup(b, count):
    """Random factors with the product `count`."""
    factors = []
    while count > 1 and len(factors) < 4:
        divisors = [d for d in range(2, min(count, 30) + 1) if count % d == 0]
        factor = b.rng.choice(divisors) if divisors else count
        factors.append(factor)
        count //= factor
    if count > 1 or not factors:
        factors.append(count)
    return factors


@operator("Reshape", of=ranked)
def reshape(b, op, x, shape):
    shape = list(shape)
    if len(shape) > 1 and b.rng.random() < 0.5:  # Merge or split neighbours.
        at = b.rng.randrange(len(shape) - 1)
        result = shape[:at] + [shape[at] * shape[at + 1]] + shape[at + 2:]
    elif b.rng.random() < 0.5:
        at = b.rng.randrange(len(shape))
        result = shape[:at] + regroup(b, shape[at]) + shape[at + 1:]
    else:
        result = regroup(b, size(shape))
    if len(result) > 5:
        return False
    target = list(result)
    if b.rng.random() < 0.3:
        target[b.rng.randrange(len(target))] = -1
    b.node(op, [x, b.integers(target)], result)
    return True


@operator("Flatten", of=of_rank(2, 5))
def flatten(b, op, x, shape):
    axis = b.rng.randint(0, len(shape))
    b.node(op, [x], (size(shape[:axis]), size(shape[axis:])), axis=axis)
    return True


@operator("Squeeze", of=lambda shape: 1 in shape and len(shape) > 1)
def squeeze(b, op, x, shape):
    ones = [i for i, n in enumerate(shape) if n == 1][:len(shape) - 1]
    axes = sorted(b.rng.sample(ones, b.rng.randint(1, len(ones))))
    result = [n for i, n in enumerate(shape) if i not in axes]
    if b.opset >= 13:
        b.node(op, [x, b.integers(axes)], result)
    else:
        b.node(op, [x], result, axes=axes)
    return True


@operator("Unsqueeze", of=of_rank(0, 4))
def unsqueeze(b, op, x, shape):
    shape = list(shape)
    axis = b.rng.randint(0, len(shape))
    result = shape[:axis] + [1] + shape[axis:]
    if b.opset >= 13:
        b.node(op, [x, b.integers([axis])], result)
    else:
        b.node(op, [x], result, axes=[axis])
    return True


@operator("Transpose", of=of_rank(2, 5))
def transpose(b, op, x, shape):
    order = list(range(len(shape)))
    b.rng.shuffle(order)
    b.node(op, [x], [shape[i] for i in order], perm=order)
    return True


@operator("Concat", of=ranked)
def concat(b, op, x, shape):
    axis = b.rng.randrange(len(shape))
    like = lambda other: (len(other) == len(shape) and all(
        p == q for i, (p, q) in enumerate(zip(other, shape)) if i != axis))
    parts = [x] + [b.pick(like) for _ in range(b.rng.randint(1, 3))]
    if b.rng.random() < 0.3:
        parts.append(b.parameter([b.rng.randint(1, 4) if i == axis else n
                                  for i, n in enumerate(shape)]))
        shape_of = lambda name: b.shapes.get(name) or next(
            s for n, s, _ in b.parameters if n == name)
    else:
        shape_of = b.shapes.get
    b.rng.shuffle(parts)
    total = sum(shape_of(part)[axis] for part in parts)
    result = [total if i == axis else n for i, n in enumerate(shape)]
    if size(result) > MAX_ELEMENTS:
        return False
    negative = b.rng.random() < 0.3 and b.opset >= 11
    b.node(op, parts, result, axis=axis - (len(shape) if negative else 0))
    return True


@operator("Slice", since=10, of=ranked)
def cut(b, op, x, shape):
    axes = sorted(b.rng.sample(range(len(shape)), b.rng.randint(1, len(shape))))
    starts, ends, steps, result = [], [], [], list(shape)
    for axis in axes:
        n = shape[axis]
        step = b.rng.choice([1, 1, 1, 2, 3, -1, -2])
        low = b.rng.randint(0, n - 1)
        high = b.rng.randint(low + 1, n)
        if step > 0:
            starts.append(low), ends.append(high)
        else:
            starts.append(high - 1), ends.append(low - 1 if low else -n - 1)
        steps.append(step)
        result[axis] = -(-(high - low) // abs(step))
    b.node(op, [x, *map(b.integers, (starts, ends, axes, steps))], result)
    return True


@operator("Split", of=lambda shape: max(shape, default=1) > 1)
def split(b, op, x, shape):
    axis = b.rng.choice([i for i, n in enumerate(shape) if n > 1])
    count = b.rng.randint(2, min(3, shape[axis]))
    cuts = sorted(b.rng.sample(range(1, shape[axis]), count - 1))
    sizes = [q - p for p, q in zip([0, *cuts], [*cuts, shape[axis]])]
    shapes = [[n if i == axis else m for i, m in enumerate(shape)] for n in sizes]
    if b.opset >= 13:
        b.multi_node(op, [x, b.integers(sizes)], shapes, axis=axis)
    else:
        b.multi_node(op, [x], shapes, axis=axis, split=sizes)
    return True


@operator("Pad", since=11, of=ranked)
def pad(b, op, x, shape):
    lo = [b.rng.choice([0, 0, 1, 2, 5]) for _ in shape]
    hi = [b.rng.choice([0, 0, 1, 3]) for _ in shape]
    if b.rng.random() < 0.2:
        at = b.rng.randrange(len(shape))
        if shape[at] > 1:
            lo[at] = -1
    result = [n + p + q for n, p, q in zip(shape, lo, hi)]
    if size(result) > MAX_ELEMENTS:
        return False
    value = [b.scalar(b.rng.uniform(-1, 1))] if b.rng.random() < 0.5 else []
    b.node(op, [x, b.integers(lo + hi), *value], result)
    return True
