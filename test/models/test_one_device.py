"""Right on one device: the light models equal onnxruntime."""

import numpy as np
import pytest
from light_models import (MIN_SPREAD, NAMES, TOLERANCE, relative_error, spread)

MODELS = pytest.mark.parametrize("batch", [1, 4])
NAMED = pytest.mark.parametrize("name", NAMES)


@NAMED
@MODELS
def test_equals_onnxruntime(tools, zoo, name, batch):
    model = zoo.model(name, batch)
    # The result, what the softmax reads (where the model ends in one), and ten
    # tensors on the way.
    assert len(model.references) >= 11
    errors = {}
    for output, file in zoo.one_device_outputs(name, batch).items():
        got = np.load(file)
        reference = model.references[output]
        assert np.isfinite(reference).all(), output
        assert spread(reference) >= MIN_SPREAD, output
        errors[output] = relative_error(got, reference)
    assert errors.keys() == model.references.keys()
    # Comparisons with NaN are false.
    wrong = {name: error for name, error in errors.items()
             if not error < TOLERANCE}
    assert not wrong


@NAMED
@MODELS
def test_no_reference_kernel(zoo, name, batch):
    """oneDNN falls back to its slow `ref` without a word."""
    info = zoo.one_device_info(name, batch)
    implementations = {kernel["key"]: kernel["implementation"]
                       for kernel in info["kernels"]}
    assert implementations
    assert not {key: text for key, text in implementations.items()
                if text.startswith("ref")}
