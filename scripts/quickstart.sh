#!/usr/bin/env bash
# From nothing to a verified parallel run: sets up what is missing, builds, and
# compiles ONNX's AlexNet at batch 1 for one device, for two by samples, which a
# single sample cannot be split by, and for two with a searched strategy. Compares
# outputs and prints measured step times. Devices are one core each.
#
#   scripts/quickstart.sh [--devices=N] [--batch=N] [--budget=SECONDS]
set -euo pipefail
cd "$(dirname "$0")/.."

devices=2
batch=1
budget=20
for arg in "$@"; do
  case "$arg" in
    --devices=*) devices="${arg#*=}" ;;
    --batch=*) batch="${arg#*=}" ;;
    --budget=*) budget="${arg#*=}" ;;
    -h|--help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "error: unknown argument '$arg'; see scripts/quickstart.sh --help" >&2; exit 2 ;;
  esac
done

scripts/setup.sh
scripts/configure.sh release
cmake --build build/release --target soap-compile soap-run

bin=build/release/bin
out=build/quickstart
mkdir -p "$out"
light="$(build/venv/bin/python -c 'import onnx, pathlib; print(pathlib.Path(onnx.__file__).parent / "backend/test/data/light")')"
model="$light/light_bvlc_alexnet.onnx"
options="--batch=$batch --init-weights=random:1 --cores-per-device=1"

echo "== Compiling AlexNet, batch $batch, for one device"
"$bin/soap-compile" "$model" $options --devices=1 -o "$out/one.so"
echo "== Compiling it for $devices devices, data parallel"
"$bin/soap-compile" "$model" $options --devices="$devices" \
  --strategy=data-parallel -o "$out/data.so"
echo "== Searching a strategy for $devices devices, $budget s, and compiling it"
"$bin/soap-compile" "$model" $options --devices="$devices" \
  --strategy=search --budget="$budget" --seed=1 \
  --export-strategy="$out/strategy.json" -o "$out/found.so"
echo "== Running on $devices devices and comparing with one"
"$bin/soap-run" "$out/found.so" --compare="$out/one.so"
echo "== Step times, measured"
for so in one data found; do
  "$bin/soap-run" "$out/$so.so" --iterations=10 --warmup=2 --json |
    build/venv/bin/python -c 'import json, sys; t = json.load(sys.stdin)["step"]; print(f"{sys.argv[1]:9}", "median {:.1f} ms, min {:.1f} ms, max {:.1f} ms".format(*(t[k] / 1e6 for k in ("median_ns", "min_ns", "max_ns"))))' "$so"
done
echo "== Strategies, simulated"
"$bin/soap-compile" "$model" $options --devices="$devices" \
  --strategy="$out/strategy.json" --emit=report
