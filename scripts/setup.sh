#!/usr/bin/env bash
# Installs what SOAP needs on Debian 12, and only what is missing: packages by
# apt (as root or with sudo), a pinned Python environment in build/venv and, in
# it, the pinned source package of ONNX, which the build compiles, and the pinned
# digits of scikit-learn that examples/digits trains on.
# Running it again changes nothing.
#
#   scripts/setup.sh [--check] [--cuda]
#
# --check only says what is missing (exit 1). --cuda also fetches NVIDIA's headers,
# from its Python packages (about 1 GB, of which 7 MB are kept), where no toolkit is:
# with them the backend of GPUs is built.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
environment=${SOAP_PYTHON_ENV:-$root/build/venv}
requirements=$root/scripts/requirements.txt
onnx_pin=$root/scripts/onnx-source.txt
check=false
cuda=false
for argument in "$@"; do
  case "$argument" in
    --check) check=true ;;
    --cuda) cuda=true ;;
    *) echo "usage: scripts/setup.sh [--check] [--cuda]" >&2; exit 2 ;;
  esac
done

packages=(
  # Build tools.
  git cmake ninja-build ccache g++ clang-19 lld-19 clang-format-19 clang-tidy-19
  libclang-rt-19-dev
  # MLIR and LLVM 19 with their tools (FileCheck is in llvm-19-tools).
  llvm-19-dev llvm-19-tools libmlir-19-dev mlir-19-tools
  # Libraries that the compiler and the runtime stand on.
  libdnnl-dev libprotobuf-dev protobuf-compiler libflatbuffers-dev
  flatbuffers-compiler flatbuffers-compiler-dev nlohmann-json3-dev libcli11-dev
  libxxhash-dev libminizip-dev libeigen3-dev
  libgtest-dev libbenchmark-dev libopenmpi-dev openmpi-bin
  # The Python environment.
  python3-venv
)

installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing=()
for package in "${packages[@]}"; do
  installed "$package" || missing+=("$package")
done

if [ ${#missing[@]} -eq 0 ]; then
  echo "setup: ${#packages[@]} packages are installed"
elif $check; then
  echo "setup: missing packages: ${missing[*]}"
else
  sudo=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
      echo "error: expected to run as root or with sudo, got: neither; install with apt-get: ${missing[*]}" >&2
      exit 2
    }
    sudo=(sudo)
  fi
  echo "setup: installing ${missing[*]}"
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi

# The stamp is the list of pins that the environment was made from.
stamp=$environment/requirements.stamp
current=false
if [ -x "$environment/bin/python3" ] && cmp -s "$requirements" "$stamp"; then
  current=true
fi
if $current; then
  echo "setup: the Python environment $environment is up to date"
elif $check; then
  echo "setup: the Python environment $environment is missing or out of date"
else
  echo "setup: making the Python environment $environment"
  # The distribution's interpreter, whatever else is first in PATH.
  /usr/bin/python3 -m venv "$environment"
  "$environment/bin/python3" -m pip install --quiet --disable-pip-version-check \
    --requirement "$requirements"
  cp "$requirements" "$stamp"
fi

# ONNX's source package; pip checks the hash of what it fetches.
onnx_source=$environment/onnx-source
source_current=false
if cmp -s "$onnx_pin" "$onnx_source/pin.stamp"; then
  source_current=true
  echo "setup: ONNX's source package is up to date"
elif $check; then
  echo "setup: ONNX's source package in $onnx_source is missing or out of date"
else
  echo "setup: fetching ONNX's source package"
  download=$(mktemp -d)
  trap 'rm -rf "$download"' EXIT
  "$environment/bin/python3" -m pip download --quiet --disable-pip-version-check \
    --no-deps --no-binary onnx --dest "$download" --requirement "$onnx_pin"
  rm -rf "$onnx_source"
  mkdir -p "$onnx_source"
  tar -xzf "$download"/onnx-*.tar.gz -C "$onnx_source" --strip-components=1
  cp "$onnx_pin" "$onnx_source/pin.stamp"
fi

# The file of scikit-learn's digits, for examples/digits: nothing else of the
# package is used, so that what it needs is left out.
digits_pin=$root/examples/digits/requirements.txt
digits=$environment/digits
digits_current=false
if cmp -s "$digits_pin" "$digits/pin.stamp"; then
  digits_current=true
  echo "setup: scikit-learn's digits are up to date"
elif $check; then
  echo "setup: scikit-learn's digits in $digits are missing or out of date"
else
  echo "setup: fetching scikit-learn's digits"
  rm -rf "$digits"
  "$environment/bin/python3" -m pip install --quiet --disable-pip-version-check \
    --no-deps --target "$digits" --requirement "$digits_pin"
  cp "$digits_pin" "$digits/pin.stamp"
fi

# Headers of NVIDIA, pinned likewise.
cuda_current=true
if $cuda && cmp -s "$root/scripts/cuda-headers.txt" "$environment/cuda/pin.stamp"; then
  echo "setup: NVIDIA's headers are up to date"
elif $cuda && $check; then
  cuda_current=false
  echo "setup: NVIDIA's headers in $environment/cuda are missing or out of date"
elif $cuda; then
  echo "setup: fetching NVIDIA's headers"
  "$environment/bin/python3" "$root/scripts/cuda_headers.py" "$environment/cuda"
fi

# `python -m zoo` and `import zoo` work from any folder.
if ! $check; then
  site=$("$environment/bin/python3" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  ln -sfn "$root/benchmarks/zoo" "$site/zoo"
fi

if $check && { [ ${#missing[@]} -gt 0 ] || ! $current || ! $source_current ||
  ! $digits_current || ! $cuda_current; }; then
  exit 1
fi
