"""Where SOAP's step goes: time by class of kernel, beside what the machine can do."""

import collections
import json
import re
import subprocess
import time

import numpy as np

from .networks import write


def best_of(action, repeats=7):
    """The shortest of some runs, in seconds of the process's own time."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times)


def limits():
    """Gflop/s of a large product and GB/s of a large copy (read and written), of one thread of numpy."""
    n = 1536
    a, b, c = (np.ones((n, n), np.float32) for _ in range(3))
    product = 2 * n**3 / best_of(lambda: np.matmul(a, b, out=c)) / 1e9
    source = np.ones(64 << 20, np.float32)
    target = np.empty_like(source)
    return product, 2 * source.nbytes / best_of(lambda: np.copyto(target, source)) / 1e9


def class_of(event):
    """Launches by the operation that their key begins with, other rows by their kind."""
    key = event["args"].get("kernel")
    return re.split(r"[ {(]", key, maxsplit=1)[0] if key else event["args"]["kind"]


def profile(name, batch, arguments):
    """Milliseconds, flops and rows by class, of the fastest of the traced runs of every row."""
    work = arguments.work / f"{name}.b{batch}"
    work.mkdir(parents=True, exist_ok=True)
    model, compiled = work / "model.onnx", work / "profile.so"
    if not model.exists():
        write(name, batch, model, arguments.build)
    tools = arguments.build / "bin"
    subprocess.run([tools / "soap-compile", model, "--devices=1", f"--cores-per-device={len(arguments.cores)}",
                    *arguments.compile, "-o", compiled], check=True, stdout=subprocess.DEVNULL)
    info = json.loads(subprocess.run([tools / "soap-run", compiled, "--info", "--json"], check=True, text=True,
                                     capture_output=True).stdout)
    flops = {kernel["key"]: kernel["flops"] for kernel in info["kernels"]}
    trace = work / "trace.json"
    command = ["taskset", "-c", ",".join(map(str, arguments.cores)), tools / "soap-run", compiled, "--warmup=2",
               "--iterations=2", f"--trace={trace}"]
    steps = []
    for _ in range(arguments.rounds):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        steps.append([event for event in json.loads(trace.read_text())["traceEvents"]
                      if event["ph"] == "X" and event["cat"] != "simulated" and event["args"]["phase"] == "step"])
    found = collections.defaultdict(lambda: [0.0, 0, 0])
    # A row is the same one in all steps: on a busy machine, its fastest run was disturbed least.
    for rows in zip(*(sorted(events, key=lambda event: event["ts"]) for events in steps)):
        entry = found[class_of(rows[0])]
        entry[0] += min(event["dur"] for event in rows) / 1e3
        entry[1] += flops.get(rows[0]["args"].get("kernel"), 0)
        entry[2] += 1
    return found


def print_profile(name, batch, arguments, machine):
    found = profile(name, batch, arguments)
    whole = sum(entry[0] for entry in found.values())
    print(f"\n{name}, batch {batch}: {whole:.2f} ms in rows of a step; a product reaches {machine[0]:.0f} Gflop/s here, "
          f"a copy {machine[1]:.1f} GB/s\n")
    print("| class | rows | ms | share | Gflop/s |")
    print("|---|---|---|---|---|")
    for kind, (ms, flops, rows) in sorted(found.items(), key=lambda item: -item[1][0]):
        print(f"| {kind} | {rows} | {ms:.3f} | {ms / whole:.1%} | {flops / ms / 1e6 if ms and flops else 0:.1f} |")
