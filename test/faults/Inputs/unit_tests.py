"""Runs unit tests with planted faults, one after the other, and says which test
fails first.

usage: unit_tests.py PROGRAM FILTER FAULT...

FILTER is that of GoogleTest. `none` plants none: all tests have to pass.
"""

import os
import re
import subprocess
import sys


def catcher(program, tests, faults):
    result = subprocess.run(
        [program, f"--gtest_filter={tests}", "--gtest_fail_fast", "--gtest_brief=1"],
        env=dict(os.environ, SOAP_FAULT=faults), text=True, capture_output=True,
        timeout=300)
    if result.returncode == 0:
        return "nothing"
    # A fault must not end the program otherwise than by a test that fails.
    failed = re.search(r"^\[  FAILED  \] (\S+)", result.stdout, re.MULTILINE)
    return failed[1] if failed else f"exit status {result.returncode}"


def main():
    program, tests = sys.argv[1:3]
    for faults in sys.argv[3:]:
        print(f"{faults}: caught by {catcher(program, tests, faults)}", flush=True)


main()
