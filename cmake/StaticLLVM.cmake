# How programs are linked to LLVM and MLIR: to their shared libraries or, after
# soap_link_llvm_statically, to their archives. The dynamic linker writes some ten
# megabytes of addresses whenever a program with the shared libraries starts, which
# takes longer than many a compilation. One with the archives has its addresses from
# the linker, since it is not position independent. soap-opt stays with the shared
# libraries: plug-ins of passes and dialects are linked to them, too.

set(_archives "")
get_property(_libraries GLOBAL PROPERTY MLIR_ALL_LIBS)
foreach(_library IN LISTS _libraries LLVM_AVAILABLE_LIBS)
  set(_archive "${LLVM_LIBRARY_DIR}/${CMAKE_STATIC_LIBRARY_PREFIX}${_library}${CMAKE_STATIC_LIBRARY_SUFFIX}")
  if(EXISTS "${_archive}")
    list(APPEND _archives "${_archive}")
  endif()
endforeach()
# What LLVM's Support calls. Debian has libzstd.so for developers in another package.
find_library(SOAP_ZSTD_LIBRARY NAMES zstd libzstd.so.1)
find_library(SOAP_ZLIB_LIBRARY NAMES z)
find_library(SOAP_TINFO_LIBRARY NAMES tinfo ncurses)
if("${LLVM_LIBRARY_DIR}/libMLIRIR.a" IN_LIST _archives AND SOAP_ZSTD_LIBRARY AND SOAP_ZLIB_LIBRARY
    AND SOAP_TINFO_LIBRARY AND NOT SOAP_SANITIZER)
  set(_static ON)
else()
  set(_static OFF)
endif()
option(SOAP_STATIC_LLVM "Link the archives of LLVM and MLIR into the programs" ${_static})

# An archive may need any other one.
add_library(SOAPStaticLLVM INTERFACE)
target_link_libraries(SOAPStaticLLVM INTERFACE
  -Wl,--start-group ${_archives} -Wl,--end-group
  ${SOAP_ZSTD_LIBRARY} ${SOAP_ZLIB_LIBRARY} ${SOAP_TINFO_LIBRARY} Threads::Threads ${CMAKE_DL_LIBS})

# The property is that of the program.
set(_of_program "$<BOOL:$<TARGET_PROPERTY:SOAP_STATIC_LLVM>>")
add_library(SOAPLinkLLVM INTERFACE)
target_link_libraries(SOAPLinkLLVM INTERFACE "$<IF:${_of_program},SOAPStaticLLVM,LLVM>")
add_library(SOAPLinkMLIR INTERFACE)
target_link_libraries(SOAPLinkMLIR INTERFACE "$<$<NOT:${_of_program}>:MLIR>" SOAPLinkLLVM)

# soap_link_llvm_statically(<program>)
function(soap_link_llvm_statically name)
  if(SOAP_STATIC_LLVM)
    set_target_properties(${name} PROPERTIES SOAP_STATIC_LLVM ON)
    target_link_options(${name} PRIVATE -no-pie -Wl,--gc-sections)
  endif()
endfunction()
