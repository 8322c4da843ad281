# What is compiled again lies in sanitized/<folder> of the build folder; everything
# else is what the real programs are made of: a build of the compiler under a
# sanitizer takes as long as the compiler (presets asan, tsan).

# soap_sanitize(<folder> <sanitizers> <target> <kind>)
#
# Compiles the sources of a library again, as soap-<folder>-<target>.
function(soap_sanitize folder sanitizers original)
  set(name soap-${folder}-${original})
  get_target_property(sources ${original} SOURCES)
  get_target_property(directory ${original} SOURCE_DIR)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  list(TRANSFORM sources PREPEND "${directory}/" REGEX "^[^/]")
  add_library(${name} ${ARGN} EXCLUDE_FROM_ALL ${sources})
  # Without optimization, most of the time goes into headers: many sources of a
  # library are compiled as one, if that is done at all.
  get_target_property(unity ${original} UNITY_BUILD)
  set_target_properties(${name} PROPERTIES UNITY_BUILD "${unity}" UNITY_BUILD_BATCH_SIZE 24
    UNITY_BUILD_CODE_BEFORE_INCLUDE "#undef DEBUG_TYPE")
  target_include_directories(${name} PRIVATE
    $<TARGET_PROPERTY:${original},INCLUDE_DIRECTORIES>)
  target_include_directories(${name} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
  target_compile_definitions(${name} PRIVATE
    $<TARGET_PROPERTY:${original},COMPILE_DEFINITIONS>)
  soap_sanitize_target(${name} "${sanitizers}")
  add_dependencies(${name} soap-runtime-schema soap-headers)
  set_target_properties(${name} PROPERTIES OUTPUT_NAME ${original}
    LIBRARY_OUTPUT_DIRECTORY "${SOAP_BINARY_DIR}/sanitized/${folder}/lib")
endfunction()

# Optimization would double the time that instrumented code takes to build; what
# is run of it takes seconds.
function(soap_sanitize_target name sanitizers)
  target_compile_options(${name} PRIVATE "-fsanitize=${sanitizers}"
    -fno-omit-frame-pointer -O0 -gline-tables-only
    -fno-sanitize-recover=undefined)
  target_link_options(${name} PRIVATE "-fsanitize=${sanitizers}")
endfunction()

# soap_sanitize_runtime(<folder> <sanitizers>)
#
# The runtime and the plug-in of the CPU.
function(soap_sanitize_runtime folder sanitizers)
  soap_sanitize(${folder} "${sanitizers}" SOAPRuntime SHARED)
  target_link_libraries(soap-${folder}-SOAPRuntime PRIVATE SOAPRuntimeSchema
    nlohmann_json::nlohmann_json Threads::Threads ${CMAKE_DL_LIBS})
  soap_sanitize(${folder} "${sanitizers}" SOAPBackendCPU MODULE)
  # Loops in vectors are those of the backend itself: instrumented, they take
  # minutes to compile.
  target_link_libraries(soap-${folder}-SOAPBackendCPU PRIVATE
    soap-${folder}-SOAPRuntime SOAPRuntimeSchema SOAPVectorLoops
    oneDNN::oneDNN ${CMAKE_DL_LIBS})
endfunction()

# soap_add_sanitized_program(<folder> <sanitizers> <original>
#   [OBJECTS library...] [FILES library...] [LIBRARIES library...])
#
# A program under a sanitizer: its own sources and those of OBJECTS are compiled
# again. FILES are linked as files, where a target would bring the other runtime
# along.
function(soap_add_sanitized_program folder sanitizers original)
  cmake_parse_arguments(ARG "" "" "OBJECTS;FILES;LIBRARIES" ${ARGN})
  set(name soap-${folder}-${original})
  get_target_property(sources ${original} SOURCES)
  get_target_property(directory ${original} SOURCE_DIR)
  list(TRANSFORM sources PREPEND "${directory}/" REGEX "^[^/]")
  # Objects stand before the archives: the linker takes their definitions.
  foreach(library IN LISTS ARG_OBJECTS)
    if(NOT TARGET soap-${folder}-${library})
      soap_sanitize(${folder} "${sanitizers}" ${library} OBJECT)
    endif()
    list(APPEND sources "$<TARGET_OBJECTS:soap-${folder}-${library}>")
  endforeach()
  add_executable(${name} EXCLUDE_FROM_ALL ${sources})
  soap_sanitize_target(${name} "${sanitizers}")
  foreach(library IN LISTS ARG_FILES)
    target_link_libraries(${name} PRIVATE $<TARGET_FILE:${library}>)
    add_dependencies(${name} ${library})
  endforeach()
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES}
    soap-${folder}-SOAPRuntime)
  target_include_directories(${name} PRIVATE "${SOAP_SOURCE_DIR}/include"
    $<TARGET_PROPERTY:${original},INCLUDE_DIRECTORIES>)
  target_compile_definitions(${name} PRIVATE
    $<TARGET_PROPERTY:${original},COMPILE_DEFINITIONS>)
  add_dependencies(${name} soap-headers soap-${folder}-SOAPBackendCPU)
  set_target_properties(${name} PROPERTIES OUTPUT_NAME ${original}
    RUNTIME_OUTPUT_DIRECTORY
    "${SOAP_BINARY_DIR}/sanitized/${folder}/unittests")
endfunction()
