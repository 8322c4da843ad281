#!/usr/bin/env bash
# Configures build/PRESET, as `cmake --preset PRESET` does. A folder that is not there
# yet will compile several sources of a library as one, which takes about half the time
# of compiling each. Who changes sources often configures a folder of his own, without
# CMAKE_UNITY_BUILD: then only what changed is compiled again.
#
#   scripts/configure.sh PRESET [OPTION OF CMAKE...]
set -euo pipefail
cd "$(dirname "$0")/.."
case "${1:-}" in
  ""|-h|--help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit $(($# == 0 ? 2 : 0)) ;;
esac
preset="$1"
shift
unity=()
[ -f "build/$preset/CMakeCache.txt" ] ||
  unity=(-DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=6)
exec cmake --preset "$preset" "${unity[@]}" "$@"
