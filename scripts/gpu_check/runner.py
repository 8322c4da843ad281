"""Runs items, keeps what came of each, and goes on from there."""

import concurrent.futures
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import threading
import time


@dataclasses.dataclass
class Outcome:
    """What came of an item: "passed", "failed" or "skipped"."""

    status: str
    seconds: float = 0
    note: str = ""  # Why, in a line.
    values: dict = dataclasses.field(default_factory=dict)  # What was measured.


class Skipped(Exception):
    """An item cannot run on this machine; says why."""


class Failed(Exception):
    """An item did not do what it should. `output` is what its programs printed."""

    def __init__(self, reason, output=""):
        super().__init__(reason)
        self.output = output


def last_line(text, otherwise):
    lines = [line for line in text.strip().splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower() or "DIFFERENT" in line]
    return (errors or lines or [otherwise])[-1][:300]


def communicate(processes, timeout):
    """The outputs of processes that run at the same time; ends all that are left."""
    end = time.monotonic() + timeout
    try:
        return [process.communicate(timeout=max(end - time.monotonic(), 0.1))[0]
                for process in processes]
    except subprocess.TimeoutExpired:
        raise Failed(f"no end after {timeout} s") from None
    finally:
        for process in processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()


def run(commands, environments, timeout):
    """Runs commands at the same time; raises Failed unless all end with 0. Returns
    what the first one printed."""
    processes = [subprocess.Popen(command, env=environment, text=True, errors="replace",
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  start_new_session=True)
                 for command, environment in zip(commands, environments)]
    outputs = communicate(processes, timeout)
    for process, output in zip(processes, outputs):
        if process.returncode:
            raise Failed(f"status {process.returncode}: " + last_line(output, "no output"),
                         "".join(outputs))
    return outputs[0]


class Commands:
    """A soap-run that runs one command after the other. On a GPU, a process takes
    long to start, and all that start at a time wait for each other."""

    END = "soap-run: exit status "

    def __init__(self, program, environment):
        self.program, self.environment = program, environment
        self.process = None

    def begin(self):
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [self.program, "--commands"], env=self.environment, text=True,
                errors="replace", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, start_new_session=True)

    def end(self):
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def read(self):
        """What a command printed, and its exit status; none if the process ended."""
        output = []
        for line in self.process.stdout:
            if line.startswith(self.END):
                return "".join(output), int(line[len(self.END):])
            output.append(line)
        return "".join(output), None

    def run(self, words, timeout):
        """What the command printed. Raises Failed unless it ends with 0."""
        self.begin()
        timed_out = threading.Event()
        timer = threading.Timer(timeout, lambda: (timed_out.set(), self.end()))
        timer.start()
        try:
            print(*words, sep="\t", file=self.process.stdin, flush=True)
            output, status = self.read()
        except BrokenPipeError:
            output, status = "", None
        finally:
            timer.cancel()
        if status == 0:
            return output
        self.end()  # A GPU that failed fails all that this process does.
        if timed_out.is_set():
            raise Failed(f"no end after {timeout} s", output)
        status = self.process.returncode if status is None else status
        raise Failed(f"status {status}: " + last_line(output, "no output"), output)


class Results:
    """Outcomes by the names of items, in a file of a line each. Those of another
    archive or another GPU are left out."""

    def __init__(self, folder, identity):
        self.file = pathlib.Path(folder) / "results.jsonl"
        self.identity = identity
        self.outcomes = {}
        self.file.parent.mkdir(parents=True, exist_ok=True)
        if self.file.exists():
            for line in self.file.read_text().splitlines():
                self.take(line)

    def take(self, line):
        try:
            entry = json.loads(line)
        except ValueError:
            return  # The run was ended while it wrote this line.
        name = entry.pop("name")
        if entry.pop("identity") == self.identity:
            self.outcomes[name] = Outcome(**entry)

    def add(self, name, outcome, output=""):
        """Keeps an outcome, and what the programs of a failed item printed in
        logs/NAME.log."""
        self.outcomes[name] = outcome
        log = self.file.parent / "logs" / (name.replace("/", "-") + ".log")
        log.unlink(missing_ok=True)
        if output:
            log.parent.mkdir(exist_ok=True)
            log.write_text(output)
        entry = {"identity": self.identity, "name": name, **dataclasses.asdict(outcome)}
        with open(self.file, "a") as file:
            file.write(json.dumps(entry) + "\n")


def attempt(work, end):
    """The outcome of an item and what its programs printed; nothing once the time is
    up."""
    start = time.monotonic()
    if start >= end:
        return None
    output = ""
    try:
        outcome = Outcome("passed", values=work() or {})
    except Skipped as reason:
        outcome = Outcome("skipped", note=str(reason))
    except Failed as reason:
        outcome, output = Outcome("failed", note=str(reason)), reason.output
    outcome.seconds = round(time.monotonic() - start, 2)
    return outcome, output


def run_items(items, results, seconds, jobs=1, report=print):
    """Runs the items that have no result yet, `jobs` at a time; failed ones run again.
    `items` are pairs of a name and a function that returns what it measured. False if
    the time was up."""
    end = time.monotonic() + seconds
    todo = [(name, work) for name, work in items if name not in results.outcomes
            or results.outcomes[name].status == "failed"]
    if len(todo) < len(items):
        report(f"{len(items) - len(todo)} of {len(items)} items have a result already")
    in_time = True
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        names = {pool.submit(attempt, work, end): name for name, work in todo}
        for future in concurrent.futures.as_completed(names):
            if future.result() is None:
                in_time = False
                continue
            name, (outcome, output) = names[future], future.result()
            results.add(name, outcome, output)
            if outcome.status != "passed":
                report(f"{name}: {outcome.status}: {outcome.note}")
    return in_time


def group_of(name):
    return name.split("/")[0]


def print_table(rows, report=print):
    """Rows of strings in columns, the first row as a heading."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for number, row in enumerate(rows):
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        report("| " + " | ".join(cells) + " |")
        if number == 0:
            report("|" + "|".join("-" * (width + 2) for width in widths) + "|")


def summarize(items, results, report=print):
    """A row per group. True if nothing failed and all was run."""
    counts = {}
    for name, _ in items:
        outcome = results.outcomes.get(name)
        status = outcome.status if outcome else "not run"
        group = counts.setdefault(group_of(name), {"seconds": 0, "worst": None})
        group[status] = group.get(status, 0) + 1
        if outcome:
            group["seconds"] += outcome.seconds
            error = outcome.values.get("norm_rel")
            if error is not None:
                group["worst"] = max(group["worst"] or 0, error)
    rows = [["check", "passed", "failed", "skipped", "not run", "largest error", "s"]]
    for name, group in counts.items():
        worst = "" if group["worst"] is None else f"{group['worst']:.1e}"
        rows.append([name, *(str(group.get(status, 0)) for status in
                             ("passed", "failed", "skipped", "not run")),
                     worst, f"{group['seconds']:.0f}"])
    print_table(rows, report)
    return not any(group.get("failed") or group.get("not run")
                   for group in counts.values())
