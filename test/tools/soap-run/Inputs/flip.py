"""Runs a model with one bit changed, at 64 places spread over its file.

flip.py MODEL.so
"""

import pathlib
import subprocess
import sys

path = pathlib.Path(sys.argv[1])
whole = path.read_bytes()
changed = path.with_name("flipped.so")
places = 64
refused = 0
for place in range(places):
    at = (len(whole) - 1) * place // (places - 1)
    flipped = bytearray(whole)
    flipped[at] ^= 1 << place % 8
    changed.write_bytes(flipped)
    run = subprocess.run(["soap-run", changed], capture_output=True, text=True)
    if run.returncode == 2 and run.stderr.startswith("error: expected"):
        refused += 1
    else:
        print("byte", at, "code", run.returncode, run.stderr)
print(refused, "of", places, "refused")
