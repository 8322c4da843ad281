"""The memory plan: what the compiler plans for library kernels is what the
runtime takes, and parameters lie in memory once."""

import json

import launcher
import pytest
from light_models import NAMES

NAMED = pytest.mark.parametrize("name", NAMES)
PLANNED = ("scratchpad_bytes", "reordered_parameter_bytes",
           "communication_bytes", "peak_bytes")


def check_plan(devices, processes=1):
    """What communication takes beside buffers is planned for devices that are
    each in a process of their own, away from the inputs and outputs on rank 0."""
    for device in devices:
        taken = {key: device[key] for key in PLANNED}
        planned = device["planned"]
        if processes != len(devices) or device["rank"] == 0:
            spared = planned["communication_bytes"] - taken["communication_bytes"]
            assert spared >= 0
            taken["communication_bytes"] += spared
            taken["peak_bytes"] += spared
        assert taken == planned, f"device {device['id']}"
        arenas = device["activation_bytes"] + device["parameter_bytes"]
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
    # Halos are received in place.
    assert {d["communication_bytes"] for d in info["devices"]} == {0}
    assert {p["staging_bytes"] for p in info["processes"]} == {0}
    peak = max(device["planned"]["peak_bytes"] for device in info["devices"])
    assert f"memory: peak {peak / 2**20:.1f} MiB, " in compiler.stderr


@pytest.mark.skipif(not launcher.FOUND, reason="mpirun is missing")
@pytest.mark.parametrize("ranks", [2, 3])
def test_processes(tools, zoo, tmp_path, ranks):
    """Between processes, inputs and outputs are packed."""
    model = zoo.model("squeezenet", 4)
    compiled = tmp_path / "data-parallel.so"
    tools.run("soap-compile", *model.compile_arguments(), "--devices=3",
              "--strategy=data-parallel", "-o", compiled)
    info = json.loads(tools.run("soap-run", compiled, "--info", "--json",
                                ranks=ranks).stdout)
    check_plan(info["devices"], ranks)
    # Each packs its part of the input; rank 0 those of the others, too.
    assert all((d["communication_bytes"] > 0) == (d["rank"] > 0)
               for d in info["devices"])
    staged = [p["staging_bytes"] for p in info["processes"]]
    assert staged[0] > 0 and not any(staged[1:])


def test_parameters_lie_in_memory_once(zoo):
    """Weights that are folded into others at load do not stay."""
    info = zoo.one_device_info("resnet50", 1)
    weights = 25_557_032 * 4  # Batch norms included.
    assert 0.97 < info["devices"][0]["parameter_bytes"] / weights < 1.01
