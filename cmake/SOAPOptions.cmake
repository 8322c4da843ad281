# Compiler and linker settings shared by every SOAP target.

add_compile_options(-Wall -Wextra -Wno-unused-parameter)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  add_compile_options(-fcolor-diagnostics)
  # std::stable_sort of libstdc++ 12 uses what C++17 deprecates, which Clang says
  # wherever it is instantiated.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wno-deprecated-declarations>")
  # A precompiled header must not depend on time stamps, or ccache never hits.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()

if(SOAP_ENABLE_ASSERTIONS)
  add_compile_options(-UNDEBUG)
endif()

find_program(SOAP_LLD NAMES ld.lld-19 ld.lld HINTS "${LLVM_TOOLS_BINARY_DIR}")
if(SOAP_LLD)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    add_link_options("--ld-path=${SOAP_LLD}")
  else()
    add_link_options(-fuse-ld=lld)
  endif()
endif()

if(SOAP_SANITIZER)
  set(_sanitizers "${SOAP_SANITIZER}")
  if(SOAP_SANITIZER STREQUAL "address")
    set(_sanitizers "address,undefined")
    # LLVM and MLIR are not instrumented: type information of their classes is
    # not comparable.
    add_compile_options(-fno-sanitize=vptr,function)
  endif()
  # Instrumented loops are not vectorized, which need not be said.
  add_compile_options("-fsanitize=${_sanitizers}" -fno-omit-frame-pointer
                      -fno-sanitize-recover=undefined -Wno-pass-failed)
  add_link_options("-fsanitize=${_sanitizers}")
endif()
