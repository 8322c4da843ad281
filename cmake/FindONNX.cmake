# Finds ONNX's source package in the pinned Python environment that
# scripts/setup.sh makes, and defines
#   SOAP_PYTHON            its Python interpreter (onnx, onnxruntime, numpy, lit)
#   ONNX_SOURCE_DIR        the folder that contains onnx/onnx-ml.proto
#   ONNX_VERSION           its version
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
find_path(ONNX_SOURCE_DIR NAMES onnx/inliner/inliner.cc
  PATHS "${SOAP_PYTHON_ENV}/onnx-source" NO_DEFAULT_PATH)
set(ONNX_LIGHT_MODEL_DIR "${ONNX_SOURCE_DIR}/onnx/backend/test/data/light")
if(ONNX_SOURCE_DIR)
  file(STRINGS "${ONNX_SOURCE_DIR}/VERSION_NUMBER" ONNX_VERSION LIMIT_COUNT 1)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ONNX
  REQUIRED_VARS ONNX_SOURCE_DIR SOAP_PYTHON
  VERSION_VAR ONNX_VERSION
  REASON_FAILURE_MESSAGE
    "ONNX's source package is not in '${SOAP_PYTHON_ENV}': run scripts/setup.sh, or set SOAP_PYTHON_ENV")
mark_as_advanced(SOAP_PYTHON ONNX_SOURCE_DIR)
