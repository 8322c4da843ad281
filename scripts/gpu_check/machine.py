"""The machine that the archive was unpacked on: its libraries and its GPUs."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import threading

from runner import Commands

# What the backend loads, by the names that NVIDIA's Python packages have for them.
LIBRARIES = ("libcublasLt.so.*", "libcudnn.so.*", "libnccl.so.*")


class NoGpu(Exception):
    """There is no GPU that SOAP can use; says why."""


def library_folders():
    """Folders of NVIDIA's Python packages, such as PyTorch brings along."""
    folders = []
    for site in dict.fromkeys((sysconfig.get_path("purelib"), *sys.path)):
        for pattern in LIBRARIES:
            for file in sorted(pathlib.Path(site or ".").glob(f"nvidia/*/lib/{pattern}")):
                if str(file.parent) not in folders:
                    folders.append(str(file.parent))
    return folders


class Machine:
    """Where programs of the archive are, and what they need in their environment."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        own = os.environ.get("LD_LIBRARY_PATH", "")
        folders = [str(self.root / "lib"), *([own] if own else []), *library_folders()]
        self.own, self.all_commands = threading.local(), []
        self.environment = {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(folders)}

    def program(self, name):
        return str(self.root / name)

    def soap_run(self, words, timeout):
        """What soap-run printed, in a process of this thread. Raises Failed."""
        commands = getattr(self.own, "commands", None)
        if commands is None:
            commands = Commands(self.program("bin/soap-run"), self.environment)
            self.own.commands = commands
            self.all_commands.append(commands)
        return commands.run(words, timeout)

    def end(self):
        """Ends the processes of all threads."""
        for commands in self.all_commands:
            commands.end()

    def find(self, tool):
        """A tool of CUDA's toolkit, or nothing."""
        places = (os.environ.get("PATH", ""), "/usr/local/cuda/bin")
        return shutil.which(tool, path=os.pathsep.join(places))

    def describe(self):
        """The entry of `soap-run --list-devices` for GPUs. Raises NoGpu."""
        try:
            output = subprocess.run(
                [self.program("bin/soap-run"), "--list-devices"], env=self.environment,
                capture_output=True, text=True, timeout=120)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NoGpu(f"soap-run does not start: {error}") from None
        if output.returncode:
            raise NoGpu(f"soap-run does not start: {output.stderr.strip()}")
        for entry in json.loads(output.stdout)["devices"]:
            if entry["kind"] == "cuda":
                if "name" not in entry:
                    raise NoGpu(entry["library"])
                return entry
        raise NoGpu("soap-run was built without the backend of GPUs")
