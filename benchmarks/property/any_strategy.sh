#!/usr/bin/env bash
# The property test at length: 20,000 cases, then 1,000 each under the address
# and the thread sanitizer. Ends with 1 if one of them is wrong.
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
for sanitizer in asan tsan; do
  cmake --preset "$sanitizer"
  cmake --build "build/$sanitizer" --target soap-property-worker
  echo "== $sanitizer"
  "$python" test/property/run.py "--build-dir=build/$sanitizer" --cases=1000 \
    --seed=1001 --allow-missing "$@" || status=1
done
exit $status
