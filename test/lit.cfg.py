"""Configuration of the lit tests.

Features say what a machine may lack; a test that needs one says
`REQUIRES: <feature>` and is reported as unsupported elsewhere:
  cuda      a CUDA device and its driver
  mpi       mpirun
  python    the Python environment of scripts/setup.sh (onnx, numpy)
  soap-*    a tool of that name was built
"""

import os
import shutil

import lit.formats

config.name = "SOAP"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["CMakeLists.txt", "Inputs", "lib", "models"]
config.test_source_root = os.path.dirname(__file__)

config.environment["PATH"] = os.pathsep.join(
    [config.soap_tools_dir, config.llvm_tools_dir, config.environment["PATH"]]
)
for variable in ("HOME", "TMPDIR", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]

# Simulated times must not depend on the machine.
config.environment["SOAP_CALIBRATION_DIR"] = ""

python = os.path.join(config.soap_python_env, "bin", "python")
config.substitutions.append(("%python", python))
config.substitutions.append(("%scripts", os.path.join(config.soap_src_root, "scripts")))

for tool in ("soap-opt", "soap-translate", "soap-compile", "soap-run"):
    if os.access(os.path.join(config.soap_tools_dir, tool), os.X_OK):
        config.available_features.add(tool)
if shutil.which("mpirun"):
    config.available_features.add("mpi")
if os.path.exists("/dev/nvidiactl"):
    config.available_features.add("cuda")
if os.access(python, os.X_OK):
    config.available_features.add("python")
