"""Fixtures of the model tests: ONNX's nine light models, compiled and run by
the tools of a build folder, compared with onnxruntime."""

import pytest
import compiled_models


def pytest_addoption(parser):
    parser.addoption("--build-dir",
                     default=str(compiled_models.ROOT / "build" / "release"),
                     help="build folder whose bin/ holds the tools")


@pytest.fixture(scope="session")
def tools(request):
    return compiled_models.Tools(request.config.getoption("--build-dir"))


@pytest.fixture(scope="session")
def zoo(tools, tmp_path_factory):
    return compiled_models.Zoo(tools, tmp_path_factory.mktemp("models"))
