# soap_add_sanitized_worker(<folder> <sanitizers> [library...])
#
# A soap-property-worker under a sanitizer, in sanitized/<folder> of the build
# folder: the runtime, its plug-in and the worker are compiled again, and the
# given libraries without MLIR. Everything else is what the real programs are made
# of: a build of the compiler under a sanitizer takes as long as the compiler
# (presets asan, tsan).
function(soap_add_sanitized_worker folder sanitizers)
  # Instrumented loops are not vectorized, which need not be said.
  set(options "-fsanitize=${sanitizers}" -fno-omit-frame-pointer -O1
    -gline-tables-only -fno-sanitize-recover=undefined -Wno-pass-failed)
  set(output "${SOAP_BINARY_DIR}/sanitized/${folder}")

  # <name>: the target <original> with these options.
  function(sanitize name original)
    get_target_property(sources ${original} SOURCES)
    get_target_property(directory ${original} SOURCE_DIR)
    list(FILTER sources INCLUDE REGEX "\\.cpp$")
    list(TRANSFORM sources PREPEND "${directory}/" REGEX "^[^/]")
    add_library(${name} ${ARGN} EXCLUDE_FROM_ALL ${sources})
    target_include_directories(${name} PRIVATE
      $<TARGET_PROPERTY:${original},INCLUDE_DIRECTORIES>)
    target_include_directories(${name} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
    target_compile_definitions(${name} PRIVATE
      $<TARGET_PROPERTY:${original},COMPILE_DEFINITIONS>)
    target_compile_options(${name} PRIVATE ${options})
    target_link_options(${name} PRIVATE "-fsanitize=${sanitizers}")
    add_dependencies(${name} soap-runtime-schema)
    set_target_properties(${name} PROPERTIES
      OUTPUT_NAME ${original} LIBRARY_OUTPUT_DIRECTORY "${output}/lib")
  endfunction()

  set(runtime soap-${folder}-runtime)
  sanitize(${runtime} SOAPRuntime SHARED)
  target_link_libraries(${runtime} PRIVATE SOAPRuntimeSchema
    nlohmann_json::nlohmann_json Threads::Threads ${CMAKE_DL_LIBS})
  sanitize(soap-${folder}-backend SOAPBackendCPU MODULE)
  target_link_libraries(soap-${folder}-backend PRIVATE ${runtime}
    SOAPRuntimeSchema oneDNN::oneDNN ${CMAKE_DL_LIBS})

  # Objects stand before the archives: the linker takes their definitions.
  set(objects)
  foreach(library IN LISTS ARGN)
    sanitize(soap-${folder}-${library} ${library} OBJECT)
    list(APPEND objects "$<TARGET_OBJECTS:soap-${folder}-${library}>")
  endforeach()
  set(worker soap-${folder}-property-worker)
  add_executable(${worker} EXCLUDE_FROM_ALL soap-property-worker.cpp ${objects})
  target_compile_options(${worker} PRIVATE ${options})
  target_link_options(${worker} PRIVATE "-fsanitize=${sanitizers}")
  # As files where a target would bring the other runtime along.
  target_link_libraries(${worker} PRIVATE $<TARGET_FILE:SOAPTestProperty>
    $<TARGET_FILE:SOAPTestEmulatedTarget>
    $<TARGET_FILE:SOAPTargetCPU> $<TARGET_FILE:SOAPCalibration> SOAPTargetModel
    SOAPTargetONNX SOAPPipelines SOAPVerification ${runtime})
  target_include_directories(${worker} PRIVATE "${SOAP_SOURCE_DIR}/include")
  add_dependencies(${worker} soap-headers SOAPTestProperty
    SOAPTestEmulatedTarget SOAPTargetCPU SOAPCalibration
    soap-${folder}-backend)
  set_target_properties(${worker} PROPERTIES
    OUTPUT_NAME soap-property-worker
    RUNTIME_OUTPUT_DIRECTORY "${output}/unittests")
endfunction()
