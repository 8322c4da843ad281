"""What lasts from step to step, as soap-run saves and loads it, and optimizers
written from the formulas of their papers."""

import json
import math

import numpy as np

TYPES = {"F64": np.float64, "F32": np.float32, "I64": np.int64}


def load(file):
    """Name to array of a safetensors file."""
    data = file.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    state = {}
    for name, entry in json.loads(data[8:end]).items():
        if name == "__metadata__":
            continue
        lo, hi = entry["data_offsets"]
        state[name] = np.frombuffer(data[end + lo:end + hi], TYPES[entry["dtype"]])
        state[name] = state[name].reshape(entry["shape"])
    return state


def save(file, state):
    names = {np.dtype(kind): name for name, kind in TYPES.items()}
    header, parts, end = {}, [], 0
    for name, value in state.items():
        parts.append(value.tobytes())
        header[name] = {"dtype": names[value.dtype], "shape": list(value.shape),
                        "data_offsets": [end, end + value.nbytes]}
        end += value.nbytes
    text = json.dumps(header).encode()
    file.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(parts))


def learning_rate(step, how):
    """Of a step; the first one is 1."""
    warmup, period = how.get("warmup", 0), how.get("lr-period", 1)
    after = max(0, step - 1 - warmup)
    part = min(1, after / period)
    decay = {"constant": 1, "linear": 1 - part,
             "cosine": (1 + math.cos(math.pi * part)) / 2,
             "step": how.get("lr-factor", 0.1)**(after // period)}
    rise = min(1, step / warmup) if warmup else 1
    return how.get("lr", 0.01) * rise * decay[how.get("lr-schedule", "constant")]


def update(step, weights, gradients, state, how):
    """A step of an optimizer; changes `weights` and `state`, which is empty before
    the first one. `how`: options of soap-compile by name."""
    rate = learning_rate(step, how)
    scale = 1
    if "clip-norm" in how:  # Pascanu et al. 2013, section 3.2, as PyTorch has it.
        norm = math.sqrt(sum((g * g).sum() for g in gradients.values()))
        scale = min(1, how["clip-norm"] / (norm + 1e-6))
    for name, w in weights.items():
        g = gradients[name] * scale
        decay = how.get("weight-decay", 0)
        if "no-vector-decay" in how and w.ndim <= 1:
            decay = 0
        if how["train"] == "adamw":  # Loshchilov and Hutter 2019, algorithm 2.
            w = w - rate * decay * w
        else:
            g = g + decay * w
        if how["train"] == "sgd":
            velocity = how.get("momentum", 0) * state.get(name + ".velocity", 0) + g
            if "momentum" in how:
                state[name + ".velocity"] = velocity
            weights[name] = w - rate * (g + how["momentum"] * velocity
                                        if "nesterov" in how else velocity)
            continue
        # Kingma and Ba 2015, algorithm 1.
        beta1, beta2 = how.get("beta1", 0.9), how.get("beta2", 0.999)
        mean = beta1 * state.get(name + ".mean", 0) + (1 - beta1) * g
        variance = beta2 * state.get(name + ".variance", 0) + (1 - beta2) * g * g
        state[name + ".mean"], state[name + ".variance"] = mean, variance
        weights[name] = w - rate * (mean / (1 - beta1**step)) / (
            np.sqrt(variance / (1 - beta2**step)) + how.get("epsilon", 1e-8))
