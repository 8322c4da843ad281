"""Options of the tests of the model zoo (benchmarks/zoo)."""

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))


def pytest_addoption(parser):
    parser.addoption("--build-dir", default=str(ROOT / "build" / "release"),
                     help="build folder whose bin/ holds soap-translate")
    parser.addoption("--large", action="store_true",
                     help="run networks in full that are otherwise run with fewer "
                     "layers or steps; needs up to 64 GB of memory")
    parser.addoption("--write-expected", action="store_true",
                     help="write expected_failures.txt anew")


@pytest.fixture(scope="session")
def soap_translate(request):
    tool = pathlib.Path(request.config.getoption("--build-dir")) / "bin/soap-translate"
    assert tool.exists(), f"{tool} is not built"
    return tool
