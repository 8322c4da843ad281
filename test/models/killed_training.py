"""Trainings that are killed and go on from their last checkpoint. For the tests
and for benchmarks/faults/kills.py."""

import json
import os
import shutil
import signal
import subprocess
import time

import launcher
import numpy as np
import training_state


class Training:
    """soap-run on a compiled model, with a folder of checkpoints."""

    def __init__(self, tools, compiled, options, folder, ranks=1):
        self.program = tools.bin / "soap-run"
        self.compiled, self.options, self.ranks = compiled, options, ranks
        self.folder = folder
        self.checkpoints = folder / "checkpoints"
        self.log = folder / "log.jsonl"
        folder.mkdir(parents=True, exist_ok=True)

    def command(self, *more):
        command = [str(self.program), str(self.compiled), *map(str, self.options),
                   f"--checkpoint={self.checkpoints}", f"--log={self.log}",
                   *map(str, more)]
        return launcher.command(self.ranks, *command) if self.ranks > 1 else command

    def clear(self):
        shutil.rmtree(self.checkpoints, ignore_errors=True)
        self.log.unlink(missing_ok=True)

    def run(self, *more, check=True, **how):
        """To the end; seconds."""
        start = time.monotonic()
        result = subprocess.run(self.command(*more), capture_output=True, text=True,
                                env=launcher.environment(), timeout=600, **how)
        if check and result.returncode != 0:
            raise AssertionError(f"{' '.join(self.command(*more))}\n"
                                 f"exit {result.returncode}\n{result.stderr[-4000:]}")
        self.result = result
        return time.monotonic() - start

    def newest(self):
        """The newest checkpoint, or None."""
        files = sorted(self.checkpoints.glob("step-*.safetensors"))
        return files[-1] if files else None

    def steps(self):
        """Step to loss, as the log says."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        steps = [line for line in lines if "loss" in line]
        assert [line["step"] for line in steps] == list(range(1, len(steps) + 1))
        return [line["loss"] for line in steps]

    def logged(self):
        """Lines of the log."""
        return self.log.read_bytes().count(b"\n") if self.log.exists() else 0

    def kill(self, delay, rank=0, fault=signal.SIGKILL, step=0):
        """Lets it go on and sends a signal to one of its processes, so many seconds
        after a step. Returns the exit code; 0: it ended before."""
        process = subprocess.Popen(self.command("--resume"), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL,
                                   env=launcher.environment(), start_new_session=True)
        try:
            victim = process.pid
            while step and process.poll() is None and self.logged() < step:
                time.sleep(0.002)
            time.sleep(delay)
            if self.ranks > 1:
                # mpirun takes a while to start them.
                victim = None
                while process.poll() is None and victim is None:
                    victim = launcher.ranks_of(process, self.program).get(rank)
            if victim is not None and process.poll() is None:
                try:
                    os.kill(victim, fault)
                except ProcessLookupError:
                    pass  # It has just ended.
            try:
                code = process.wait(60)
            except subprocess.TimeoutExpired:
                # Open MPI's mpirun may stay behind if a rank dies while it
                # connects to it; no rank may.
                assert self.ranks > 1 and not launcher.ranks_of(process, self.program)
                code = -signal.SIGKILL
            return code
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def difference(file, other):
    """The largest difference of tensors of two checkpoints, relative to the
    largest element of each."""
    left, right = training_state.load(file), training_state.load(other)
    assert left.keys() == right.keys()
    return max(float(np.abs(left[key] - value).max() / max(1e-3, np.abs(value).max()))
               for key, value in right.items())
