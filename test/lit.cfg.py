"""Configuration of the lit tests.

Features say what a machine may lack; a test that needs one says
`REQUIRES: <feature>` and is reported as unsupported elsewhere:
  cuda      a CUDA device and its driver
  cuda-stand-ins
            stand-ins for NVIDIA's libraries were built, and the CUDA backend
  mpi       mpirun, and the MPI transport was built
  host-names
            processes may have a host name of their own (unshare --uts)
  asan      programs are built with AddressSanitizer (ASAN_OPTIONS is set)
  small-disk
            a file system may be mounted in a namespace (unshare --mount)
  avx2, avx512_vnni
            the processor has AVX2, or AVX-512 with products of bytes
  python    the Python environment of scripts/setup.sh (onnx, numpy)
  soap-*    a tool of that name was built
  planted-faults, faulty-property-worker, faulty-unit-tests
            programs in which faults can be planted (SOAP_PLANTED_FAULTS)
  install   everything that is installed was built
  clang-format
  ptxas     the assembler of CUDA
"""

import os
import shutil
import subprocess

import lit.formats

config.name = "SOAP"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["CMakeLists.txt", "Inputs", "lib", "models", "onnx_backend", "zoo"]
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
config.substitutions.append(("%root", config.soap_src_root))
config.substitutions.append(("%build", config.soap_obj_root))
config.substitutions.append(("%cc", config.soap_cc))
config.substitutions.append(("%cxx", config.soap_cxx))
config.substitutions.append(("%clang-format", config.soap_clang_format))

for tool in ("soap-opt", "soap-translate", "soap-compile", "soap-compile-emulated",
             "soap-run"):
    if os.access(os.path.join(config.soap_tools_dir, tool), os.X_OK):
        config.available_features.add(tool)
if os.access(os.path.join(config.soap_tools_dir, "soap-compile-faulty"), os.X_OK):
    config.available_features.add("planted-faults")
if os.access(os.path.join(config.soap_obj_root, "test", "faults", "unittests",
                          "soap-property-worker"), os.X_OK):
    config.available_features.add("faulty-property-worker")
if os.access(os.path.join(config.soap_obj_root, "test", "faults", "unittests",
                          "SOAPSearchTests"), os.X_OK):
    config.available_features.add("faulty-unit-tests")
if shutil.which("mpirun") and os.path.exists(
    os.path.join(config.soap_obj_root, "lib", "libSOAPTransportMPI.so")
):
    config.available_features.add("mpi")
if shutil.which("unshare") and not subprocess.run(
    ["unshare", "--uts", "hostname", "probe"], capture_output=True
).returncode:
    config.available_features.add("host-names")
with open("/proc/cpuinfo") as processors:
    flags = processors.read().split()
    config.available_features.update({"avx2", "avx512_vnni"} & set(flags))
if "ASAN_OPTIONS" in os.environ:
    config.available_features.add("asan")
for unshare in ("unshare --mount", "unshare --map-root-user --mount"):
    small_disk = f"{unshare} sh {config.test_source_root}/tools/Inputs/small-disk.sh"
    if shutil.which("unshare") and not subprocess.run(
        [*small_disk.split(), "64k", os.path.join(config.soap_obj_root, "test", "small-disk"), "true"],
        capture_output=True,
    ).returncode:
        config.available_features.add("small-disk")
        config.substitutions.append(("%small-disk", small_disk))
        break
# As root, and with more processes than cores. What mpirun says itself about a
# process that failed is not tested.
config.environment["OMPI_ALLOW_RUN_AS_ROOT"] = "1"
config.environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
config.substitutions.append(
    ("%mpirun", "mpirun --quiet --oversubscribe --bind-to none -np")
)
stand_ins = os.path.join(config.soap_obj_root, "test", "cuda")
if os.path.exists(os.path.join(stand_ins, "libnvidia-ml.so.1")):
    config.available_features.add("cuda-stand-ins")
    config.substitutions.append(("%cuda-stand-ins", f"env LD_LIBRARY_PATH={stand_ins}"))
if os.path.exists("/dev/nvidiactl"):
    config.available_features.add("cuda")
ptxas = shutil.which("ptxas", path=os.pathsep.join(
    [config.environment["PATH"], "/usr/local/cuda/bin"]))
if ptxas:
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", ptxas))
if os.access(python, os.X_OK):
    config.available_features.add("python")
if os.access(config.soap_clang_format, os.X_OK):
    config.available_features.add("clang-format")
with open(os.path.join(config.soap_obj_root, "installed-files.txt")) as installed:
    if all(os.path.exists(path.strip()) for path in installed):
        config.available_features.add("install")
