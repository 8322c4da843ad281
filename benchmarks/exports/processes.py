"""Processes with a limit of time."""

import dataclasses
import os
import signal
import subprocess
import sys
import time
import traceback


@dataclasses.dataclass
class Ended:
    ok: bool
    output: str  # What it printed, or that it took too long.
    stdout: str = ""
    wall: float = 0.0
    cpu: float = 0.0  # Of the process and those that it waited for.

    @property
    def reason(self):
        """What it printed of why it failed."""
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        # PyTorch's exporter ends with a summary of the exception that it met.
        summaries = [line for line in lines if line.startswith("<class '")]
        errors = [i for i, line in enumerate(lines) if "error" in line.lower()]
        # Lines behind an error say more of it.
        found = summaries[-1:] or lines[errors[-1] if errors else -1:]
        return "; ".join(found)[:400] or "no output"


def wait(pid, seconds):
    """Waits for a process that leads a group. Returns its exit status, what it used, and whether it
    was killed because it took too long."""
    deadline = time.monotonic() + seconds
    while True:
        done, status, usage = os.wait4(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status), usage, False
        if time.monotonic() > deadline:
            os.killpg(pid, signal.SIGKILL)
            _, status, usage = os.wait4(pid, 0)
            return os.waitstatus_to_exitcode(status), usage, True
        time.sleep(0.02)


def ended(start, seconds, code, usage, late, output, stdout=""):
    if late:
        output = f"error: took more than {seconds} s"
    elif code < 0:
        output += f"\nerror: ended by {signal.Signals(-code).name}"
    return Ended(code == 0 and not late, output, stdout, time.monotonic() - start,
                 usage.ru_utime + usage.ru_stime)


def call(function, seconds, log):
    """Calls a function in a fork of this process, which has its libraries loaded already."""
    start = time.monotonic()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.setsid()
            with open(log, "wb", buffering=0) as file:
                os.dup2(file.fileno(), 1)
                os.dup2(file.fileno(), 2)
            function()
            code = 0
        except BaseException as error:
            traceback.print_exc()
            first = (str(error).strip().splitlines() or [""])[0]
            print(f"error: {type(error).__name__}: {first}", file=sys.stderr)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    code, usage, late = wait(pid, seconds)
    return ended(start, seconds, code, usage, late, log.read_text(errors="replace"))


def run(command, seconds, log):
    """Runs a program. What it prints goes to files beside the log first: pipes might fill."""
    start = time.monotonic()
    printed = log.with_suffix(".stdout")
    with open(printed, "wb") as stdout, open(log, "wb") as stderr:
        process = subprocess.Popen([str(word) for word in command], stdout=stdout, stderr=stderr,
                                   start_new_session=True)
        code, usage, late = wait(process.pid, seconds)
        process.returncode = code
    return ended(start, seconds, code, usage, late, log.read_text(errors="replace"),
                 printed.read_text(errors="replace"))
