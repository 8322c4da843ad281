"""Simulated steps of ten strategies on two devices of one core, with profiled costs, beside measured ones."""

import pathlib
import re
import statistics
import sys
import tempfile

from .models import LARGE, large
from .running import BINARIES, prepare

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "figures"))
from measure import Tools, fit_strategies, kendall_tau  # noqa: E402


def print_fit(arguments):
    for name in [*LARGE, "resnet18"]:
        if not re.search(arguments.only, name):
            continue
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            options, inputs = prepare(large(name, arguments.batch), folder)
            tools = Tools(BINARIES.parent, folder)
            names, measured, analytic, profiled = fit_strategies(tools, arguments, name, options, inputs=inputs)
        errors = [abs(s / m - 1) for s, m in zip(profiled, measured)]
        tools.table(f"{name}, batch {arguments.batch}, ms per step",
                    ["strategy", "measured", "simulated", "with profiles", "error of these"],
                    [[strategy, f"{m:.2f}", f"{a:.2f}", f"{p:.2f}", f"{100 * (p / m - 1):+.1f}%"]
                     for strategy, m, a, p in zip(names, measured, analytic, profiled)])
        print(f"   mean error {100 * statistics.mean(errors):.1f}%, Kendall's tau {kendall_tau(measured, profiled):.2f}",
              flush=True)
