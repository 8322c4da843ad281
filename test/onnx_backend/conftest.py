"""Options of the ONNX backend tests."""

import pathlib

import node_cases
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def pytest_addoption(parser):
    parser.addoption("--build-dir", default=str(ROOT / "build" / "release"),
                     help="build folder whose bin/ holds the tools")
    parser.addoption("--shard", default="1/1", metavar="I/N",
                     help="run part I of N of the cases")


def pytest_generate_tests(metafunc):
    if "case" not in metafunc.fixturenames:
        return
    shard, count = map(int, metafunc.config.getoption("--shard").split("/"))
    cases = node_cases.supported_cases(
        node_cases.Tools(metafunc.config.getoption("--build-dir")))
    metafunc.parametrize("case", cases[shard - 1::count], ids=lambda c: c.name)


@pytest.fixture(scope="session")
def tools(request):
    return node_cases.Tools(request.config.getoption("--build-dir"))
