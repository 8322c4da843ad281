"""Times steps of networks in PyTorch, the counterparts of those of the zoo. Reads a line

    NETWORK BATCH SEQ f32|tf32|bf16|f16 eager|compile [cpu]

for each and answers with a JSON object in a line. The last word is for trying this
where no GPU is: the step is one of the CPU.
"""

import importlib
import json
import os
import statistics
import sys
import time

WARMUP, STEPS, SECONDS = 5, 50, 20


class Missing(Exception):
    """What a step needs is not there."""


def package(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        raise Missing(name) from None


try:
    torch = package("torch")
except Missing as missing:
    for _ in sys.stdin:
        print(json.dumps({"missing": str(missing)}), flush=True)
    sys.exit(0)


def image_network(name, size):
    def build(batch, _):
        model = getattr(package("torchvision").models, name)(weights=None)
        return model, (torch.randn(batch, 3, size, size),)
    return build


def bert_large(batch, seq):
    transformers = package("transformers")
    config = transformers.BertConfig(
        hidden_size=1024, num_hidden_layers=24, num_attention_heads=16,
        intermediate_size=4096)
    return transformers.BertModel(config), (torch.randint(0, 30000, (batch, seq)),)


def gpt2_medium(batch, seq):
    transformers = package("transformers")
    config = transformers.GPT2Config(n_embd=1024, n_layer=24, n_head=16, use_cache=False)
    return transformers.GPT2LMHeadModel(config), (torch.randint(0, 50000, (batch, seq)),)


class LanguageModel(torch.nn.Module):
    """Two LSTM layers of 2048 units between an embedding and a projection to 10,000
    words (Jia et al., 2019, table 3)."""

    def __init__(self, words, units):
        super().__init__()
        self.embedding = torch.nn.Embedding(words, units)
        self.lstm = torch.nn.LSTM(units, units, num_layers=2)
        self.projection = torch.nn.Linear(units, words)

    def forward(self, words):
        return self.projection(self.lstm(self.embedding(words))[0])


class LeNet5(torch.nn.Sequential):
    """LeCun et al., 1998, section II.B, as the zoo has it."""

    def __init__(self):
        nn = torch.nn
        super().__init__(
            nn.Conv2d(1, 6, 5), nn.Tanh(), nn.AvgPool2d(2),
            nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2),
            nn.Conv2d(16, 120, 5), nn.Tanh(), nn.Flatten(),
            nn.Linear(120, 84), nn.Tanh(), nn.Linear(84, 10))


def lenet5(batch, _):
    return LeNet5(), (torch.randn(batch, 1, 32, 32),)


def rnnlm(batch, seq):
    return LanguageModel(10000, 2048), (torch.randint(0, 10000, (seq, batch)),)


NETWORKS = {
    "lenet5": lenet5,
    "resnet50": image_network("resnet50", 224),
    "resnet101": image_network("resnet101", 224),
    "inception_v3": image_network("inception_v3", 299),
    "vgg19": image_network("vgg19", 224),
    "rnnlm": rnnlm,
    "bert_large": bert_large,
    "gpt2_medium": gpt2_medium,
}


def place(model, inputs, device, precision):
    """The model and its inputs on the device, floats as `precision` has them."""
    model = model.eval().to(device)
    inputs = [x.to(device) for x in inputs]
    halves = {"bf16": torch.bfloat16, "f16": torch.float16}.get(precision)
    if halves:
        model = model.to(halves)
        inputs = [x.to(halves) if x.is_floating_point() else x for x in inputs]
    return model, inputs


def measure(step, inputs, synchronize):
    """Seconds of steps, after some for warming up; fewer than STEPS of them where these
    take more than SECONDS."""
    times, end = [], None
    with torch.inference_mode():
        for number in range(WARMUP + STEPS):
            synchronize()
            start = time.perf_counter()
            step(*inputs)
            synchronize()
            if number >= WARMUP:
                times.append(time.perf_counter() - start)
            if number == WARMUP:
                end = time.perf_counter() + SECONDS
            if end and time.perf_counter() > end:
                break
    return times


def answer(name, batch, seq, precision, mode, *device):
    on_cpu = device == ("cpu",)
    if not on_cpu and not torch.cuda.is_available():
        raise Missing("a GPU that PyTorch sees")
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.benchmark = True
    model, inputs = NETWORKS[name](int(batch), int(seq))
    parameters = sum(p.numel() for p in model.parameters())
    model, inputs = place(model, inputs, "cpu" if on_cpu else "cuda", precision)
    step = torch.compile(model, mode="max-autotune") if mode == "compile" else model
    if not on_cpu:
        torch.cuda.reset_peak_memory_stats()
    times = measure(step, inputs, (lambda: None) if on_cpu else torch.cuda.synchronize)
    return {"ms": 1e3 * statistics.median(times), "steps": len(times),
            "parameters": parameters, "torch": torch.__version__,
            "peak_bytes": 0 if on_cpu else torch.cuda.max_memory_allocated()}


def main():
    answers = os.dup(1)
    os.dup2(2, 1)  # Whatever libraries print is not an answer.
    for line in sys.stdin:
        try:
            reply = answer(*line.split())
        except Missing as reason:
            reply = {"missing": str(reason)}
        except Exception as reason:  # Of a library; the next step may be well.
            reply = {"error": f"{type(reason).__name__}: {reason}"[:300]}
        os.write(answers, (json.dumps(reply) + "\n").encode())
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
