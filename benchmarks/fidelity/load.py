"""What kernels take while the other core is idle, computes, or streams memory.

  python -m fidelity.load [--only=REGEX] [--rounds=N]

Run it as `python -m fidelity`, on a quiet machine with two cores. Each network is compiled for one device of one core
and profiled (soap-run --profile-ops) on core 0, in turn with core 1 idle, in matrix products that stay in its caches,
and in copies of memory that no cache holds. A row is a class of kernels: the operation that their keys begin with. Its
figures are sums of medians over the kernels of the class, as multiples of those beside an idle core.
"""

import argparse
import collections
import contextlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

from .rows import RESULTS, ROOT, Row, run_tool

NETWORKS = ("resnet50", "squeezenet", "bert_base", "gpt2_small", "rnnlm", "nmt")
# What core 1 does: products of 128 x 128 floats (196 KiB), copies between halves of 256 MiB.
LOADS = {
    "idle": None,
    "computing": "import numpy as n; a = n.ones((128, 128), n.float32); b = a.copy()\n"
                 "while True: n.matmul(a, a, out=b)",
    "streaming": "import numpy as n; a = n.ones(1 << 26, n.uint8); b = n.ones(1 << 27, n.uint8)[:1 << 26]\n"
                 "while True: n.copyto(b, a)",
}


@contextlib.contextmanager
def loaded(program):
    """Core 1 runs a program meanwhile."""
    if program is None:
        yield
        return
    one = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    process = subprocess.Popen(["taskset", "-c", "1", sys.executable, "-c", program], env={**os.environ, **one})
    try:
        yield
    finally:
        process.kill()
        process.wait()


def profile(tool, model, path):
    run_tool("taskset", "-c", "0", tool, model, f"--profile-ops={path}", "--iterations=9", "--warmup=2")
    return {entry["key"]: entry["ns"] for entry in json.loads(path.read_text())["entries"]}


def measure(network, arguments):
    """Median time of every kernel under every load."""
    row = Row(network, 1)
    row.work.mkdir(parents=True, exist_ok=True)
    model, binaries = row.work / "alone.so", arguments.build_dir / "bin"
    run_tool(binaries / "soap-compile", row.model(), "--batch=1", "--init-weights=random:1", "--devices=1",
             "--cores-per-device=1", "--calibration=none", "--no-reference", "-o", model)
    times = {load: collections.defaultdict(list) for load in LOADS}
    for _ in range(arguments.rounds):
        for load, program in LOADS.items():
            with loaded(program):
                for key, ns in profile(binaries / "soap-run", model, row.work / "profile.json").items():
                    times[load][key].append(ns)
    model.unlink()
    return {load: {key: statistics.median(values) for key, values in kernels.items()}
            for load, kernels in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="REGEX", help="networks")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--build-dir", type=pathlib.Path, default=ROOT / "build" / "release")
    arguments = parser.parse_args()
    sums = {load: collections.Counter() for load in LOADS}
    for network in NETWORKS:
        if re.search(arguments.only, network):
            times = measure(network, arguments)
            for load, kernels in times.items():
                for key, ns in kernels.items():
                    sums[load][re.match(r"[\w.]*", key).group()] += ns
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "load.json").write_text(json.dumps(sums))
    print("| class | ms beside an idle core | " + " | ".join(load for load in LOADS if load != "idle") + " |")
    print("|---|---|---|---|")
    for name, ns in sums["idle"].most_common():
        print(f"| {name} | {ns / 1e6:.2f} | "
              + " | ".join(f"{sums[load][name] / ns:.2f}" for load in LOADS if load != "idle") + " |")


if __name__ == "__main__":
    main()
