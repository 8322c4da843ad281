"""Backward passes in which the gradient of data comes last, as in the code of Jia et al.

  soap-compile nmt.onnx ... --train=sgd --emit=nn -o nmt.mlir
  python -m papers.backward nmt.mlir -o nmt-last.mlir

There the backward pass of an operation is one task (nmt/linear.cu and nmt/lstm.cu of github.com/flexflow/FlexFlow), so
that the operation in front of it waits for the gradient of the weights, too. SOAP has an operation for each gradient,
and launches that of data first. This moves it, and what the same operation makes of it, behind the gradient of the
weights: in the order of the graph it then starts when that is done.
"""

import argparse
import pathlib
import re

OF_WEIGHTS = re.compile(r"= nn\.conv_backward_filter|= nn\.matmul .*transpose_a")
OF_DATA = re.compile(r"= nn\.conv_backward_data|= nn\.matmul ")


def group_of(line):
    """The operation of the forward pass that a line belongs to; None for others."""
    found = re.search(r'nn\.group = #nn\.group<"([^"]+)"', line)
    return found and found[1]


def data_last(lines):
    """The same lines, of one operation, with the gradient of data and what reads it behind all others."""
    if not any(OF_WEIGHTS.search(line) for line in lines):
        return lines
    data, made = [], set()
    for line in lines:
        results, _, read = line.partition(" = ")
        if made & set(re.findall(r"%\w+", read)) or (OF_DATA.search(line) and not OF_WEIGHTS.search(line)):
            data.append(line)
            made |= set(re.findall(r"%\w+", results))
    return [line for line in lines if line not in data] + data


def reordered(lines):
    """All lines; and how many operations of the forward pass have their gradients in another order now."""
    result, run, moved = [], [], 0
    for line in [*lines, ""]:
        if run and group_of(line) != group_of(run[0]):
            last = data_last(run)
            moved += last != run
            result += last
            run = []
        if group_of(line):
            run.append(line)
        else:
            result.append(line)
    return result[:-1], moved


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path, metavar="MODEL.mlir", help="what --emit=nn printed")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, metavar="FILE.mlir")
    arguments = parser.parse_args()
    lines, moved = reordered(arguments.model.read_text(encoding="utf-8").split("\n"))
    if not moved:
        raise SystemExit(f"error: {arguments.model} has no operation with gradients of weights and of data")
    arguments.output.write_text("\n".join(lines), encoding="utf-8")
    print(f"{moved} operations have the gradient of their data last")


if __name__ == "__main__":
    main()
