"""Compiles the light models for GPUs and assembles their device code.

Usage: assemble.py FOLDER PTXAS DEVICE_CODE
"""

import pathlib
import subprocess
import sys

import onnx

folder, ptxas, device_code = pathlib.Path(sys.argv[1]), *sys.argv[2:]
folder.mkdir(exist_ok=True)
light = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
models = sorted(light.glob("*.onnx"))
for model in models:
    compiled = folder / (model.stem + ".so")
    subprocess.run(
        ["soap-compile", model, "--init-weights=random:1", "--target=cuda",
         "--topology=dgx-a100", "--strategy=single", "-o", compiled],
        check=True)
    subprocess.run(
        [sys.executable, device_code, f"--ptxas={ptxas}", "--arch=sm_80,sm_90,sm_100",
         compiled], check=True)
print(len(models), "models")
