"""Right on another target: random strategies of the light models on the emulated
accelerator, whose streams run as late as they may, against one device of the CPU.
The seed of its delays is printed with a failure, as part of the test's name."""

import json

import pytest
from light_models import ALIKE, NAMES, TOLERANCE, devices_of, movements, random_seeds

CASES = [(name, seed, transport) for name in NAMES if name not in ALIKE
         for seed, transport in zip(random_seeds(name), ("host", "device"))]


@pytest.mark.parametrize("name, seed, transport", CASES)
def test_equals_one_device_of_the_cpu(tools, zoo, monkeypatch, name, seed, transport):
    monkeypatch.setenv("SOAP_EMULATED_SEED", str(seed))
    monkeypatch.setenv("SOAP_EMULATED_TRANSPORT", transport)
    batch = 4
    model = zoo.model(name, batch)
    compiled = model.folder / f"emulated{seed}.so"
    planned = compiled.with_suffix(".movements.json")
    tools.run("soap-compile-emulated", *model.compile_arguments(), "--target=emulated",
              f"--devices={devices_of(seed)}", "--strategy=random", f"--seed={seed}",
              "--no-reference", f"--export-movements={planned}", "-o", compiled)
    expected = [f"--expected={output}={file}" for output, file in
                zoo.one_device_outputs(name, batch).items()]
    result = tools.run("soap-run", compiled, *model.input_arguments(), *expected,
                       f"--rtol={TOLERANCE}", "--atol=0", "--iterations=2", "--json",
                       check=False)
    assert result.stdout, result.stderr
    report = json.loads(result.stdout)
    wrong = {c["name"]: c["norm_rel"] for c in report["expected"]
             if not c["norm_rel"] <= TOLERANCE}
    assert not wrong and report["equal"]
    assert movements(json.loads(planned.read_text())["movements"]) == movements(
        report["movements"])
