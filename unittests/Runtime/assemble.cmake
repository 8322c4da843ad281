# Runs PROGRAM over the stand-in for CUDA's driver with `--gtest_filter=FILTER`,
# and has PTXAS assemble all PTX that it has loaded, for all of ARCHITECTURES,
# which are separated by commas.
string(REPLACE "," ";" ARCHITECTURES "${ARCHITECTURES}")
file(REMOVE_RECURSE "${FOLDER}")
file(MAKE_DIRECTORY "${FOLDER}")
execute_process(
  COMMAND "${CMAKE_COMMAND}" -E env "SOAP_CUDA_PTX=${FOLDER}"
    "${PROGRAM}" "--gtest_filter=${FILTER}"
  COMMAND_ERROR_IS_FATAL ANY)
file(GLOB texts "${FOLDER}/*.ptx")
if(NOT texts)
  message(FATAL_ERROR "no PTX was loaded")
endif()
foreach(text IN LISTS texts)
  foreach(architecture IN LISTS ARCHITECTURES)
    execute_process(
      COMMAND "${PTXAS}" "-arch=${architecture}" "${text}" -o "${text}.${architecture}"
      COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endforeach()
