"""The memory plan: what the compiler plans for library kernels is what the
runtime takes, and parameters lie in memory once."""

import pytest
from light_models import NAMES

NAMED = pytest.mark.parametrize("name", NAMES)
PLANNED = ("scratchpad_bytes", "reordered_parameter_bytes", "peak_bytes")


def check_plan(devices):
    for device in devices:
        taken = {key: device[key] for key in PLANNED}
        assert taken == device["planned"], f"device {device['id']}"
        arenas = sum(device[key] for key in (
            "activation_bytes", "parameter_bytes", "scratch_bytes"))
        assert arenas + device["scratchpad_bytes"] <= device["peak_bytes"]


@NAMED
@pytest.mark.parametrize("batch", [1, 4])
def test_one_device(zoo, name, batch):
    info = zoo.one_device_info(name, batch)
    check_plan(info["devices"])
    # All have convolutions whose weights oneDNN reorders.
    assert info["devices"][0]["planned"]["reordered_parameter_bytes"] > 0


@NAMED
def test_two_devices(tools, zoo, name):
    model = zoo.model(name, 1)
    compiled = model.folder / "memory.so"
    compiler = tools.run("soap-compile", *model.compile_arguments(), "--devices=2",
                         "--strategy=spatial", "-o", compiled)
    info = tools.json("soap-run", compiled, "--info")
    assert len(info["devices"]) == 2
    check_plan(info["devices"])
    peak = max(device["peak_bytes"] for device in info["devices"])
    assert f"memory: peak {peak / 2**20:.1f} MiB, " in compiler.stderr


def test_parameters_lie_in_memory_once(zoo):
    """Weights that are folded into others at load do not stay."""
    info = zoo.one_device_info("resnet50", 1)
    weights = 25_557_032 * 4  # Batch norms included.
    assert 0.97 < info["devices"][0]["parameter_bytes"] / weights < 1.01
