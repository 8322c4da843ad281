#!/usr/bin/env bash
# Sets up what is missing, builds, runs every test.
# The last line is `N passed, N failed, N skipped`, summed from the runners' own
# reports. Exit status 0 only if nothing failed.
#
#   scripts/test.sh [--preset=NAME] [--no-setup] [--warnings-are-errors]
#                   [--only=unit|lit|models|zoo|onnx|property|sanitizers]
set -euo pipefail
# Strategies that tests search must not depend on the machine.
export SOAP_CALIBRATION_DIR=
cd "$(dirname "$0")/.."

preset=release
setup=1
options=()
only=
for arg in "$@"; do
  case "$arg" in
    --preset=*) preset="${arg#*=}" ;;
    --no-setup) setup=0 ;;
    --warnings-are-errors) options+=(-DCMAKE_COMPILE_WARNING_AS_ERROR=ON) ;;
    --only=*) only="${arg#*=}" ;;
    -h|--help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "error: unknown argument '$arg'; see scripts/test.sh --help" >&2; exit 2 ;;
  esac
done

build="build/$preset"
source test/property/sanitizers.sh
venv="$PWD/build/venv"
[ "$setup" = 0 ] || scripts/setup.sh
scripts/configure.sh "$preset" "${options[@]}"
cmake --build "$build"

reports="$build/test-reports"
rm -rf "$reports"
mkdir -p "$reports"
status=0
wants() { [ -z "$only" ] || [ "$only" = "$1" ]; }

# A runner that ends without a report counts as one failure.
run() { # run NAME REPORT COMMAND...
  local name="$1" report="$2"
  shift 2
  echo "== $name"
  "$@" || status=1
  [ -s "$report" ] || printf '<testsuite name="%s"><testcase classname="%s" name="report"><failure/></testcase></testsuite>\n' \
    "$name" "$name" > "$report"
}

# Parts that are mostly busy with one core run in pairs: SECOND writes into a log
# meanwhile, which is shown when both have ended.
pair() { # pair FIRST SECOND
  local log="$reports/$2.log" beside
  set -m # A process group of its own, to end it together with this script.
  (status=0; "$2"; exit "$status") > "$log" 2>&1 &
  beside=$!
  set +m
  trap 'kill -- "-$beside" 2> /dev/null || true' EXIT
  "$1"
  wait "$beside" || status=1
  trap - EXIT
  cat "$log"
}

# One program of unit tests, or all examples and other programs that are a test as
# a whole.
unit() { # unit NAME
  local report="$reports/$1.xml"
  if [ "$1" = examples ]; then
    run examples "$report" ctest --test-dir "$build" --exclude-regex 'Tests$' \
      --parallel 2 --output-on-failure --output-junit "$PWD/$report"
  else
    run "$1" "$report" "$build/unittests/$1" --gtest_brief=1 "--gtest_output=xml:$report"
  fi
}
# They have at most one core each, and some mostly wait: three run at a time, the
# examples two of them, and what one prints is shown when it has ended.
logged_unit() {
  local log="$reports/$1.log" status=0
  unit "$1" > "$log" 2>&1
  flock "$reports" cat "$log"
  return $status
}
if wants unit; then
  export -f run unit logged_unit
  export build reports
  { echo examples; find "$build/unittests" -maxdepth 1 -name '*Tests' -printf '%f\n' | sort; } |
    xargs -P 3 -I{} bash -c 'logged_unit "$1"' _ {} || status=1
fi
if wants lit; then
  run lit "$reports/lit.xml" "$venv/bin/python" /usr/lib/llvm-19/build/utils/lit/lit.py -sv \
    --xunit-xml-output="$reports/lit.xml" "$build/test"
fi
models() {
  run models "$reports/models.xml" "$venv/bin/python" -m pytest -q test/models \
    "--build-dir=$build" "--junitxml=$reports/models.xml"
}
onnx() {
  run onnx_backend "$reports/onnx_backend.xml" "$venv/bin/python" -m pytest -q \
    test/onnx_backend "--build-dir=$build" "--junitxml=$reports/onnx_backend.xml"
}
zoo() {
  run zoo "$reports/zoo.xml" "$venv/bin/python" -m pytest -q test/zoo \
    "--build-dir=$build" "--junitxml=$reports/zoo.xml"
}
networks() {
  onnx
  zoo
}
case "$only" in
  "") pair models networks ;;
  models|onnx|zoo) "$only" ;;
esac
property() { # property BUILD NAME [OPTION...]
  local folder="$1" name="$2" program=run
  shift 2
  case "$name" in *training) program=train ;; esac
  run "$name" "$reports/$name.xml" "$venv/bin/python" "test/property/$program.py" \
    "--build-dir=$folder" "--junitxml=$reports/$name.xml" "$@"
}
if wants property; then
  property "$build" property --cases=1000
  property "$build" property-training --cases=300
  # On the emulated accelerator, other graphs.
  SOAP_TEST_TARGET=emulated SOAP_EMULATED_SEED=3 \
    property "$build" property-emulated --cases=100 --seed=3 --allow-missing
fi
# The same under sanitizers: the runtime and what the compiler computes with.
if wants sanitizers && [ "$preset" = release ]; then
  cmake --build "$build" --target soap-sanitized-workers || status=1
  for sanitizer in asan tsan; do
    property "$build/sanitized/$sanitizer" "property-$sanitizer" --cases=50 --seed=2 \
      --allow-missing
  done
fi

"$venv/bin/python" scripts/summarize_tests.py "$reports"/*.xml || status=1
exit $status
