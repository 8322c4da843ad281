"""Functions of the model, branches and loops."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper, parser

from .build import RNG


def text(source):
    return parser.parse_model("<ir_version: 9, opset_import: " + source)


def local_functions():
    """Two calls of one function, which calls another one; attributes that a call
    gives or leaves out, an operand that it leaves out, and names in the function
    that the graph has, too. The functions have an operator set of their own."""
    return text("""["": 17, "own": 1]>
        g (float[2, 3] x, float[2, 3] t) => (float[2, 3] y, float[2, 3] z) {
            y = own.Twice <slope = 0.5> (x, t)
            s = own.Twice (y)
            z = Add (s, t)
        }
        <domain: "own", opset_import: ["": 12, "own": 1]>
        Twice <slope: float = 2.0> (a, b) => (t) {
            x = own.Once <alpha: float = @slope> (a)
            half = Constant <value_float: float = 0.5> ()
            y = Mul (x, half)
            t = own.Once <alpha = 0.25> (y)
        }
        <domain: "own", opset_import: ["": 12]>
        Once <alpha> (x) => (y) {
            y = LeakyRelu <alpha: float = @alpha> (x)
        }""")


def shadowed():
    """A function of the model that has the name of an operator."""
    return text("""["": 17]>
        g (float[4] x) => (float[4] y) { y = Relu (x) }
        <domain: "", opset_import: ["": 17]>
        Relu (x) => (y) { y = Neg (x) }""")


def branches():
    """A branch that reads the outer graph and has constants of its own."""
    return text("""["": 17]>
        g (float[2, 3] x) => (float[2, 3] y, float[3] z) {
            two = Constant <value_int: int = 2> ()
            shape = Shape (x)
            first = Constant <value_int: int = 0> ()
            n = Gather (shape, first)
            isTwo = Equal (n, two)
            y, z = If (isTwo) <
                then_branch = yes () => (float[2, 3] a, float[3] w)
                <float[3] w = {1.0, 2.0, 3.0}> { a = Add (x, w) },
                else_branch = no () => (float[2, 3] b, float[2, 3] c) {
                    b = RandomNormalLike (x)
                    c = RandomNormalLike (b)
                }>
        }""")


def loops():
    """Fibonacci of tensors, with what every step saw; a loop that ends by its
    condition; a loop in a loop."""
    return text("""["": 17]>
        g (float[3] x) => (float[3] y, float[4, 3] steps, float[3] w, float[3] n) {
            four = Constant <value_int: int = 4> ()
            yes = Constant <value = bool {1}> ()
            last, y, steps = Loop (four, yes, x, x) <body =
                fib (int64 i, bool c, float[3] a, float[3] b)
                    => (bool c, float[3] b, float[3] s, float[3] d) {
                    s = Add (a, b)
                    f = Cast <to = 1> (i)
                    d = Mul (s, f)
                }>
            w = Loop ("", yes, x) <body =
                until (int64 i, bool c, float[3] a) => (bool go, float[3] t) {
                    two = Constant <value_int: int = 2> ()
                    go = Less (i, two)
                    t = Mul (a, x)
                }>
            n = Loop (four, "", x) <body =
                outer (int64 i, bool c, float[3] a) => (bool c, float[3] r) {
                    r = Loop (i, c, a) <body =
                        inner (int64 j, bool c, float[3] a) => (bool c, float[3] t) {
                            t = Add (a, x)
                        }>
                }>
        }""")


def nothing_summed():
    """Products over nothing, nothing padded, rows of a loop that ends at once."""
    return text("""["": 18]>
        g (float[2, 0] a, float[3, 0] b, float[2, 1] c, uint8[2, 0] i, uint8[0, 3] j, float[3] x)
            => (float[2, 3] scaled, float[2, 3] bare, int32[2, 3] whole, float[2, 3] ikjk,
                float[2, 3] filled, float[3] last, float[1, 3] rows) {
            scaled = Gemm <alpha: float = 2.0, beta: float = 0.5, transB: int = 1> (a, b, c)
            bare = Gemm <beta: float = 0.0, transB: int = 1> (a, b, c)
            whole = MatMulInteger (i, j)
            ikjk = Einsum <equation: string = "ik,jk->ij"> (a, b)
            pads = Constant <value_ints: ints = [0, 1, 0, 2]> ()
            seven = Constant <value_float: float = 7.0> ()
            filled = Pad (a, pads, seven)
            zero = Constant <value_int: int = 0> ()
            last, none = Loop (zero, "", x) <body =
                never (int64 i, bool c, float[3] s) => (bool c, float[3] t, float[3] r) {
                    t = Add (s, x)
                    r = Mul (t, x)
                }>
            axis = Constant <value_ints: ints = [0]> ()
            row = Unsqueeze (last, axis)
            rows = Concat <axis = 0> (none, row)
        }""")


def listed_initializers():
    """A loop whose body lists its initializer as an input, as IR version 3 has it."""
    made = loops()
    body = made.graph.node[2].attribute[0].g
    body.initializer.append(numpy_helper.from_array(np.float32([1, 2, 3]), "weight"))
    body.input.append(helper.make_tensor_value_info("weight", TensorProto.FLOAT, [3]))
    body.node[0].input[1] = "weight"
    return made


def scans():
    """Both directions, other axes, and a state."""
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "v"], ["n"]),
         helper.make_node("Mul", ["n", "u"], ["m"]),
         helper.make_node("Identity", ["v"], ["r"])],
        "body",
        [helper.make_tensor_value_info(k, TensorProto.FLOAT, [2]) for k in "svu"],
        [helper.make_tensor_value_info(k, TensorProto.FLOAT, [2]) for k in "nmr"])
    node = helper.make_node(
        "Scan", ["start", "x", "w"], ["end", "products", "rows"], body=body,
        num_scan_inputs=2, scan_input_axes=[1, 0], scan_input_directions=[1, 0],
        scan_output_axes=[0, 1], scan_output_directions=[1, 0])
    graph = helper.make_graph(
        [node], "g",
        [helper.make_tensor_value_info("start", TensorProto.FLOAT, [2]),
         helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 5])],
        [helper.make_tensor_value_info(k, TensorProto.FLOAT, None)
         for k in ("end", "products", "rows")],
        [numpy_helper.from_array(RNG.standard_normal((5, 2), dtype=np.float32), "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                             ir_version=8)


# -- Mistakes


def recursion():
    return text("""["": 17, "own": 1]>
        g (float[4] x) => (float[4] y) { y = own.Again (x) }
        <domain: "own", opset_import: ["": 17, "own": 1]>
        Again (x) => (y) { y = own.Again (x) }""")


def doubling():
    """2^40 nodes in 40 functions."""
    functions = "".join(f"""
        <domain: "own", opset_import: ["": 17, "own": 1]>
        F{i} (x) => (z) {{
            y = own.F{i + 1} (x)
            z = own.F{i + 1} (y)
        }}""" for i in range(40))
    return text("""["": 17, "own": 1]>
        g (float[4] x) => (float[4] y) { y = own.F0 (x) }""" + functions + """
        <domain: "own", opset_import: ["": 17]>
        F40 (x) => (y) { y = Neg (x) }""")


def bad_calls():
    """Calls that do not fit, bodies that are not valid, and what is only known at
    run time."""
    return text("""["": 17, "own": 1]>
        g (float[4] x, bool b, int64 n)
            => (float[4] p, float[4] q, float[4] r, float[4] s, float[4] t, float[4] u,
                float[4] v) {
            p = own.One (x, x)
            q = own.Unsupported (x)
            r = own.Undefined (x)
            s = own.Missing (x)
            t = If (b) <then_branch = yes () => (float[4] a) { a = Neg (x) },
                        else_branch = no () => (float[4] a) { a = Abs (x) }>
            u = Loop (n, "", x) <body =
                one (int64 i, bool c, float[4] a) => (bool c, float[4] d) {
                    d = Neg (a)
                }>
            v = Elu <gamma = 1.0> (x)
        }
        <domain: "own", opset_import: ["": 17]>
        One (x) => (y) { y = Neg (x) }
        <domain: "own", opset_import: ["": 17]>
        Unsupported (x) => (y) { a = Abs (x) y = Foo (a) }
        <domain: "own", opset_import: ["": 17]>
        Undefined (x) => (y) { y = Neg (z) }
        <domain: "own", opset_import: ["": 17]>
        Missing (x) => (y) { z = Neg (x) }""")


def endless():
    return text("""["": 17]>
        g (float[4] x) => (float[4] y) {
            yes = Constant <value = bool {1}> ()
            y = Loop ("", yes, x) <body =
                one (int64 i, bool c, float[4] a) => (bool c, float[4] a) {}>
        }""")
