"""Right in several processes: random strategies of the light models under
mpirun against one device, what moves against the plan, and faults."""

import signal

import compiled_models
import launcher
import pytest
from light_models import ALIKE, NAMES, TOLERANCE, devices_of, movements, random_seeds

pytestmark = pytest.mark.skipif(not launcher.FOUND, reason="mpirun is missing")

CASES = sorted({(name, seed, ranks) for name in NAMES if name not in ALIKE
                for seed in random_seeds(name)
                for ranks in (2, min(4, devices_of(seed)))})


@pytest.mark.parametrize("name, seed, ranks", CASES)
def test_equals_one_device(zoo, name, seed, ranks):
    devices = devices_of(seed)
    run = zoo.parallel_run(name, 4, f"random:{seed}", devices, ranks)
    compared = run.report["expected"]
    assert len(compared) >= 11
    wrong = {c["name"]: c["norm_rel"] for c in compared
             if not c["norm_rel"] <= TOLERANCE}
    assert not wrong and run.report["equal"]
    assert movements(run.report["movements"]) == movements(run.planned)

    # Every process has run the rows of its own devices, and has their memory.
    report = zoo.parallel_run(name, 4, f"random:{seed}", devices).report
    alone, = report["processes"]
    processes = run.report["processes"]
    assert [p["rank"] for p in processes] == list(range(ranks))
    assert len({p["pid"] for p in processes}) == ranks
    owned = [device for p in processes for device in p["devices"]]
    assert owned == list(range(devices))
    sizes = [len(p["devices"]) for p in processes]
    assert max(sizes) - min(sizes) <= 1
    assert sum(p["rows_run"] for p in processes) == \
        alone["rows_run"] // compiled_models.steps(report)
    assert sum(p["arena_bytes"] for p in processes) == alone["arena_bytes"]


@pytest.fixture(scope="module")
def long_model(tools, tmp_path_factory):
    return launcher.compile_for_faults(tools, 3, tmp_path_factory.mktemp("faults"))


# Ranks, and moments: while they start, while they load, in a step.
@pytest.mark.parametrize("fault, rank, delay", [
    (signal.SIGKILL, 0, 2.5), (signal.SIGKILL, 2, 0.0), (signal.SIGKILL, 1, 0.4),
    (signal.SIGSTOP, 0, 0.5), (signal.SIGSTOP, 1, 3.0)])
def test_names_the_rank_that_is_lost(tools, long_model, fault, rank, delay):
    seconds, problem = launcher.inject(tools, long_model, fault, rank, 3, delay,
                                       timeout=3)
    print(f"{fault.name} of rank {rank}: ended in {seconds:.2f} s")
    assert not problem, problem
