# `format`, `format-check` and `tidy` targets (version 19 tools).
find_program(SOAP_CLANG_FORMAT NAMES clang-format-19 clang-format)
find_program(SOAP_CLANG_TIDY NAMES clang-tidy-19 clang-tidy)
find_program(SOAP_RUN_CLANG_TIDY NAMES run-clang-tidy-19 run-clang-tidy)
file(GLOB_RECURSE SOAP_SOURCES CONFIGURE_DEPENDS
  include/*.h lib/*.h lib/*.cpp test/*.h test/*.cpp tools/*.h tools/*.cpp unittests/*.h unittests/*.cpp
  benchmarks/*.h benchmarks/*.cpp)
if(SOAP_CLANG_FORMAT)
  add_custom_target(format COMMAND ${SOAP_CLANG_FORMAT} -i ${SOAP_SOURCES}
    WORKING_DIRECTORY ${SOAP_SOURCE_DIR} VERBATIM)
  add_custom_target(format-check COMMAND ${SOAP_CLANG_FORMAT} --dry-run -Werror ${SOAP_SOURCES}
    WORKING_DIRECTORY ${SOAP_SOURCE_DIR} VERBATIM)
endif()
if(SOAP_RUN_CLANG_TIDY AND SOAP_CLANG_TIDY)
  add_custom_target(tidy
    COMMAND ${SOAP_SOURCE_DIR}/scripts/tidy.py --build=${SOAP_BINARY_DIR}
      --clang-tidy=${SOAP_CLANG_TIDY} --run-clang-tidy=${SOAP_RUN_CLANG_TIDY}
    VERBATIM USES_TERMINAL)
endif()
