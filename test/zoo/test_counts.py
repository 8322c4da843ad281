"""Parameters and flops are the published ones."""

import pytest
import zoo
from published import PUBLISHED, ROUND

NAMES = list(zoo.NETWORKS)


def test_every_network_is_compared():
    assert set(PUBLISHED) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_parameters(name):
    published = PUBLISHED[name]
    counted = zoo.count.parameters(zoo.build(name))
    assert counted.trainable == published.parameters + published.explained, (
        published.parameters_source)
    assert bool(published.explained) == bool(published.explanation)


@pytest.mark.parametrize("name", ROUND)
def test_parameters_in_publication(name):
    millions, _, explanation = ROUND[name]
    counted = zoo.count.parameters(zoo.build(name)).trainable
    difference = abs(counted / (millions * 1e6) - 1)
    assert difference < (0.07 if explanation else 0.02)
    assert bool(explanation) == (difference >= 0.02)


@pytest.mark.parametrize("name", NAMES)
def test_flops(name):
    published = PUBLISHED[name]
    assert zoo.count.flops(zoo.build(name)) == pytest.approx(
        published.flops, rel=0.02), published.flops_source


def test_flops_grow_with_batch():
    one = zoo.count.flops(zoo.build("bert_base"))
    assert zoo.count.flops(zoo.build("bert_base"), batch=3) == 3 * one
    assert zoo.count.flops(zoo.build("bert_base", batch=3)) == 3 * one


def test_statistics_and_second_biases_are_apart():
    resnet = zoo.count.parameters(zoo.build("resnet50"))
    # Two per channel of 53 normalisations (He et al., 2016, table 1).
    assert resnet.statistics == 53_120 and resnet.second_biases == 0
    rnnlm = zoo.count.parameters(zoo.build("rnnlm"))
    assert rnnlm.second_biases == 2 * 4 * 2048 and rnnlm.statistics == 0


def test_random_weights_count_the_same():
    assert (zoo.count.parameters(zoo.build("lenet5", weights="random:1"))
            == zoo.count.parameters(zoo.build("lenet5")))
