"""Writes a small ONNX model: models.py CASE OUT.onnx. `light_*` copies a light
model of the onnx package. Each case is a function of that name in cases/."""

import os
import shutil
import sys

import onnx

from cases import (bodies, build, elements, functions, graphs, indices, layout, mistakes, products,
                   rare, recurrent, sequences, windows)

FIRST = build.RNG.bit_generator.state


def find(case):
    for theme in (bodies, elements, functions, graphs, indices, layout, mistakes, products,
                  rare, recurrent, sequences, windows):
        if hasattr(theme, case):
            return getattr(theme, case)
    sys.exit(f"error: expected a case, got: {case}")


def write(case, out):
    build.RNG.bit_generator.state = FIRST  # Whatever was written before.
    if case.startswith("light_"):
        folder = os.path.join(os.path.dirname(onnx.__file__), "backend/test/data/light")
        shutil.copyfile(os.path.join(folder, case + ".onnx"), out)
        return
    with open(out, "wb") as file:
        file.write(find(case)().SerializeToString())


if __name__ == "__main__":
    write(*sys.argv[1:])
