"""Seeded values of parameters: what include/soap/Runtime/RandomRecipe.h defines,
with numpy."""

import numpy as np

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mix(x):
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _hash(name):
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return np.uint64(value)


def _uniform(key, indices):
    bits = _mix(key + (indices + np.uint64(1)) * GOLDEN) >> np.uint64(11)
    return (bits.astype(np.float64) + 0.5) * 2.0**-53


BLOCK = 1 << 16  # Elements at a time: fits in a cache. Even, for pairs.


def _block(key, start, count, distribution, a, b):
    """Elements [start, start + count); `start` is even."""
    if distribution == "uniform":
        u = _uniform(key, np.arange(start, start + count, dtype=np.uint64))
        return a + (b - a) * u
    pairs = np.arange(start, start + count, 2, dtype=np.uint64)
    radius = np.sqrt(-2.0 * np.log(_uniform(key, pairs)))
    angle = 6.283185307179586476925286766559 * _uniform(key, pairs + np.uint64(1))
    z = np.empty(2 * len(pairs))
    z[0::2] = radius * np.cos(angle)
    z[1::2] = radius * np.sin(angle)
    return a + b * z[:count]


def values(seed, name, count, distribution, a, b):
    """`count` float32 elements of the recipe (seed, name, distribution, a, b)."""
    if distribution not in ("normal", "uniform"):
        raise ValueError(f"expected normal or uniform, got: {distribution}")
    result = np.empty(count, dtype=np.float32)
    with np.errstate(over="ignore"):
        key = _mix(_mix(np.uint64(seed) + GOLDEN) ^ _hash(name))
        for start in range(0, count, BLOCK):
            size = min(BLOCK, count - start)
            result[start:start + size] = _block(key, start, size, distribution, a, b)
    return result
