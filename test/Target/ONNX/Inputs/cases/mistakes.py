"""Models that are refused."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from .build import ints, model, node, weight


def unsupported():
    return model(
        [
            node("Foo", "x", "a", name="first"),
            node("Relu", "x", "b", name="second", beta=1.0),
            node("Conv", "x w", "c", name="third"),
            node("Relu", "a", "e", name="after"),
            node("Reshape", "x x", "f", name="dynamic"),
            helper.make_node("Relu", ["x"], ["g"], name="custom", domain="com.acme"),
            node("Bar", "x", "unused", name="dead"),
        ],
        {"x": [2, 3]},
        {k: None for k in "abcefg"},
        [weight("w", 4, 3, 2, 2)],
    )


def runtime_operands():
    """Operators whose operands must be known at compile time."""
    return model(
        [node("Range", "zero n one", "r", name="range"),
         node("Cast", "r", "f", to=1, name="cast"),
         helper.make_node("Resize", ["x", "", "scales"], ["u"], name="resize"),
         helper.make_node("Resize", ["x", "", "double"], ["v"], name="cropped",
                          coordinate_transformation_mode="tf_crop_and_resize"),
         helper.make_node("Resize", ["x", "", "double"], ["w"], name="smooth",
                          mode="linear",
                          coordinate_transformation_mode="tf_half_pixel_for_nn")],
        {"x": [1, 1, 2, 2], "n": (TensorProto.INT64, []), "scales": [4]},
        {k: None for k in "fuvw"},
        [numpy_helper.from_array(np.array(value, np.int64), k)
         for k, value in [("zero", 0), ("one", 1)]] +
        [numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "double")],
    )


def cycle():
    return model(
        [node("Add", "x b", "a"), node("Relu", "a", "b"), node("Relu", "z", "c"),
         node("Relu", "x", "c")],
        {"x": [2]}, {"c": [2]},
    )


def opset5():
    return model([node("Relu", "x", "y")], {"x": [2]}, {"y": [2]}, opset=5)


def huge():
    return model(
        [node("ConstantOfShape", "dims", "w"), node("Add", "x w", "y", name="add")],
        {"x": [2]}, {"y": None},
        [ints("dims", 2**31 - 1, 2**31 - 1, 2**31 - 1)],
    )
