"""Runs unit tests with planted faults, one after the other, and says which test
fails first.

usage: unit_tests.py PROGRAM FILTER FAULT...

FILTER is that of GoogleTest. `none` plants none: all tests have to pass. What a
fault does may depend on how the machine schedules threads (nothing, or a wait that
does not end), so a program with a fault runs up to ATTEMPTS times, until a test
catches it.
"""

import os
import re
import subprocess
import sys


ATTEMPTS = 5


def catcher(program, tests, faults):
    try:
        result = subprocess.run(
            [program, f"--gtest_filter={tests}", "--gtest_fail_fast", "--gtest_brief=1"],
            env=dict(os.environ, SOAP_FAULT=faults), text=True, capture_output=True,
            timeout=150)
    except subprocess.TimeoutExpired:
        return "nothing, without an end"
    if result.returncode == 0:
        return "nothing"
    # A fault must not end the program otherwise than by a test that fails.
    failed = re.search(r"^\[  FAILED  \] (\S+)", result.stdout, re.MULTILINE)
    return failed[1] if failed else f"exit status {result.returncode}"


def main():
    program, tests = sys.argv[1:3]
    for faults in sys.argv[3:]:
        for _ in range(ATTEMPTS if faults != "none" else 1):
            caught = catcher(program, tests, faults)
            if not caught.startswith("nothing"):
                break
        print(f"{faults}: caught by {caught}", flush=True)


main()
