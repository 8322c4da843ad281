# Finds oneDNN (library `dnnl`) and defines the target oneDNN::oneDNN. The
# config file of some distributions asks for OpenCL's development files, which
# the CPU engine does not need.
find_path(oneDNN_INCLUDE_DIR NAMES oneapi/dnnl/dnnl.hpp)
find_library(oneDNN_LIBRARY NAMES dnnl)
if(oneDNN_INCLUDE_DIR)
  file(STRINGS "${oneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h" _lines
    REGEX "#define DNNL_VERSION_(MAJOR|MINOR|PATCH) [0-9]+")
  list(TRANSFORM _lines REPLACE "[^0-9]+" "")
  list(JOIN _lines "." oneDNN_VERSION)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(oneDNN
  REQUIRED_VARS oneDNN_LIBRARY oneDNN_INCLUDE_DIR VERSION_VAR oneDNN_VERSION)
if(oneDNN_FOUND AND NOT TARGET oneDNN::oneDNN)
  add_library(oneDNN::oneDNN UNKNOWN IMPORTED)
  set_target_properties(oneDNN::oneDNN PROPERTIES
    IMPORTED_LOCATION "${oneDNN_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${oneDNN_INCLUDE_DIR}")
endif()
