"""What --figures measures: step times of networks beside PyTorch's, how much of a
step is in kernels, how good simulated times are, and memory."""

import atexit
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading

from checks import run_words
from runner import Failed, Skipped, print_table

TIMEOUT = 300
ITERATIONS, WARMUP = 50, 10
SLOWEST = 400  # Operations whose times are kept.


def report_of(output):
    return json.loads(output[output.index("{"):])


def step_time(machine, item):
    """Median step, its simulated time, planned and measured memory."""
    words = run_words(machine, item, f"--iterations={ITERATIONS}", f"--warmup={WARMUP}")
    step = report_of(machine.soap_run(words, TIMEOUT))["step"]
    info = report_of(machine.soap_run(run_words(machine, item, "--info"), TIMEOUT))
    device = info["devices"][0]
    return {"ms": step["median_ns"] / 1e6, "iterations": step["iterations"],
            "simulated_ms": info["simulated_ns"] / 1e6,
            "peak_bytes": device["peak_bytes"],
            "planned_bytes": device["planned"]["peak_bytes"]}


def kernel_times(machine, item):
    """Of traced steps, which are not captured: the share in kernels, and how far
    simulated times of operations are off: the mean of |simulated / measured - 1|,
    weighed by the measured time."""
    rows = report_of(machine.soap_run(run_words(machine, item, "--fit"), TIMEOUT))["fit"]
    nodes = [row for row in rows if row["node"] and row["measured_ns"]]
    step = sum(row["measured_ns"] for row in rows
               if not row["node"] and row["name"] == "step")
    busy = sum(row["measured_ns"] for row in nodes)
    if not busy or not step:
        raise Failed("the traced steps have no kernels")
    wrong = sum(abs(row["simulated_ns"] - row["measured_ns"]) for row in nodes)
    slowest = sorted(nodes, key=lambda row: -row["measured_ns"])[:SLOWEST]
    return {"share_in_kernels": busy / step, "simulation_error": wrong / busy,
            "step_ms": step / 1e6,
            "slowest": [[row["name"], row["measured_ns"], row["simulated_ns"]]
                        for row in slowest]}


class Torch:
    """A process of PyTorch, which answers requests; begun when the first one comes."""

    SCRIPT = str(pathlib.Path(__file__).with_name("torch_step.py"))

    def __init__(self):
        self.process = None

    def begin(self):
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [sys.executable, self.SCRIPT], text=True, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
            atexit.register(self.end)

    def end(self):
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def ask(self, *words):
        """What a step takes. Raises Skipped or Failed."""
        self.begin()
        timer = threading.Timer(TIMEOUT, self.end)
        timer.start()
        try:
            print(*words, file=self.process.stdin, flush=True)
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            timer.cancel()
        if not line:
            raise Failed(f"PyTorch has ended, or had no answer after {TIMEOUT} s")
        reply = json.loads(line)
        if "missing" in reply:
            raise Skipped(f"{reply['missing']} is not there")
        if "error" in reply:
            raise Failed(reply["error"])
        return reply

    def step(self, item, mode):
        return self.ask(item["network"], item["batch"], item["seq"], item["precision"],
                        mode)


def all_figures(machine, manifest):
    """First what is required: our step and PyTorch's."""
    items = []
    figures = manifest["figures"]
    torch = Torch()
    for kind, measure in (("soap", step_time),
                          ("eager", lambda _, item: torch.step(item, "eager")),
                          ("kernels", kernel_times)):
        items += [(f"{kind}/{item['name']}",
                   lambda item=item, measure=measure: measure(machine, item))
                  for item in figures]
    items += [(f"compile/{item['name']}",
               lambda item=item: torch.step(item, "compile"))
              for item in figures if item["compile"]]
    return items


def cell(results, name, key, form="{:.2f}", scale=1.0):
    outcome = results.outcomes.get(name)
    if outcome is None:
        return "not run"
    if outcome.status != "passed":
        return outcome.status
    value = outcome.values.get(key)
    return "" if value is None else form.format(value * scale)


def print_figures(manifest, results, report=print):
    rows = [["network", "SOAP ms", "simulated ms", "eager ms", "compile ms",
             "in kernels %", "simulation off %", "peak MiB", "planned MiB"]]
    mebi = 1 / 2**20
    for item in manifest["figures"]:
        name = item["name"]
        rows.append([
            name, cell(results, f"soap/{name}", "ms"),
            cell(results, f"soap/{name}", "simulated_ms"),
            cell(results, f"eager/{name}", "ms"),
            cell(results, f"compile/{name}", "ms") if item["compile"] else "",
            cell(results, f"kernels/{name}", "share_in_kernels", "{:.0f}", 100),
            cell(results, f"kernels/{name}", "simulation_error", "{:.0f}", 100),
            cell(results, f"soap/{name}", "peak_bytes", "{:.0f}", mebi),
            cell(results, f"soap/{name}", "planned_bytes", "{:.0f}", mebi)])
    print_table(rows, report)
