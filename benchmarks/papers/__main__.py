"""What the two papers report, beside simulated steps of training.

  python -m papers run [--only=REGEX] [--proposals=N] [--seed=N]   rows that are not there yet, into build/papers
  python -m papers table                                            what is there, as Markdown

  python -m papers algorithms                                       rows of docs/Algorithms.md, as Markdown

Run it with PYTHONPATH=benchmarks and build/venv/bin/python, after a build in build/release. A row is one network on one
cluster under its own batch per device (`each`) or for all devices together (`all`); it is kept whole or not at all.
Rows of docs/Algorithms.md are run with --only=^algorithms and have no limit but --budget.
"""

import argparse
import pathlib
import re
import sys
import tempfile

import zoo

from .algorithms import algorithm_rows, print_algorithms
from .document import print_document
from .fastt import fastt_rows
from .rows import ROOT, jia_rows


def run(arguments):
    rows = [row for row in [*jia_rows(), *fastt_rows(), *algorithm_rows()]
            if re.search(arguments.only, row.name) and not row.file.exists()]
    with tempfile.TemporaryDirectory() as folder:
        for number, row in enumerate(rows, 1):
            print(f"{number} of {len(rows)}: {row.name}", file=sys.stderr, flush=True)
            model = pathlib.Path(folder) / f"{row.network}.onnx"
            if not model.exists():
                zoo.save(str(model), row.network)
            row.run(arguments.build_dir / "bin" / "soap-compile", model, arguments)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "table", "algorithms"))
    parser.add_argument("--only", default="", metavar="REGEX", help="rows: NETWORK.CLUSTER.DEVICES.BATCHES[.ALGORITHM], algorithms.NETWORK....")
    parser.add_argument("--proposals", type=int, default=100000, help="limit of each search")
    parser.add_argument("--budget", type=float, default=600, metavar="SECONDS", help="another one")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--check-local-optimality", action="store_true",
                        help="compare what is found with its neighbours (Jia et al., section 8.4)")
    parser.add_argument("--build-dir", type=pathlib.Path, default=ROOT / "build" / "release")
    arguments = parser.parse_args()
    if arguments.what == "run":
        run(arguments)
    elif arguments.what == "table":
        print_document(jia_rows(), fastt_rows())
    else:
        print_algorithms(algorithm_rows())


if __name__ == "__main__":
    main()
