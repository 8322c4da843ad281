# `cmake --install` and `find_package(SOAP)`.
include(CMakePackageConfigHelpers)
set(SOAP_CMAKE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/SOAP")
install(DIRECTORY include/soap DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.fbs"
  PATTERN "*.def")
install(DIRECTORY "${SOAP_BINARY_DIR}/include/soap" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.inc" PATTERN "CMakeFiles" EXCLUDE)
install(EXPORT SOAPTargets NAMESPACE SOAP:: DESTINATION ${SOAP_CMAKE_DIR})
configure_package_config_file(cmake/SOAPConfig.cmake.in
  "${SOAP_BINARY_DIR}/SOAPConfig.cmake" INSTALL_DESTINATION ${SOAP_CMAKE_DIR})
write_basic_package_version_file("${SOAP_BINARY_DIR}/SOAPConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${SOAP_BINARY_DIR}/SOAPConfig.cmake" "${SOAP_BINARY_DIR}/SOAPConfigVersion.cmake"
  DESTINATION ${SOAP_CMAKE_DIR})

# What has to be built before an installation; its test asks.
get_property(_installed GLOBAL PROPERTY SOAP_INSTALLED)
string(REPLACE ";" "\n" _installed "${_installed}")
file(GENERATE OUTPUT "${SOAP_BINARY_DIR}/installed-files.txt" CONTENT "${_installed}\n")
