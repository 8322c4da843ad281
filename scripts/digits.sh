#!/usr/bin/env bash
# A training to the end: sets up what is missing, builds, and trains two small
# networks on scikit-learn's digits on one, two and four devices; every option is
# passed on to examples/digits/train.py, which says what it does.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
scripts/configure.sh release
cmake --build build/release --target soap-compile soap-run
exec build/venv/bin/python examples/digits/train.py "$@"
