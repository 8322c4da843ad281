"""Compiles an export for one device and for two under several strategies, runs it, and compares."""

import json

from .processes import run

# Wall time: generous, as the machine may be shared.
COMPILE_SECONDS = RUN_SECONDS = 600
# name: options of soap-compile. The one for four devices is not run.
STRATEGIES = {
    "single": ["--devices=1"],
    "data-parallel": ["--devices=2", "--strategy=data-parallel"],
    "tensor-parallel": ["--devices=2", "--strategy=tensor-parallel"],
    "search": ["--devices=2", "--strategy=search", "--proposals=2000", "--budget=300"],
}
FOUR = ["--devices=4", "--strategy=data-parallel"]


def seconds(result):
    return {"wall": round(result.wall, 3), "cpu": round(result.cpu, 3)}


def compiled(tools, folder, report, options, output):
    dims = [f"--dim={name}={size}" for name, size in report["dims"].items()]
    command = [tools / "soap-compile", folder / "model.onnx", "--calibration=none", *dims, *options,
               "-o", output]
    return run(command, COMPILE_SECONDS, folder / "compile.log")


def compare(tools, folder, report, library, verify):
    """Runs a library and returns what it said, with the largest error of an output."""
    command = [tools / "soap-run", library, "--json"]
    command += [f"--input={name}={folder / file}" for name, file in report["inputs"].items()]
    command += [f"--expected={name}={folder / file}" for name, file in report["outputs"].items()]
    if verify:
        command.append("--verify")
    result = run(command, RUN_SECONDS, folder / "run.log")
    try:
        said = json.loads(result.stdout)
    except ValueError:
        return {"equal": False, "reason": result.reason}
    errors = [output["norm_rel"] for output in said.get("expected", [])]
    # An error that is no number is written as null.
    error = None if None in errors else max(errors, default=None)
    found = {"equal": result.ok, "error": error}
    if not result.ok:
        found["reason"] = result.reason
    return found


def check(tools, folder, record):
    """Fills the record with what was found of each strategy."""
    report = json.loads((folder / "ort.json").read_text())
    library = folder / "model.so"
    record["strategies"] = {}
    for name, options in STRATEGIES.items():
        result = compiled(tools, folder, report, options, library)
        found = {"compile": seconds(result), "accepted": result.ok}
        if result.ok:
            found |= compare(tools, folder, report, library, verify=name != "single")
        else:
            found["reason"] = result.reason
        record["strategies"][name] = found
        if not result.ok and name == "single":
            return
    result = compiled(tools, folder, report, FOUR, library)
    record["strategies"]["four"] = {"compile": seconds(result), "accepted": result.ok}
    if not result.ok:
        record["strategies"]["four"]["reason"] = result.reason
    for left in folder.glob("model.so*"):
        left.unlink()
