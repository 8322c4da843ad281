"""One product, split by samples and by channels: what its kernels take on two devices of one core.

Jia et al., 2019, section 8.2.1: split by channels, the product of NMT computes 38% less than split by samples. Here the
kernels of both are timed in turn (soap-run --profile-ops), for products of the size of NMT's layers (1,024 to 4,096)
and of its vocabulary (1,024 to 32,000), and with as many rows as a batch or a sentence has.
"""

import json
import random
import statistics

import numpy as np
import onnx
from onnx import TensorProto, helper

from .rows import RESULTS, interval, run_tool

ROWS = (2, 8, 32, 64, 128, 256, 1024)
WEIGHTS = ((1024, 4096), (2048, 1024), (1024, 32000))
SPLITS = {"samples": "data-parallel", "channels": "tensor-parallel"}


def save_product(path, rows, depth, columns):
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"], "product")], "product",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, depth])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, columns])],
        [helper.make_tensor("w", TensorProto.FLOAT, [depth, columns],
                            np.random.default_rng(1).standard_normal((depth, columns), dtype=np.float32).tobytes(),
                            raw=True)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


def kernel_ms(limits, model, costs):
    """What the product's kernel takes on one device while the other computes, too."""
    run_tool(limits.build_dir / "bin" / "soap-run", model, "--warmup=2", f"--iterations={limits.iterations}",
             f"--profile-ops={costs}", environment=limits.environment)
    return max(entry["ns"] for entry in json.loads(costs.read_text())["entries"]) / 1e6


def compile_split(limits, model, strategy, stem):
    """Compiles to STEM.so; the simulated step, which is that of the kernel, on analytic costs in ms."""
    exported = stem.with_suffix(".json")
    run_tool(limits.build_dir / "bin" / "soap-compile", model, "--devices=2", "--cores-per-device=1",
             "--no-reference", "--cost=analytic", f"--strategy={strategy}", f"--export-strategy={exported}", "-o",
             stem.with_suffix(".so"), environment=limits.environment)
    return json.loads(exported.read_text())["simulated_ns"] / 1e6


def print_products(limits):
    work = RESULTS / "products"
    work.mkdir(parents=True, exist_ok=True)
    print("| rows | weights | by samples, ms | by channels, ms | by channels less | simulated, analytic |\n"
          "|---|---|---|---|---|---|")
    for depth, columns in WEIGHTS:
        for rows in ROWS:
            model = work / "product.onnx"
            save_product(str(model), rows, depth, columns)
            simulated = {split: compile_split(limits, model, strategy, work / split)
                         for split, strategy in SPLITS.items()}
            times = {split: [] for split in SPLITS}
            for _ in range(limits.runs):
                for split in random.sample(list(SPLITS), len(SPLITS)):
                    times[split].append(kernel_ms(limits, work / f"{split}.so", work / "costs.json"))
            shown = {split: "{:.3f} ({:.3f} to {:.3f})".format(*interval(values)) for split, values in times.items()}
            medians = {split: statistics.median(values) for split, values in times.items()}
            print(f"| {rows} | {depth} x {columns} | {shown['samples']} | {shown['channels']} | "
                  f"{1 - medians['channels'] / medians['samples']:.0%} | "
                  f"{1 - simulated['channels'] / simulated['samples']:.0%} |", flush=True)
