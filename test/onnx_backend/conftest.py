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
    parser.addoption("--several", default=5, type=int, metavar="N",
                     help="run every Nth case on 2 or 3 devices, too (default 5)")


def pytest_generate_tests(metafunc):
    if "case" not in metafunc.fixturenames:
        return
    shard, count = map(int, metafunc.config.getoption("--shard").split("/"))
    every = metafunc.config.getoption("--several")
    cases = node_cases.all_cases()
    runs = [(case, 1) for case in cases[shard - 1::count]]
    runs += [(case, 2 + number // every % 2) for number, case in enumerate(cases)
             if number % every == 0][shard - 1::count]
    metafunc.parametrize("case, devices", runs,
                         ids=lambda value: getattr(value, "name", str(value)))


@pytest.fixture(scope="session")
def tools(request):
    return node_cases.Tools(request.config.getoption("--build-dir"))


def pytest_terminal_summary(terminalreporter):
    """Says how many of ONNX's node tests pass on one device."""
    passed = {report.nodeid for report in terminalreporter.stats.get("passed", [])
              if "-1]" in report.nodeid}
    from test_nodes import UNSUPPORTED
    nodes = {folder.name for folder in (node_cases.DATA / "node").iterdir()}
    names = {test.split("[")[1].rsplit("-", 1)[0] for test in passed} & nodes
    terminalreporter.write_line(
        f"{len(names - UNSUPPORTED)} of ONNX's {len(nodes)} node tests pass")
