"""Recurrent networks of the zoo with their layers in parts (soap-compile --unroll-rnn):
how many operations they become, as docs/ModelZoo.md says, and that layers overlap."""

import json

import pytest
import zoo
from conftest import ROOT
from test_execution import tools  # noqa: F401 (a fixture)

# As docs/ModelZoo.md; one device for each layer of RNNTC.
CHUNKS = (0, 1, 8)
LAYERS = 4


def rows():
    for line in (ROOT / "docs" / "ModelZoo.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and cells[0] in zoo.NETWORKS:
            yield cells[0], [int(cell) for cell in cells[1:]]


def operations(tools, path, chunk):  # noqa: F811
    """nn operations of @main."""
    text = tools.run("soap-compile", path, f"--unroll-rnn={chunk}", "--emit=nn").stdout
    main = text[text.index("func.func @main"):]
    return sum(" nn." in line for line in main.splitlines())


@pytest.mark.parametrize("name, counts", rows())
def test_counts(tools, tmp_path, name, counts):  # noqa: F811
    zoo.save(tmp_path / "model.onnx", name, batch=64)
    assert [operations(tools, tmp_path / "model.onnx", k) for k in CHUNKS] == counts


def test_all_are_listed():
    assert [name for name, _ in rows()] == ["rnntc", "rnnlm", "nmt", "gnmt"]


def test_layers_overlap(tools, tmp_path):  # noqa: F811
    """With a device for every layer, a layer runs beside the next: in parts of one step
    the simulated step takes little longer than one of four layers."""
    zoo.save(tmp_path / "rnntc.onnx", "rnntc", batch=64)
    strategy = {"format": "soap-strategy", "ops": [
        {"op": ".*", "degrees": {}, "devices": [0]},
        *({"op": f"lstm{i + 1}.*", "degrees": {}, "devices": [i]}
          for i in range(LAYERS))]}
    (tmp_path / "layers.json").write_text(json.dumps(strategy))

    def step(chunk):
        report = tools.json("soap-compile", tmp_path / "rnntc.onnx", "--emit=report",
                            f"--unroll-rnn={chunk}", f"--devices={LAYERS}",
                            "--calibration=none",
                            f"--strategy={tmp_path / 'layers.json'}")
        return report["strategies"][-1]["step_ns"]

    assert step(1) < 0.35 * step(0)
