"""Random operators that move elements, as operators.py."""

import numpy as np

from operators import MAX_ELEMENTS, anything, of_rank, operator, ranked, size

MAX_RANK = 8
FAR = [2**31 - 1, 2**63 - 1]  # Bounds of slices that mean: to the end.


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


@operator("Reshape", of=anything)
def reshape(b, op, x, shape):
    shape = list(shape)
    if size(shape) == 1 and b.chance(0.5):
        result = [1] * b.rng.randint(0, 3)
    elif len(shape) > 1 and b.chance(0.5):  # Merge or split neighbours.
        at = b.rng.randrange(len(shape) - 1)
        result = shape[:at] + [shape[at] * shape[at + 1]] + shape[at + 2:]
    elif shape and b.chance(0.5):
        at = b.rng.randrange(len(shape))
        result = shape[:at] + regroup(b, shape[at]) + shape[at + 1:]
    else:
        result = regroup(b, size(shape))
    if len(result) > (MAX_RANK if b.chance(0.1) else 5):
        return False
    target = list(result)
    for at in range(min(len(shape), len(result))):
        if result[at] == shape[at] and b.chance(0.15):
            target[at] = 0  # As it was.
    if target and b.chance(0.3):
        target[b.rng.randrange(len(target))] = -1
    zeros = None if b.opset < 14 or 0 in target else b.rng.choice([0, 1])
    b.node(op, [x, b.integers(target)], result, allowzero=zeros)
    return True


@operator("Flatten", of=of_rank(1, MAX_RANK))
def flatten(b, op, x, shape):
    axis = b.rng.randint(0, len(shape))
    signed = b.axis(axis, len(shape)) if axis < len(shape) else axis
    b.node(op, [x], (size(shape[:axis]), size(shape[axis:])), axis=signed)
    return True


@operator("Squeeze", of=lambda shape: 1 in shape)
def squeeze(b, op, x, shape):
    ones = [i for i, n in enumerate(shape) if n == 1]
    if b.chance(0.2):  # Without axes: all.
        b.node(op, [x], [n for n in shape if n != 1])
        return True
    axes = b.rng.sample(ones, b.rng.randint(1, len(ones)))
    if b.opset < 11:  # onnxruntime wants them in order there.
        axes.sort()
    result = [n for i, n in enumerate(shape) if i not in axes]
    signed = b.axes(axes, len(shape))
    if b.opset >= 13:
        b.node(op, [x, b.integers(signed)], result)
    else:
        b.node(op, [x], result, axes=signed)
    return True


@operator("Unsqueeze", of=of_rank(0, 6))
def unsqueeze(b, op, x, shape):
    rank = len(shape) + b.rng.choice([1, 1, 2])
    axes = b.rng.sample(range(rank), rank - len(shape))
    if b.opset < 11:
        axes.sort()
    result = list(shape)
    for axis in sorted(axes):
        result.insert(axis, 1)
    signed = b.axes(axes, rank)
    if b.opset >= 13:
        b.node(op, [x, b.integers(signed)], result)
    else:
        b.node(op, [x], result, axes=signed)
    return True


@operator("Transpose", of=of_rank(1, MAX_RANK))
def transpose(b, op, x, shape):
    order = list(range(len(shape)))
    b.rng.shuffle(order)
    if b.chance(0.15):
        order = order and sorted(order, reverse=True)
    b.node(op, [x], [shape[i] for i in order], perm=order)
    return True


@operator("Concat", of=ranked)
def concat(b, op, x, shape):
    axis = b.rng.randrange(len(shape))
    like = lambda other: (len(other) == len(shape) and all(
        p == q for i, (p, q) in enumerate(zip(other, shape)) if i != axis))
    if b.chance(0.05):  # Of one.
        b.node(op, [x], shape, axis=b.axis(axis, len(shape)))
        return True
    others = lambda n: [n if i == axis else m for i, m in enumerate(shape)]
    parts = [(name, b.shapes[name][axis]) for name in
             [x] + [b.pick(like) for _ in range(b.rng.randint(1, 3))]]
    if b.chance(0.3):
        n = b.rng.randint(1, 4)
        parts.append((b.operand(others(n)), n))
    if b.chance(0.05):
        parts.append((b.initializer(np.zeros(others(0), np.float32)), 0))
    b.rng.shuffle(parts)
    result = others(sum(n for _, n in parts))
    if size(result) > MAX_ELEMENTS:
        return False
    b.node(op, [name for name, _ in parts], result, axis=b.axis(axis, len(shape)))
    return True


def bounds_of(b, n, low, high, step):
    """How a slice may say the elements from `low` to before `high`, in either
    direction: from the front, from the back, or beyond an end."""
    if step > 0:
        start = b.rng.choice([low, low - n] + ([-n - 3, -FAR[0]] if low == 0 else []))
        end = high if b.chance(0.6) else high - n if high < n else b.rng.choice(
            [n + 3, *FAR])
        return start, end
    start = b.rng.choice([high - 1, high - 1 - n] + ([n + 3, *FAR] if high == n else []))
    end = b.rng.choice([low - 1, low - 1 - n]) if low else b.rng.choice(
        [-n - 1, -n - 4, -FAR[0], -FAR[1]])
    return start, end


@operator("Slice", of=ranked)
def cut(b, op, x, shape):
    axes = b.rng.sample(range(len(shape)), b.rng.randint(1, len(shape)))
    if b.chance(0.3):  # The first ones, which need not be listed.
        axes = list(range(len(axes)))
    starts, ends, steps, result = [], [], [], list(shape)
    for axis in axes:
        n = shape[axis]
        step = b.rng.choice([1, 1, 1, 2, 3, -1, -2, n + 2, -n - 1])
        step = step if b.opset >= 10 else 1
        low = b.rng.randint(0, n - 1)
        high = b.rng.randint(low + 1, n)
        start, end = bounds_of(b, n, low, high, step)
        starts.append(start), ends.append(end), steps.append(step)
        result[axis] = -(-(high - low) // abs(step))
    listed = axes != list(range(len(axes))) or b.chance(0.5)
    signed = b.axes(axes, len(shape))
    if b.opset < 10:
        b.node(op, [x], result, starts=starts, ends=ends, axes=signed if listed else None)
        return True
    lists = [starts, ends, signed if listed else None,
             steps if set(steps) != {1} or b.chance(0.3) else None]
    while lists[-1] is None:
        lists.pop()
    small = max(map(abs, starts + ends)) < 2**31 and b.chance(0.2)
    dtype = np.int32 if small else np.int64
    b.node(op, [x, *("" if numbers is None else b.integers(numbers, dtype)
                     for numbers in lists)], result)
    return True


@operator("Split", of=ranked)
def split(b, op, x, shape):
    axis = b.rng.randrange(len(shape))
    n = shape[axis]
    count = b.rng.randint(1, min(3, n))
    signed = b.axis(axis, len(shape))
    parts = lambda sizes: [[n if i == axis else m for i, m in enumerate(shape)]
                           for n in sizes]
    chunk = -(-n // count)
    if b.opset >= 18 and b.chance(0.3) and chunk * (count - 1) < n:
        # The last is smaller.
        sizes = [chunk] * (count - 1) + [n - chunk * (count - 1)]
        b.multi_node(op, [x], parts(sizes), axis=signed, num_outputs=count)
        return True
    if n % count == 0 and b.opset < 18 and b.chance(0.3):
        b.multi_node(op, [x], parts([n // count] * count), axis=signed)
        return True
    cuts = sorted(b.rng.sample(range(1, n), count - 1))
    sizes = [q - p for p, q in zip([0, *cuts], [*cuts, n])]
    if b.opset >= 13:
        b.multi_node(op, [x, b.integers(sizes)], parts(sizes), axis=signed)
    else:
        b.multi_node(op, [x], parts(sizes), axis=signed, split=sizes)
    return True


@operator("Pad", of=ranked)
def pad(b, op, x, shape):
    axes = range(len(shape))
    if b.opset >= 18 and b.chance(0.4):
        axes = b.rng.sample(axes, b.rng.randint(1, len(shape)))
    mode = b.rng.choice(["constant", "constant", "edge", "reflect"] +
                        ["wrap"] * (b.opset >= 19))
    crops = mode == "constant" and b.chance(0.25)
    lo = [b.rng.choice([0, 0, 1, 2, 5, -1 if crops else 0]) for _ in axes]
    hi = [b.rng.choice([0, 0, 1, 3, -2 if crops else 0]) for _ in axes]
    if mode in ("reflect", "wrap"):  # onnxruntime repeats once only.
        most = [shape[axis] - (mode == "reflect") for axis in axes]
        lo = [min(p, n) for p, n in zip(lo, most)]
        hi = [min(p, n) for p, n in zip(hi, most)]
    result = list(shape)
    for axis, p, q in zip(axes, lo, hi):
        if shape[axis] + min(p, 0) + min(q, 0) < 1:
            return False
        result[axis] += p + q
    if size(result) > MAX_ELEMENTS:
        return False
    value = b.rng.uniform(-1, 1) if mode == "constant" and b.chance(0.5) else None
    if b.opset < 11:
        b.node(op, [x], result, pads=lo + hi, value=value, mode=mode)
        return True
    operands = [x, b.integers(lo + hi), "" if value is None else b.scalar(value)]
    if isinstance(axes, list):
        operands.append(b.integers(b.axes(axes, len(shape))))
    elif value is None:
        operands.pop()
    b.node(op, operands, result, mode=mode)
    return True
