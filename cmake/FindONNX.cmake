# Finds the ONNX schema and the "light" test models of the pinned pip
# environment that scripts/setup.sh makes, and defines
#   SOAP_PYTHON            its Python interpreter (onnx, onnxruntime, numpy, lit)
#   ONNX_PROTO_ROOT        the folder that contains onnx/onnx-ml.proto
#   ONNX_LIGHT_MODEL_DIR   light_resnet50.onnx and the other light models
# A git worktree without an environment of its own takes the one of the main
# checkout.
set(_environment "${SOAP_SOURCE_DIR}/build/venv")
if(NOT EXISTS "${_environment}" AND EXISTS "${SOAP_SOURCE_DIR}/.git"
   AND NOT IS_DIRECTORY "${SOAP_SOURCE_DIR}/.git")
  execute_process(COMMAND git rev-parse --path-format=absolute --git-common-dir
    WORKING_DIRECTORY "${SOAP_SOURCE_DIR}" OUTPUT_VARIABLE _common
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(EXISTS "${_common}/../build/venv")
    get_filename_component(_environment "${_common}/../build/venv" ABSOLUTE)
  endif()
endif()
set(SOAP_PYTHON_ENV "${_environment}" CACHE PATH "Python environment made by scripts/setup.sh")

find_program(SOAP_PYTHON NAMES python3 PATHS "${SOAP_PYTHON_ENV}/bin" NO_DEFAULT_PATH)
file(GLOB _site_packages "${SOAP_PYTHON_ENV}/lib/python3*/site-packages")
find_path(ONNX_PROTO_ROOT NAMES onnx/onnx-ml.proto PATHS ${_site_packages} NO_DEFAULT_PATH)
set(ONNX_LIGHT_MODEL_DIR "${ONNX_PROTO_ROOT}/onnx/backend/test/data/light")

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ONNX
  REQUIRED_VARS ONNX_PROTO_ROOT SOAP_PYTHON
  REASON_FAILURE_MESSAGE
    "the ONNX schema is not in '${SOAP_PYTHON_ENV}': run scripts/setup.sh, or set SOAP_PYTHON_ENV")
mark_as_advanced(SOAP_PYTHON ONNX_PROTO_ROOT)
