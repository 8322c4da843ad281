"""Runs of soap-run in several processes, and faults in them."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import light_models

FOUND = shutil.which("mpirun") is not None


def environment():
    """Open MPI starts nothing as root unless it is told twice."""
    return {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def command(ranks, *program):
    """More ranks than cores are allowed; all use all cores."""
    return ["mpirun", "-np", str(ranks), "--oversubscribe", "--bind-to", "none",
            *map(str, program)]


def compile_for_faults(tools, devices, folder):
    """A model that loads for a while and moves much."""
    compiled = folder / "faults.so"
    tools.run("soap-compile", light_models.FOLDER / "light_squeezenet.onnx",
              "--batch=4", f"--init-weights=random:{light_models.SEED}",
              f"--devices={devices}", "--strategy=random", "--seed=2", "-o",
              compiled)
    return compiled


def ranks_of(mpirun, program):
    """Rank to process of those that run `program` now."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (folder / "stat").read_text().rsplit(")", 1)[1].split()[:2]
            if int(parent) != mpirun.pid or state == "Z" or \
                    (folder / "exe").readlink() != program:
                continue
            variables = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue  # It has ended.
        for variable in variables:
            name, _, value = variable.partition(b"=")
            if name == b"OMPI_COMM_WORLD_RANK":
                found[int(value)] = int(folder.name)
    return found


class Run:
    """mpirun with soap-run, for a long time."""

    def __init__(self, tools, model, ranks, timeout):
        self.program = tools.bin / "soap-run"
        self.output = model.with_suffix(".output").open("w+")
        self.process = subprocess.Popen(
            command(ranks, self.program, model, "--iterations=1000000",
                    f"--timeout={timeout}"),
            stdout=self.output, stderr=subprocess.STDOUT, env=environment(),
            start_new_session=True)

    def ranks(self):
        """Rank to process of those that run soap-run now."""
        return ranks_of(self.process, self.program)

    def process_of(self, rank):
        """The process of a rank; None if mpirun ends before it starts."""
        while self.process.poll() is None:
            if process := self.ranks().get(rank):
                return process
        return None

    def text(self):
        self.output.seek(0)
        return self.output.read()

    def end(self):
        """Whatever is left of it."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.output.close()


def inject(tools, model, fault, rank, ranks, delay, timeout):
    """Sends the signal `fault` to a rank. Returns the seconds until mpirun ended
    and what is wrong, or None."""
    run = Run(tools, model, ranks, timeout)
    try:
        time.sleep(delay)
        process = run.process_of(rank)
        if process is None:
            return 0, f"it ended before the fault:\n{run.text()}"
        os.kill(process, fault)
        start = time.monotonic()
        # Ranks that do not know each other yet wait for 10 s at least.
        limit = max(timeout, 10) + 10
        while run.ranks() and time.monotonic() - start < limit:
            time.sleep(0.05)
        seconds = time.monotonic() - start
        if run.ranks():
            return seconds, f"it hung:\n{run.text()}"
        # Open MPI's mpirun may stay behind if a rank dies while it connects to it.
        try:
            code = run.process.wait(5)
        except subprocess.TimeoutExpired:
            code = None
        named = re.findall(rf"error: rank {rank} \(host [^ ,]+(, pid {process})?\)",
                           run.text())
        others = re.findall(rf"error: (?!rank {rank}\b).*", run.text())
        # A rank that mpirun ends before it has begun says nothing, and one that
        # is lost then is named without its process.
        enough = ranks - 1 if any(named) else 1
        if code == 0 or len(named) < enough or others:
            return seconds, (f"exit code {code}, named by {len(named)} of "
                             f"{ranks - 1}:\n{run.text()}")
        return seconds, None
    finally:
        run.end()
