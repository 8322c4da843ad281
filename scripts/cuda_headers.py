#!/usr/bin/env python3
"""Fetches the headers that the CUDA backend is built with from NVIDIA's Python
packages, pinned in cuda-headers.txt, into FOLDER/include.

Usage: cuda_headers.py FOLDER [--wheels=FOLDER]

With --wheels nothing is fetched: the headers are those of the wheels there.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

PINS = pathlib.Path(__file__).with_name("cuda-headers.txt")
# What lib/Runtime/CMakeLists.txt looks for, and what these include.
NEEDED = ("cuda.h", "cublasLt.h", "cudnn.h", "nccl.h", "cuda_runtime_api.h",
          "crt/host_defines.h")


def fetch(folder):
    """The pinned wheels, one after the other: each is deleted once it was read."""
    for line in PINS.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        pin = pathlib.Path(folder, "pin.txt")
        pin.write_text(line + "\n")
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                        "--only-binary=:all:", "--disable-pip-version-check",
                        "--require-hashes", "--dest", folder, "--requirement", pin],
                       check=True)
        wheel, = pathlib.Path(folder).glob("*.whl")
        yield wheel
        wheel.unlink()


def extract(wheel, target):
    """Copies nvidia/*/include/** of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            header = re.fullmatch(r"nvidia/[^/]+/include/(.+)", name)
            if not header or name.endswith("/"):
                continue
            if ".." in pathlib.PurePosixPath(header[1]).parts:
                sys.exit(f"error: expected headers in {wheel}, got: {name}")
            place = target / header[1]
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(archive.read(name))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--wheels", type=pathlib.Path, metavar="FOLDER")
    arguments = parser.parse_args()
    folder = arguments.folder
    # The folder appears whole or not at all.
    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    (part / "include").mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        wheels = (sorted(arguments.wheels.glob("*.whl")) if arguments.wheels
                  else fetch(scratch))
        for wheel in wheels:
            extract(wheel, part / "include")
    missing = [name for name in NEEDED if not (part / "include" / name).exists()]
    if missing:
        shutil.rmtree(part)
        sys.exit(f"error: expected {', '.join(NEEDED)} in the wheels, got: none of "
                 f"{', '.join(missing)}")
    shutil.copy(PINS, part / "pin.stamp")
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)


if __name__ == "__main__":
    main()
