"""Damages the table of a compiled model, not that of its reference: replaces
one occurrence of the bytes of a float in it. The hash of the file is made anew
by the program SEAL (soap-make-test-models).

plant.py MODEL.so OLD NEW OCCURRENCE SEAL
"""

import struct
import subprocess
import sys

path, old, new, occurrence, seal = sys.argv[1:]
symbols = subprocess.run(["nm", "-S", "-D", path], check=True,
                         capture_output=True, text=True).stdout.split("\n")
[symbol] = [line.split() for line in symbols if line.endswith(" soap_model_data")]
begin, size = int(symbol[0], 16), int(symbol[1], 16)
with open(path, "r+b") as file:
    # Constant data lies in the file where it lies in memory.
    file.seek(begin)
    table = file.read(size)
    assert table[4:8] == b"SOAP", "no table"
    old, new = (struct.pack("<f", float(value)) for value in (old, new))
    at = -1
    for _ in range(int(occurrence)):
        at = table.index(old, at + 1)
    file.seek(begin + at)
    file.write(new)
subprocess.run([seal, "--seal", path], check=True)
