"""Equal to ONNX's reference implementation, test by test, or refused: what the
importer refuses is listed in unsupported.txt, which must stay exact."""

import pathlib
import zlib

import numpy as np
import pytest
from node_cases import all_cases, compile_case, run_case

LIST = pathlib.Path(__file__).with_name("unsupported.txt")
UNSUPPORTED = {line.split(":")[0] for line in LIST.read_text().splitlines()
               if line and not line.startswith("#")}
# Where ONNX's reference implementation and onnxruntime differ, we follow the latter:
# coordinates of align_corners are those of the rounded size.
DIFFERENT = {"test_resize_downsample_scales_linear_align_corners",
             "test_resize_downsample_scales_cubic_align_corners"}
RTOL, ATOL = 1e-3, 1e-6  # RTOL is that of onnx.backend.test.


def strategy_of(case, devices):
    """One device, or a strategy that depends on the case's name alone."""
    if devices == 1:
        return ["--devices=1"]
    seed = zlib.crc32(case.name.encode())
    return [f"--devices={devices}", "--strategy=random", f"--seed={seed}"]


def test_node(tools, case, devices, tmp_path):
    if devices > 1 and case.name in UNSUPPORTED:
        pytest.skip("refused")
    compiled, message = compile_case(tools, case, tmp_path, *strategy_of(case, devices))
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
        if expected.dtype.kind not in "biufc":  # A type of ml_dtypes.
            np.testing.assert_array_equal(got[name].astype(np.float32),
                                          expected.astype(np.float32), err_msg=name)
        elif case.name in DIFFERENT:
            equal &= np.allclose(got[name], expected, rtol=RTOL, atol=ATOL)
        else:
            np.testing.assert_allclose(got[name], expected, rtol=RTOL, atol=ATOL,
                                       err_msg=name)
    assert not (case.name in DIFFERENT and equal), "it is equal: take it off the list"


def test_list_has_only_cases():
    """An entry that is no case any more goes."""
    assert not UNSUPPORTED - {case.name for case in all_cases()}
