#!/usr/bin/env bash
# Checks the target cuda on a machine with an NVIDIA GPU, and measures it.
#
#   scripts/gpu-check.sh --pack=FILE.tar.xz     on a machine with a build of SOAP: packs tools,
#                                               compiled models and expected results
#   tar -xJf FILE.tar.xz                        on the machine with the GPU, then there:
#   gpu-check/gpu-check.sh --check              every check, 15 minutes at most
#   gpu-check/gpu-check.sh --figures            every figure, 25 minutes at most
#   gpu-check/gpu-check.sh --list               what these would run; needs no GPU
#
# Running --check or --figures again goes on where the last run stopped. --help lists the
# options. Exit status: 0 all is well, 1 something failed, 2 wrong usage, 3 no GPU that can be
# used, 4 the time was up before the end. docs/CUDA.md says what is checked.
#
# Needs Python 3.9 or newer: PYTHON names one; else it is that of scripts/setup.sh, which
# --pack needs, where there is one, and python3 where there is none.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export PYTHONDONTWRITEBYTECODE=1
own="$here/../build/venv/bin/python"
[ -x "$own" ] || own=python3
exec "${PYTHON:-$own}" "$here/gpu_check" "$@"
