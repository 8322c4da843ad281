"""What --check runs: (name, function) for every check of an archive."""

import json
import os
import re
import socket

from runner import Failed, Skipped, run

# Seconds that one check may take; many take less than two.
TIMEOUT = 180
SHARE = 8  # Devices per GPU: every strategy fits on one.

# Tests of the backend itself that need no stand-in for a library.
UNIT_TESTS = {
    "backend": ("SOAPRuntimeTests", "*Backend*/cuda", {}),
    "collectives": ("SOAPRuntimeTests",
                    "*Collective*/2:*Collective*/5:*Algorithms*/3:Reduction.CombinersAndTypes",
                    {"SOAP_TEST_TARGET": "cuda", "SOAP_TEST_GPU_TRANSPORT": "2"}),
    "libraries": ("SOAPCudaOverStandIns", "CudaMatMul.*:CudaConvolution.*", {}),
}


def run_words(machine, item, *options):
    """The words for soap-run to run the model of an item on its inputs."""
    return [machine.program(item["model"]), "--json",
            *(f"--input={name}={source(machine, value)}"
              for name, value in item["inputs"].items()), *options]


def soap_run(machine, item, *options):
    """A command of its own that does so."""
    return [machine.program("bin/soap-run"), *run_words(machine, item, *options)]


def source(machine, value):
    """An input is a file of the archive or a recipe."""
    return machine.program(value) if value.endswith(".npy") else value


def expected(machine, item):
    return [f"--rtol={item['rtol']}", "--nan-equal",
            *(f"--expected={name}={machine.program(file)}"
              for name, file in item["expected"].items())]


def largest_error(output):
    """Of a report of soap-run, which may follow warnings."""
    report = json.loads(output[output.index("{"):])
    errors = [entry["norm_rel"] for entry in report.get("expected", [])]
    return {"norm_rel": max(errors)} if errors else {}


def equals_cpu(machine, item, *options):
    """The outputs of a model are those that the CPU computed."""
    words = run_words(machine, item, f"--devices-per-gpu={SHARE}", *options,
                      *expected(machine, item))
    return largest_error(machine.soap_run(words, TIMEOUT))


def equals_one_device(machine, item):
    """The same, and every tensor is that of the same model on one device."""
    return equals_cpu(machine, item, "--verify")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def over_nccl(machine, item):
    """The same in a process per device, all on one GPU. NCCL tells hosts apart by
    NCCL_HOSTID and would refuse two ranks on one GPU of one host."""
    command = soap_run(machine, item, "--gpu-transport=nccl", *expected(machine, item))
    info = machine.soap_run(run_words(machine, item, f"--devices-per-gpu={SHARE}",
                                      "--info"), TIMEOUT)
    # A strategy may leave devices without work, which are not in the model.
    devices = len(json.loads(info[info.index("{"):])["devices"])
    port = str(free_port())
    environments = [{**machine.environment, "RANK": str(rank),
                     "WORLD_SIZE": str(devices), "MASTER_ADDR": "127.0.0.1",
                     "MASTER_PORT": port, "NCCL_HOSTID": f"host{rank}"}
                    for rank in range(devices)]
    return largest_error(run([command] * devices, environments, TIMEOUT))


def sanitized(machine, item):
    """compute-sanitizer finds nothing."""
    sanitizer = machine.find("compute-sanitizer")
    if not sanitizer:
        raise Skipped("compute-sanitizer is not there")
    command = [sanitizer, "--error-exitcode=9", "--target-processes=all",
               *soap_run(machine, item, f"--devices-per-gpu={SHARE}")]
    output = run([command], [machine.environment], TIMEOUT)
    if "Device not supported" in output:
        raise Skipped("compute-sanitizer does not support this GPU")
    if "ERROR SUMMARY: 0 errors" not in output:
        raise Failed("compute-sanitizer printed no summary")


def unit_test(machine, name):
    program, tests, settings = UNIT_TESTS[name]
    environment = {"SOAP_TEST_REQUIRE": "cuda", "SOAP_TEST_DEVICES_PER_GPU": str(SHARE),
                   **machine.environment, **settings}
    output = run([[machine.program(f"tests/{program}"), f"--gtest_filter={tests}"]],
                 [environment], 2 * TIMEOUT)
    passed = re.search(r"\[  PASSED  \] (\d+) test", output)
    if not passed or passed[1] == "0":
        raise Failed("no test ran")
    return {"tests": int(passed[1])}


HOW = {"kernels": equals_cpu, "products": equals_cpu, "networks": equals_cpu, "strategies": equals_one_device,
       "nccl": over_nccl, "sanitizer": sanitized}


def all_checks(machine, manifest):
    """The checks of an archive, cheap and telling ones first."""
    items = [(f"unit/{name}", lambda name=name: unit_test(machine, name))
             for name in UNIT_TESTS if os.path.exists(
                 machine.program(f"tests/{UNIT_TESTS[name][0]}"))]
    for group, how in HOW.items():
        items += [(f"{group}/{item['name']}", lambda item=item, how=how: how(machine, item))
                  for item in manifest["checks"].get(group, [])]
    return items
