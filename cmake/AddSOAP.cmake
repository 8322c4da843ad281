# Functions that declare SOAP's targets.
include(CMakeParseArguments)

# soap_sources_with_faults(<variable> <folder>)
# Sets `variable` to the sources under `folder` that know faults: they, or a
# header of theirs in lib, include PlantedFault.h.
function(soap_sources_with_faults variable folder)
  set(_include "#include \"(soap/Testing/PlantedFault.h")
  file(GLOB_RECURSE _headers CONFIGURE_DEPENDS "${folder}/*.h")
  foreach(_file IN LISTS _headers)
    file(STRINGS "${_file}" _found REGEX "${_include})")
    if(_found)
      get_filename_component(_name "${_file}" NAME)
      string(APPEND _include "|([A-Za-z/]*/)?${_name}")
    endif()
  endforeach()
  set(_sources "")
  file(GLOB_RECURSE _files CONFIGURE_DEPENDS "${folder}/*.cpp")
  foreach(_file IN LISTS _files)
    file(STRINGS "${_file}" _found REGEX "${_include})")
    if(_found)
      list(APPEND _sources "${_file}")
    endif()
  endforeach()
  set(${variable} "${_sources}" PARENT_SCOPE)
endfunction()

# soap_add_library(<name> <source>...
#   [LINK_LIBS <target>...] [DEPENDS <target>...] [SHARED] [MODULE])
# A library without MLIR: lib/Partition, lib/CostModel, lib/Search and the
# runtime. Installed and exported as SOAP::<name>.
function(soap_add_library name)
  cmake_parse_arguments(ARG "SHARED;MODULE" "" "LINK_LIBS;DEPENDS" ${ARGN})
  set(type STATIC)
  if(ARG_SHARED)
    set(type SHARED)
  elseif(ARG_MODULE)
    set(type MODULE)
  endif()
  add_library(${name} ${type} ${ARG_UNPARSED_ARGUMENTS})
  add_library(SOAP::${name} ALIAS ${name})
  # Where several sources are compiled as one (CMAKE_UNITY_BUILD). Those that
  # test/faults compiles again, in place of an object, stay objects of their own.
  soap_sources_with_faults(with_faults "${CMAKE_CURRENT_SOURCE_DIR}")
  set_source_files_properties(${with_faults} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set_target_properties(${name} PROPERTIES UNITY_BUILD_CODE_BEFORE_INCLUDE "#undef DEBUG_TYPE")
  target_include_directories(${name} PUBLIC
    "$<BUILD_INTERFACE:${SOAP_SOURCE_DIR}/include>"
    "$<BUILD_INTERFACE:${SOAP_BINARY_DIR}/include>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  install(TARGETS ${name} EXPORT SOAPTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  set_property(GLOBAL APPEND PROPERTY SOAP_INSTALLED "$<TARGET_FILE:${name}>")
endfunction()

# soap_link(<target> <library> <installed>...): a library of cmake/StaticLLVM.cmake;
# users of the installed target link to others in its place.
function(soap_link name library)
  get_target_property(type ${name} TYPE)
  if(type STREQUAL "EXECUTABLE")
    target_link_libraries(${name} PUBLIC ${library})
  else()
    target_link_libraries(${name} PUBLIC "$<BUILD_INTERFACE:${library}>")
    foreach(installed IN LISTS ARGN)
      target_link_libraries(${name} PUBLIC "$<INSTALL_INTERFACE:${installed}>")
    endforeach()
  endif()
endfunction()

# soap_use_llvm(<target>): LLVM's ADT and Support headers, linked to LLVM.
function(soap_use_llvm name)
  target_include_directories(${name} SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS})
  soap_link(${name} SOAPLinkLLVM LLVM)
endfunction()

# soap_use_mlir(<target>): MLIR's headers (precompiled), linked to MLIR and LLVM.
function(soap_use_mlir name)
  target_include_directories(${name} SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  soap_link(${name} SOAPLinkMLIR MLIR LLVM)
  if(SOAP_PRECOMPILED_HEADERS AND TARGET SOAPPrecompiledHeaders)
    target_precompile_headers(${name} REUSE_FROM SOAPPrecompiledHeaders)
    # Programs are compiled as the headers were: not with -fPIE.
    get_target_property(type ${name} TYPE)
    if(type STREQUAL "EXECUTABLE")
      target_compile_options(${name} PRIVATE -fPIC)
    endif()
  endif()
endfunction()

# soap_add_mlir_library(<name> <source>... [LINK_LIBS ...] [DEPENDS ...])
# A library over MLIR: dialects, passes, translations.
function(soap_add_mlir_library name)
  soap_add_library(${name} ${ARGN})
  soap_use_mlir(${name})
  add_dependencies(${name} soap-headers)
endfunction()

# soap_add_tool(<name> <source>... [LINK_LIBS ...])
function(soap_add_tool name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS})
  target_include_directories(${name} PRIVATE "${SOAP_SOURCE_DIR}/include" "${SOAP_BINARY_DIR}/include")
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  set_property(GLOBAL APPEND PROPERTY SOAP_INSTALLED "$<TARGET_FILE:${name}>")
endfunction()

# Tests compile more than twice as fast, and what they test is optimised.
set(SOAP_TEST_OPTIONS $<$<CONFIG:Release>:-O0>)

# soap_add_unittest(<name> <source>... [HEADERS MLIR|Runtime] [LINK_LIBS ...])
# A GoogleTest program. `check-soap-unit` runs them all. HEADERS names what is
# precompiled beside GoogleTest's headers.
function(soap_add_unittest name)
  cmake_parse_arguments(ARG "" "HEADERS" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} GTest::gtest_main)
  target_compile_options(${name} PRIVATE ${SOAP_TEST_OPTIONS})
  if(SOAP_PRECOMPILED_HEADERS)
    target_precompile_headers(${name} REUSE_FROM SOAP${ARG_HEADERS}TestHeaders)
  endif()
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${SOAP_BINARY_DIR}/unittests")
  add_test(NAME ${name} COMMAND ${name})
  set_property(GLOBAL APPEND PROPERTY SOAP_UNITTESTS ${name})
endfunction()
