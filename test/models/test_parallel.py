"""Right in parallel, and what is simulated is what runs: strategies of the
light models on two and four devices against one device, and what they plan to
move against what the runtime counts.

That task graph, soap IR and programs agree, and that the launch order simulates
to the times of the task graph, soap-compile itself checks whenever it compiles.
"""

import pytest
from compiled_models import keeps_followers_apart
from light_models import (ALIKE, NAMES, TOLERANCE, VERIFIED, devices_of, movements,
                          random_seeds)

CASES = [(name, strategy, devices) for name in NAMES
         for strategy in ("data-parallel", "model-parallel", "search")
         for devices in (2, 4)
         # Every device has all weights.
         if not (devices == 4 and strategy == "data-parallel" and name in ALIKE)]
CASES += [(name, f"random:{seed}", devices_of(seed)) for name in NAMES
          for seed in random_seeds(name)]
STRATEGIES = pytest.mark.parametrize("name, strategy, devices", CASES)


def run(zoo, name, strategy, devices):
    # Only data parallelism needs samples.
    batch = 4 if strategy == "data-parallel" or name != "vgg19" else 1
    return zoo.parallel_run(name, batch, strategy, devices)


@STRATEGIES
def test_equals_one_device(zoo, name, strategy, devices):
    report = run(zoo, name, strategy, devices).report
    assert report["devices"] == devices
    compared = report["expected"]
    assert len(compared) >= 11
    wrong = {c["name"]: c["norm_rel"] for c in compared
             if not c["norm_rel"] <= TOLERANCE}
    assert not wrong and report["equal"]


@STRATEGIES
def test_moves_what_is_planned(zoo, name, strategy, devices):
    result = run(zoo, name, strategy, devices)
    planned, counted = movements(result.planned), movements(
        result.report["movements"])
    # Inputs come from the host and outputs go there.
    assert {"feed", "drain"} <= {movement[0] for movement in planned}
    assert counted == planned


@pytest.mark.parametrize("name, seed", [(name, seed) for name in VERIFIED
                                        for seed in random_seeds(name)])
def test_every_tensor_equals_one_device(zoo, name, seed):
    result = run(zoo, name, f"random:{seed}", devices_of(seed))
    verified = result.report["verify"]
    assert verified["equal"] and verified["different"] == 0
    assert verified["worst"]["norm_rel"] <= TOLERANCE
    # Every op makes something, on some device or for the host, but for those
    # whose kernels go on with what follows them.
    followed = verified["not_compared"]
    if keeps_followers_apart(seed):
        assert followed == []
    assert {tensor["reason"] for tensor in followed} <= {"no device has it"}
    ops = len(result.strategy["ops"])
    assert verified["tensors"] + len(followed) >= ops
    assert 2 * len(followed) <= ops
    assert verified["tiles"] > verified["tensors"]


@pytest.mark.parametrize("name", NAMES)
def test_random_strategies_are_structured(zoo, name):
    """They split samples, space and parameters, make partial results, repeat
    work, and leave devices out."""
    loops, copies, devices = set(), set(), set()
    for seed in random_seeds(name):
        result = run(zoo, name, f"random:{seed}", devices_of(seed))
        for op in result.strategy["ops"]:
            loops.update(loop for loop, n in op["degrees"].items() if n > 1)
            copies.add(op.get("replicate", 1))
            devices.add(len(set(op["devices"])) < devices_of(seed))
    assert "c" in loops and loops & {"h", "w"}
    assert max(copies) > 1 and devices == {True, False}


@pytest.mark.parametrize("name, seed", [("inception_v1", 1), ("shufflenet", 2)])
def test_clean_after_partition(tools, zoo, name, seed):
    """CSE and canonicalization change nothing after soap-partition."""
    model = zoo.model(name, 4)
    partitioned = model.folder / "partitioned.mlir"
    tools.run("soap-compile", *model.compile_arguments(), "--devices=4",
              "--strategy=random", f"--seed={seed}", "--emit=soap", "-o",
              partitioned)
    before = tools.run("soap-opt", partitioned).stdout
    assert "soap.transfer" in before
    assert tools.run("soap-opt", partitioned, "--cse",
                     "--canonicalize").stdout == before
