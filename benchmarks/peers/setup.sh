#!/usr/bin/env bash
# Makes the Python environment of benchmarks/peers in build/peers/venv, about 400 MB. Running it again changes nothing.
# No test of the project needs it.
#
#   benchmarks/peers/setup.sh
#   build/peers/venv/bin/python -m peers --help
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
environment=$root/build/peers/venv
requirements=$root/benchmarks/peers/requirements.txt
stamp=$environment/requirements.stamp

if [ -x "$environment/bin/python3" ] && cmp -s "$requirements" "$stamp"; then
  echo "setup: the Python environment $environment is up to date"
else
  echo "setup: making the Python environment $environment"
  python3 -m venv "$environment"
  "$environment/bin/python3" -m pip install --quiet --disable-pip-version-check --requirement "$requirements"
  cp "$requirements" "$stamp"
fi
# `python -m peers` works from any folder.
site=$("$environment/bin/python3" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
for package in peers zoo; do
  ln -sfn "$root/benchmarks/$package" "$site/$package"
done
