# Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""stop_search.py INT|TERM STATE.json COMMAND...: runs a command and, once its
search has written STATE.json, sends it a signal. Prints its errors and how it
ended."""

import pathlib
import signal
import subprocess
import sys
import time

name, state, *command = sys.argv[1:]
process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
deadline = time.monotonic() + 120
while not pathlib.Path(state).exists():
    if process.poll() is not None or time.monotonic() > deadline:
        process.kill()
        sys.exit("the search has written no state: " + process.communicate()[1])
    time.sleep(0.001)
process.send_signal(getattr(signal, "SIG" + name))
print(process.communicate(timeout=120)[1], end="")
print("exit", process.returncode)
