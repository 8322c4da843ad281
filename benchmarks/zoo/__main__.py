"""Writes a network of the zoo as an ONNX model.

  python -m zoo --list
  python -m zoo resnet101 -o resnet101.onnx
  python -m zoo bert_large --batch=16 --weights=random:1 --loss -o bert.onnx
  python -m zoo bert_base --option layers=2 -o bert.onnx
"""

import argparse
import inspect
import signal
import sys

from . import DEFAULT_OPSET, NETWORKS, build, count, save


def parse_options(texts):
    """KEY=N or KEY=N,N,…, sizes of the builder."""
    options = {}
    for text in texts:
        key, _, value = text.partition("=")
        numbers = value.split(",")
        if not key.isidentifier() or not all(map(str.isdecimal, numbers)):
            raise ValueError(f"expected --option KEY=N or KEY=N,N,…, got: {text}")
        if key in inspect.signature(save).parameters:
            raise ValueError(f"expected --option for a size of the network, got: {text}; "
                             f"'{key}' has an argument of its own")
        sizes = tuple(map(int, numbers))
        options[key] = sizes if len(sizes) > 1 else sizes[0]
    return options


def list_networks():
    print(f"{'name':17} {'parameters':>13} {'Gflop/sample':>12} {'nodes':>5}  source")
    for network in NETWORKS.values():
        model = build(network.name)
        print(f"{network.name:17} {count.parameters(model).trainable:13,} "
              f"{count.flops(model) / 1e9:12.4g} {count.nodes(model):5}  "
              f"{network.source}")


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # For --list | head.
    parser = argparse.ArgumentParser(
        prog="python -m zoo", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", metavar="NAME", help="see --list")
    parser.add_argument("--list", action="store_true",
                        help="name, trainable parameters, flops per sample (two per "
                        "multiply-add), nodes, source")
    parser.add_argument("--batch", type=int, metavar="N",
                        help="samples (default: the symbol 'batch')")
    parser.add_argument("--seq", type=int, metavar="N",
                        help="steps of sequences (default: the network's)")
    parser.add_argument("--weights", default="light", metavar="light|random:SEED",
                        help="ConstantOfShape nodes, or values from a seed; above "
                        "100 MB in FILE.onnx.data (default: light)")
    parser.add_argument("--opset", type=int, default=DEFAULT_OPSET, metavar="N",
                        help=f"operator set (default: {DEFAULT_OPSET})")
    parser.add_argument("--loss", action="store_true",
                        help="end in a loss, with an input 'labels'")
    parser.add_argument("--option", action="append", default=[], metavar="KEY=N",
                        help="another size, as layers=2 or blocks=1,1,1,1; an unknown "
                        "KEY lists those of the network")
    parser.add_argument("-o", "--output", metavar="FILE.onnx", help="the model")
    arguments = parser.parse_args()
    if arguments.list:
        return list_networks()
    if not arguments.name or not arguments.output:
        parser.error("expected --list, or NAME and -o FILE.onnx")
    try:
        save(arguments.output, arguments.name, arguments.batch, arguments.seq,
             arguments.weights, arguments.opset, arguments.loss,
             **parse_options(arguments.option))
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
