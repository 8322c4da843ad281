"""Training steps beside PyTorch's, from the same weights, and beside what was planned.

  python -m training equality [--steps=20] [--only=REGEX]   weights after some steps, in double: prints differences
  python -m training equality --single                      the same in float32
  python -m training speed [--batch=8] [--rounds=3]         ms per step of SGD with momentum on one core, in turn
  python -m training devices [--batch=8] [--rounds=3]       ms per step on one device and on two, data parallel; with
      --strategy=NAME another strategy, or search
  python -m training fit [--batch=8] [--rounds=3]           simulated steps of ten strategies beside measured ones
  python -m training memory [--batch=8]                     planned and held memory, on one device and on two
  python -m training memory --sharded                       of Adam on two and four, data parallel, zero-1, fsdp

Needs torch, torchvision and onnx (benchmarks/exports/setup.sh makes such an environment), and a build in
build/release; memory on two devices also mpirun.
"""

import argparse

import torch

from .equality import print_equality
from .fit import print_fit
from .memory import print_memory
from .speed import print_devices, print_speed

FIGURES = {"equality": print_equality, "speed": print_speed, "devices": print_devices, "fit": print_fit,
           "memory": print_memory}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=FIGURES)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--only", default="", metavar="REGEX", help="networks; of equality, also optimizers")
    parser.add_argument("--single", action="store_true", help="equality in float32")
    parser.add_argument("--sharded", action="store_true", help="memory: Adam, with sharded updates and without")
    parser.add_argument("--quick", action="store_true", help="fit: fewer steps")
    parser.add_argument("--minimum", action="store_const", const=1, default=0,
                        help="fit: compare with minima, on a busy machine")
    parser.add_argument("--strategy", default="data-parallel", help="devices: on two; search finds one")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    FIGURES[arguments.what](arguments)


if __name__ == "__main__":
    main()
