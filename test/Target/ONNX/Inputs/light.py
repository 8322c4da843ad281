"""light.py STEM: imports the light models at batch 1 and 4, runs the passes over
them and checks the batch of their outputs."""

import glob
import os
import re
import subprocess
import sys

import onnx

folder = os.path.join(os.path.dirname(onnx.__file__), "backend/test/data/light")
passes = ["--nn-fold-constants", "--nn-fold-batch-norm", "--nn-hoist-init"]
good = total = 0
for path in sorted(glob.glob(os.path.join(folder, "*.onnx"))):
    for batch in (1, 4):
        total += 1
        out = sys.argv[1] + ".mlir"
        subprocess.run(
            ["soap-translate", "--import-onnx", path, f"--batch={batch}", "-o", out],
            check=True,
        )
        result = subprocess.run(
            ["soap-opt", out, *passes], check=True, capture_output=True, text=True
        ).stdout
        model = onnx.load(path)
        for output in model.graph.output:
            dims = [d.dim_value for d in output.type.tensor_type.shape.dim]
            shape = "x".join(map(str, [batch, *dims[1:]]))
            if not re.search(
                rf'nn\.output .*"{re.escape(output.name)}".* : tensor<{shape}xf32>',
                result,
            ):
                sys.exit(f"{path}: no output {output.name} of shape {shape}")
        good += 1
print(f"{good} of {total} imported")
