"""Plants faults in a compilation and a run, one after the other, and says what
catches each.

usage: plant.py BUILD WORK MODEL [--target=NAME] [--no-fuse] [--train=...]
                FAULT[,FAULT]...

MODEL.mlir is compiled for one device by the real compiler and run: the judge.
Then MODEL.mlir is compiled with MODEL.json (for MODEL.topology.json, if there is
one; for the target NAME) by a compiler and run by a runtime in which faults are
planted; `none` plants none. With --train and other options of training, both
compile a step, the second for two devices, data parallel or as --strategy=NAME says,
and losses of the third step are compared; with --state, also what lasts behind it.
One line per argument: what caught it (the compiler or
the loader with its error, or the comparison of outputs, and then the first operation
that soap-run --verify blames). What a fault does to a run with `communication-slow`
depends on how the machine schedules threads, so such a program runs up to ATTEMPTS
times, until something catches the fault.
"""

import os
import pathlib
import re
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "models"))
import training_state

ATTEMPTS = 5
TOLERANCE = 1e-4


def run(command, faults="none", folder=None):
    environment = dict(os.environ, SOAP_FAULT=faults)
    if folder:
        environment["LD_LIBRARY_PATH"] = str(folder)
    return subprocess.run(list(map(str, command)), env=environment, text=True,
                          capture_output=True, timeout=120)


def message(result):
    """The first error of a program that failed."""
    if result.returncode < 0:
        return f"signal {-result.returncode}"
    lines = [line for line in result.stderr.splitlines() if "error: " in line]
    return lines[0].split("error: ", 1)[1] if lines else "no error message"


def blame(run_faulty):
    """What --verify says: the first operation that differs, and where."""
    said = run_faulty(["--verify"]).stdout
    name = re.search(r"first in graph order: '(.*?)'", said)
    place = re.search(r"on (device \d+, \w+|the host)", said)
    return f"'{name[1]}' on {place[1]}" if name and place else "nothing"


def running(options):
    """Arguments of soap-run, and the output that is compared."""
    inputs = ["--input=x=random:3"]
    if not training(options):
        return inputs, "y"
    return [*inputs, "--input=label=random:4", "--iterations=3", "--warmup=0"], "loss"


def training(options):
    return [option for option in options
            if not option.startswith(("--target", "--no-fuse", "--strategy", "--state"))]


def saving(options, file):
    return [f"--save-state={file}"] if "--state" in options else []


def compare_states(judge, file):
    """What lasts that is another than one device has, or "nothing"."""
    wanted, got = training_state.load(judge), training_state.load(file)
    for name, value in wanted.items():
        if not abs(got[name] - value).max() <= TOLERANCE * abs(value).max():
            return f"the state: {name!r}"
    return "nothing"


def catcher(build, work, model, judge, options, faults):
    inputs, output = running(options)
    compiled = work / f"{faults}.so"
    topology = model.with_suffix(".topology.json")
    machine = [f"--topology={topology}"] if topology.exists() else []
    strategy = [f"--strategy={model.with_suffix('.json')}"]
    if training(options):
        named = [option for option in options if option.startswith("--strategy")]
        strategy = ["--devices=2", *(named or ["--strategy=data-parallel"])]
    result = run([build / "bin" / "soap-compile-faulty", model, *machine,
                  *(option for option in options
                    if not option.startswith(("--strategy", "--state"))),
                  *strategy, "-o", compiled], faults, build / "test" / "faults")
    if result.returncode:
        return "the compiler: " + message(result)

    def run_faulty(arguments):
        return run([build / "bin" / "soap-run", compiled, *inputs, *arguments], faults,
                   build / "test" / "faults")

    for _ in range(ATTEMPTS if "communication-slow" in faults else 1):
        result = run_faulty([f"--expected={output}={judge}",
                             *saving(options, compiled.with_suffix(".state.safetensors"))])
        if result.returncode != 0:
            break
    else:
        if "--state" not in options:
            return "nothing"
        return compare_states(judge.with_suffix(".state.safetensors"),
                              compiled.with_suffix(".state.safetensors"))
    if result.returncode == 1 and f"expected {output}: DIFFERENT" in result.stdout:
        return f"the comparison; --verify blames {blame(run_faulty)}"
    return "the runtime: " + message(result)


def main():
    build, work, model = map(pathlib.Path, sys.argv[1:4])
    work.mkdir(parents=True, exist_ok=True)
    judge = work / "y.npy"
    options = [argument for argument in sys.argv[4:] if argument.startswith("--")]
    inputs, output = running(options)
    for command in (["soap-compile", model, *training(options), "-o", work / "one.so"],
                    ["soap-run", work / "one.so", *inputs,
                     f"--output={output}={judge}",
                     *saving(options, judge.with_suffix(".state.safetensors"))]):
        result = run([build / "bin" / command[0], *command[1:]])
        assert result.returncode == 0, result.stderr
    for faults in sys.argv[4 + len(options):]:
        print(f"{faults}: caught by "
              f"{catcher(build, work, model, judge, options, faults)}", flush=True)


main()
