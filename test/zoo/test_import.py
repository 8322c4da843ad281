"""soap-translate imports every network at batch 2. What it cannot import yet is in
expected_failures.txt: a network, then the operators that it lacks. The list must be
exact; after a change of the importer, `--write-expected` writes it anew."""

import pathlib
import re
import subprocess

import pytest
import zoo

EXPECTED = pathlib.Path(__file__).with_name("expected_failures.txt")
PROBLEM = re.compile(r"^  (\w+) '[^']*' \(opset \d+\): ", re.MULTILINE)


def read_expected():
    lines = [line.split() for line in EXPECTED.read_text().splitlines()
             if line and not line.startswith("#")]
    return {name: operators for name, *operators in lines}


def lacking(soap_translate, name, folder, opset=zoo.DEFAULT_OPSET):
    """Operators that stop the import; raises if something else does."""
    path = folder / "model.onnx"
    zoo.save(path, name, opset=opset)
    result = subprocess.run(
        [soap_translate, "--import-onnx", path, "--batch=2", "-o", folder / "model.mlir"],
        capture_output=True, text=True)
    if result.returncode == 0:
        return []
    operators = sorted(set(PROBLEM.findall(result.stderr)))
    assert operators, result.stderr
    return operators


def test_imports(soap_translate, tmp_path, request):
    failures = {}
    for name in zoo.NETWORKS:
        if operators := lacking(soap_translate, name, tmp_path):
            failures[name] = operators
    if request.config.getoption("--write-expected"):
        head = [line for line in EXPECTED.read_text().splitlines()
                if line.startswith("#")]
        lines = [" ".join([name, *operators]) for name, operators in failures.items()]
        EXPECTED.write_text("\n".join(head + lines) + "\n")
    assert failures == read_expected()


@pytest.mark.parametrize("opset", [9, zoo.NEWEST_OPSET])
def test_imports_from_other_operator_sets(soap_translate, tmp_path, opset):
    assert not [name for name in zoo.NETWORKS if name not in read_expected()
                and lacking(soap_translate, name, tmp_path, opset)]


def test_list_is_of_networks():
    assert set(read_expected()) <= set(zoo.NETWORKS)
