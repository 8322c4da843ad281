#!/usr/bin/env bash
# Makes the Python environment of benchmarks/exports in build/exports/venv, about 7 GB with the CUDA libraries that
# PyTorch asks for. Running it again changes nothing. No test of the project needs it.
#
#   benchmarks/exports/setup.sh
#   build/exports/venv/bin/python -m exports --help
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
environment=$root/build/exports/venv
requirements=$root/benchmarks/exports/requirements.txt
stamp=$environment/requirements.stamp

if [ -x "$environment/bin/python3" ] && cmp -s "$requirements" "$stamp"; then
  echo "setup: the Python environment $environment is up to date"
else
  echo "setup: making the Python environment $environment"
  python3 -m venv "$environment"
  "$environment/bin/python3" -m pip install --quiet --disable-pip-version-check --requirement "$requirements"
  cp "$requirements" "$stamp"
fi
# `python -m exports` works from any folder.
site=$("$environment/bin/python3" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
ln -sfn "$root/benchmarks/exports" "$site/exports"
