"""The table of docs/ModelZoo.md is what the zoo makes."""

import zoo
from conftest import ROOT


def rows():
    for line in (ROOT / "docs" / "ModelZoo.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 6 and cells[0] in zoo.NETWORKS:
            yield cells


def test_table():
    listed = {}
    for name, steps, parameters, gflops, nodes, source in rows():
        model = zoo.build(name)
        assert steps == str(zoo.NETWORKS[name].seq or "")
        assert parameters == f"{zoo.count.parameters(model).trainable:,}"
        assert abs(float(gflops) * 1e9 / zoo.count.flops(model) - 1) < 1e-3
        assert nodes == str(zoo.count.nodes(model))
        listed[name] = source
    assert list(listed) == list(zoo.NETWORKS) and all(listed.values())
