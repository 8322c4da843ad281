"""Equal to ONNX's reference implementation, node by node, or refused: what the
importer refuses is listed in unsupported.txt, which must stay exact."""

import pathlib

import numpy as np
import pytest
from node_cases import compile_case, run_case

LIST = pathlib.Path(__file__).with_name("unsupported.txt")
UNSUPPORTED = {line.split(":")[0] for line in LIST.read_text().splitlines()
               if line and not line.startswith("#")}
# Where ONNX's reference implementation and onnxruntime differ, we follow the latter:
# coordinates of align_corners are those of the rounded size.
DIFFERENT = {"test_resize_downsample_scales_linear_align_corners",
             "test_resize_downsample_scales_cubic_align_corners"}
RTOL, ATOL = 1e-3, 1e-6  # RTOL is that of onnx.backend.test.


def test_node(tools, case, tmp_path):
    compiled, message = compile_case(tools, case, tmp_path)
    if not compiled:
        # A refusal says what was expected; anything else is a crash.
        assert "error: expected" in message, message
        assert case.name in UNSUPPORTED, message
        return
    assert case.name not in UNSUPPORTED, "it compiles: take it off the list"
    got = run_case(tools, case, tmp_path)
    equal = True
    for name, expected in case.outputs().items():
        assert got[name].dtype == expected.dtype
        assert got[name].shape == expected.shape
        if case.name in DIFFERENT:
            equal &= np.allclose(got[name], expected, rtol=RTOL, atol=ATOL)
        else:
            np.testing.assert_allclose(got[name], expected, rtol=RTOL, atol=ATOL,
                                       err_msg=name)
    assert not (case.name in DIFFERENT and equal), "it is equal: take it off the list"


def test_list_has_only_cases(tools):
    """An entry that is no case any more goes."""
    from node_cases import supported_cases
    names = {case.name for case in supported_cases(tools)}
    assert not UNSUPPORTED - names
