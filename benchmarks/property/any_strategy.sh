#!/usr/bin/env bash
# The property test at length: 20,000 cases, 5,000 of training, then 1,000 each
# under the address and the thread sanitizer. Ends with 1 if one of them is wrong.
#
#   benchmarks/property/any_strategy.sh [--seed=N] [--jobs=N]
set -euo pipefail
cd "$(dirname "$0")/../.."
python=build/venv/bin/python
source test/property/sanitizers.sh
status=0
cmake --build build/release --target soap-property-worker soap-translate
"$python" test/property/run.py --build-dir=build/release --cases=20000 --seed=1000 \
  "$@" || status=1
"$python" test/property/train.py --build-dir=build/release --cases=5000 --seed=1000 \
  || status=1
cmake --build build/release --target soap-sanitized-workers
# The address sanitizer sees the whole compiler here.
cmake --preset asan
cmake --build build/asan --target soap-property-worker
for folder in build/asan build/release/sanitized/asan build/release/sanitized/tsan; do
  echo "== $folder"
  "$python" test/property/run.py "--build-dir=$folder" --cases=1000 --seed=1001 \
    --allow-missing "$@" || status=1
done
exit $status
