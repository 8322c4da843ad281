"""Runs the tools on the light models, everything once: shared by the tests and
by benchmarks/models."""

import dataclasses
import functools
import json
import pathlib
import subprocess
import sys

import launcher
import light_models

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Tools:
    """Runs the tools; raises with their output when one fails."""

    def __init__(self, build):
        self.bin = pathlib.Path(build).resolve() / "bin"

    def run(self, tool, *args, check=True, ranks=1):
        command = [str(self.bin / tool), *map(str, args)]
        if ranks > 1:
            command = launcher.command(ranks, *command)
        result = subprocess.run(command, capture_output=True, text=True,
                                timeout=600, env=launcher.environment())
        if check and result.returncode != 0:
            raise AssertionError(
                f"{' '.join(command)}\nexit {result.returncode}\n"
                f"{result.stdout[-2000:]}\n{result.stderr[-4000:]}")
        return result

    def json(self, tool, *args):
        return json.loads(self.run(tool, *args, "--json").stdout)

    def script(self, name, *args):
        command = [sys.executable, str(ROOT / "scripts" / name),
                   *map(str, args)]
        result = subprocess.run(command, capture_output=True, text=True,
                                timeout=600)
        assert result.returncode == 0, (
            f"{' '.join(command)}\n{result.stdout[-2000:]}\n"
            f"{result.stderr[-4000:]}")
        return result


@dataclasses.dataclass
class ParallelRun:
    """One step on several devices, compared with one device."""

    report: dict  # soap-run --json
    planned: list  # Movements, from soap-compile.
    strategy: dict  # Its file.


def keeps_followers_apart(seed):
    """Of random strategies, those in which every tensor is on some device: else
    the library's kernels go on with what follows them."""
    return seed % 2 == 1


def steps(report):
    """That a run took: --verify takes one of its own."""
    return 2 if "verify" in report else 1


class Zoo:
    """Prepares, compiles and runs the light models; everything once."""

    def __init__(self, tools, folder, batches=(1, 4)):
        self.tools = tools
        self.folder = folder
        self.batches = batches
        for name in ("models", "one_device", "one_device_info", "one_device_outputs",
                     "parallel", "parallel_run"):
            setattr(self, name, functools.cache(getattr(self, name)))

    def models(self, name):
        """By batch size."""
        folder = self.folder / name
        folder.mkdir()
        return light_models.prepare(self.tools, name, self.batches, folder)

    def model(self, name, batch):
        return self.models(name)[batch]

    def one_device(self, name, batch):
        """The model, compiled for one device."""
        model = self.model(name, batch)
        self.tools.run("soap-compile", *model.compile_arguments(), "--devices=1",
                       "-o", model.folder / "one.so")
        return model.folder / "one.so"

    def one_device_info(self, name, batch):
        """What it says about itself when it is loaded."""
        return self.tools.json("soap-run", self.one_device(name, batch), "--info")

    def one_device_outputs(self, name, batch):
        """Output to .npy file."""
        model = self.model(name, batch)
        files = {output: model.folder / f"output{number}.npy"
                 for number, output in enumerate(model.references)}
        self.tools.run("soap-run", self.one_device(name, batch),
                       *model.input_arguments(),
                       *(f"--output={n}={file}" for n, file in files.items()))
        return files

    def parallel(self, name, batch, strategy, devices):
        """The model, compiled with a strategy (`random:SEED` too). Beside it lie
        .movements.json and .strategy.json."""
        model = self.model(name, batch)
        kind, _, seed = strategy.partition(":")
        apart = ["--no-followers"] if seed and keeps_followers_apart(int(seed)) else []
        compiled = model.folder / f"{kind}{seed}-{devices}.so"
        self.tools.run("soap-compile", *model.compile_arguments(),
                       f"--devices={devices}", f"--strategy={kind}",
                       f"--seed={seed or light_models.SEED}", "--proposals=200", *apart,
                       "--export-movements="
                       f"{compiled.with_suffix('.movements.json')}",
                       "--export-strategy="
                       f"{compiled.with_suffix('.strategy.json')}",
                       "-o", compiled)
        return compiled

    def parallel_run(self, name, batch, strategy, devices, ranks=1):
        """Runs in so many processes and compares with one device."""
        model = self.model(name, batch)
        compiled = self.parallel(name, batch, strategy, devices)
        expected = [f"--expected={output}={file}" for output, file in
                    self.one_device_outputs(name, batch).items()]
        result = self.tools.run(
            "soap-run", compiled, *model.input_arguments(), *expected,
            f"--rtol={light_models.TOLERANCE}", "--atol=0", "--json",
            *(["--verify"] if ranks == 1 and strategy.startswith("random") and
              name in light_models.VERIFIED else []), check=False, ranks=ranks)
        assert result.stdout, result.stderr
        report = json.loads(result.stdout)
        assert result.returncode == (0 if report["equal"] else 1), result.stderr
        planned = json.loads(compiled.with_suffix(".movements.json").read_text())
        strategy = json.loads(compiled.with_suffix(".strategy.json").read_text())
        return ParallelRun(report, planned["movements"], strategy)
