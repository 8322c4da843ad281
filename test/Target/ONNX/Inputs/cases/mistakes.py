"""Models that are refused."""

from onnx import helper

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


def cycle():
    return model(
        [node("Add", "x b", "a"), node("Relu", "a", "b"), node("Relu", "z", "c"),
         node("Relu", "x", "c")],
        {"x": [2]}, {"c": [2]},
    )


def opset6():
    return model([node("Relu", "x", "y")], {"x": [2]}, {"y": [2]}, opset=6)


def huge():
    return model(
        [node("ConstantOfShape", "dims", "w"), node("Add", "x w", "y", name="add")],
        {"x": [2]}, {"y": None},
        [ints("dims", 2**31 - 1, 2**31 - 1, 2**31 - 1)],
    )
