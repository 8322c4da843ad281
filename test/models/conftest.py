"""Fixtures of the model tests: ONNX's nine light models, compiled and run by
the tools of a build folder, compared with onnxruntime."""

import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def pytest_addoption(parser):
    parser.addoption("--build-dir", default=str(ROOT / "build" / "release"),
                     help="build folder whose bin/ holds the tools")


class Tools:
    """Runs the tools; raises with their output when one fails."""

    def __init__(self, build):
        self.bin = pathlib.Path(build).resolve() / "bin"

    def run(self, tool, *args, check=True):
        command = [str(self.bin / tool), *map(str, args)]
        result = subprocess.run(command, capture_output=True, text=True,
                                timeout=600)
        if check and result.returncode != 0:
            raise AssertionError(
                f"{' '.join(command)}\nexit {result.returncode}\n"
                f"{result.stdout[-2000:]}\n{result.stderr[-4000:]}")
        return result

    def json(self, tool, *args):
        return json.loads(self.run(tool, *args, "--json").stdout)

    def script(self, name, *args):
        command = [sys.executable, str(ROOT / "scripts" / name),
                   *map(str, args)]
        result = subprocess.run(command, capture_output=True, text=True,
                                timeout=600)
        assert result.returncode == 0, (
            f"{' '.join(command)}\n{result.stdout[-2000:]}\n"
            f"{result.stderr[-4000:]}")
        return result


@pytest.fixture(scope="session")
def tools(request):
    return Tools(request.config.getoption("--build-dir"))
