"""Compiles models for the CPU and for GPUs, and keeps what the CPU computed."""

import json
import os
import pathlib
import subprocess

TIMEOUT = 900


class Refused(Exception):
    """The compiler or the CPU does not take a model; says why."""


def run(command):
    environment = {**os.environ, "SOAP_CALIBRATION_DIR": ""}
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                            env=environment, timeout=TIMEOUT)
    if result.returncode:
        lines = result.stderr.strip().splitlines() or ["no message"]
        raise Refused(f"{pathlib.Path(command[1]).name}: {lines[-1]}")
    return result.stdout


def topology(devices):
    """GPUs of the kind H200, each connected to each, as soap-compile reads it."""
    kind = {"peak_flops": 57e12, "tf32_flops": 420e12, "bf16_flops": 841e12,
            "f16_flops": 841e12, "memory_bandwidth_bytes_per_s": 3840e9, "half_rows": 448,
            "half_columns": 16, "half_depth": 24, "launch_s": 4e-6, "alignment": 256}
    rates = {"bandwidth_bytes_per_s": 450e9, "latency_s": 2e-6}
    links = [{"from": a, "to": b, **rates}
             for a in range(devices + 1) for b in range(devices + 1) if a != b]
    machines = [{"id": i, "kind": "H200", "node": 0, "memory_bytes": 141 * 10**9}
                for i in range(devices)]
    return {"format": "soap-topology", "name": f"{devices}-h200", "kinds": {"H200": kind},
            "devices": machines + [{"id": devices, "kind": "host"}], "links": links}


class Compiler:
    """Models of an archive, `folder`; what only the CPU needs is in `scratch`."""

    def __init__(self, build, folder, scratch):
        self.build, self.folder, self.scratch = build, folder, scratch
        for place in (folder / "models", folder / "data", scratch / "cpu"):
            place.mkdir(parents=True, exist_ok=True)

    def tool(self, name):
        return self.build / "bin" / name

    def topology(self, devices):
        file = self.scratch / f"topology-{devices}.json"
        if not file.exists():
            part = file.with_suffix(f".{os.getpid()}")
            part.write_text(json.dumps(topology(devices)))
            part.replace(file)
        return file

    def for_gpus(self, name, model, options, devices=1):
        """Compiles `model` to a file of the archive; returns its place in it."""
        place = f"models/{name}.so"
        run([self.tool("soap-compile"), model, "--target=cuda",
             f"--topology={self.topology(devices)}", *options, "-o", self.folder / place])
        return place

    def by_cpu(self, name, model, options, inputs):
        """What one device of the CPU computes: output name to place in the archive."""
        compiled = self.scratch / "cpu" / f"{name}.so"
        run([self.tool("soap-compile"), model, "--devices=1", "--no-reference", *options,
             "-o", compiled])
        info = json.loads(run([self.tool("soap-run"), compiled, "--info", "--json"]))
        expected = {output["name"]: f"data/{name}.{number}.npy"
                    for number, output in enumerate(info["outputs"])}
        files = {key: self.folder / value if value.endswith(".npy") else value
                 for key, value in inputs.items()}
        run([self.tool("soap-run"), compiled,
             *(f"--input={key}={value}" for key, value in files.items()),
             *(f"--output={key}={self.folder / value}" for key, value in expected.items())])
        return expected
