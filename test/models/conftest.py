"""Fixtures of the model tests: ONNX's nine light models, compiled and run by
the tools of a build folder, compared with onnxruntime."""

import pytest
import zoo as light_zoo


def pytest_addoption(parser):
    parser.addoption("--build-dir",
                     default=str(light_zoo.ROOT / "build" / "release"),
                     help="build folder whose bin/ holds the tools")


@pytest.fixture(scope="session")
def tools(request):
    return light_zoo.Tools(request.config.getoption("--build-dir"))


@pytest.fixture(scope="session")
def zoo(tools, tmp_path_factory):
    return light_zoo.Zoo(tools, tmp_path_factory.mktemp("models"))
