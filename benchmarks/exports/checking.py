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


def run_json(tools, folder, report, library, options):
    """Runs a library on the inputs. Returns how it ended, and what it said."""
    inputs = [f"--input={name}={folder / file}" for name, file in report["inputs"].items()]
    result = run([tools / "soap-run", library, "--json", *inputs, *options], RUN_SECONDS, folder / "run.log")
    try:
        return result, json.loads(result.stdout)
    except ValueError:
        return result, {}


def difference(said):
    """What a run says of tensors that differ; empty if it says nothing."""
    for output in said.get("expected", []):
        if not output["equal"]:
            return f"the output '{output['name']}' differs from onnxruntime's by {output['norm_rel']} of its norm"
    if not said.get("verify", {}).get("equal", True):
        return f"a tensor differs from one device: {json.dumps(said['verify'])}"
    return ""


def compare(tools, folder, report, library):
    """Compares the outputs with onnxruntime's, and with more than one device all tensors with one device."""
    outputs = [f"--expected={name}={folder / file}" for name, file in report["outputs"].items()]
    result, said = run_json(tools, folder, report, library, outputs)
    errors = [output["norm_rel"] for output in said.get("expected", [])]
    # An error that is no number is written as null.
    found = {"equal": result.ok, "error": None if None in errors else max(errors, default=None)}
    # A strategy may leave all but one device without work.
    if result.ok and said["devices"] > 1:
        result, said = run_json(tools, folder, report, library, ["--verify"])
        found["equal"] = result.ok
    if not result.ok:
        found["reason"] = difference(said) or result.reason
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
            found |= compare(tools, folder, report, library)
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
