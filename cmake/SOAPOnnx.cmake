# ONNX itself, from its source package (ONNX_SOURCE_DIR), as two targets.
#   SOAPOnnxProto  the C++ classes of its files, header onnx/onnx-ml.pb.h
#   SOAPOnnx       the standard in C++: schemas of all operators, bodies of the
#                  functions, checker, inliner, shape inference, version
#                  converter; headers onnx/defs/schema.h and others.
# ONNX's own CMake project is not used: it asks for a newer CMake than Debian's,
# and would compile the classes a second time.
set(_out "${SOAP_BINARY_DIR}/proto")
file(MAKE_DIRECTORY "${_out}/onnx/common")
set(_classes)
foreach(_proto onnx-ml onnx-operators-ml onnx-data)
  add_custom_command(
    OUTPUT "${_out}/onnx/${_proto}.pb.cc" "${_out}/onnx/${_proto}.pb.h"
    COMMAND protobuf::protoc "--proto_path=${ONNX_SOURCE_DIR}" "--cpp_out=${_out}"
            "onnx/${_proto}.proto"
    DEPENDS "${ONNX_SOURCE_DIR}/onnx/${_proto}.proto" "${ONNX_SOURCE_DIR}/onnx/onnx-ml.proto"
    COMMENT "Generating the classes of ${_proto}.proto" VERBATIM)
  list(APPEND _classes "${_out}/onnx/${_proto}.pb.cc" "${_out}/onnx/${_proto}.pb.h")
endforeach()
add_library(SOAPOnnxProto STATIC ${_classes})
target_include_directories(SOAPOnnxProto SYSTEM PUBLIC "$<BUILD_INTERFACE:${_out}>")
target_link_libraries(SOAPOnnxProto PUBLIC protobuf::libprotobuf)
target_compile_options(SOAPOnnxProto PRIVATE -w)

string(REGEX MATCH "^([0-9]+)\\.([0-9]+)\\.([0-9]+)" _ "${ONNX_VERSION}")
set(ONNX_VERSION_MAJOR "${CMAKE_MATCH_1}")
set(ONNX_VERSION_MINOR "${CMAKE_MATCH_2}")
set(ONNX_VERSION_PATCH "${CMAKE_MATCH_3}")
configure_file("${ONNX_SOURCE_DIR}/onnx/common/version.h.in"
               "${_out}/onnx/common/version.h" @ONLY)
file(GLOB_RECURSE _sources "${ONNX_SOURCE_DIR}/onnx/common/*.cc"
  "${ONNX_SOURCE_DIR}/onnx/defs/*.cc" "${ONNX_SOURCE_DIR}/onnx/inliner/*.cc"
  "${ONNX_SOURCE_DIR}/onnx/shape_inference/*.cc"
  "${ONNX_SOURCE_DIR}/onnx/version_converter/*.cc")
add_library(SOAPOnnx STATIC "${ONNX_SOURCE_DIR}/onnx/checker.cc" ${_sources})
target_include_directories(SOAPOnnx SYSTEM PUBLIC "$<BUILD_INTERFACE:${ONNX_SOURCE_DIR}>")
# Schemas are registered when the importer asks for the first one, not whenever
# a program starts; without their documentation that takes half the time.
target_compile_definitions(SOAPOnnx
  PUBLIC ONNX_NAMESPACE=onnx ONNX_ML=1 __ONNX_DISABLE_STATIC_REGISTRATION
         __ONNX_NO_DOC_STRINGS)
target_compile_options(SOAPOnnx PRIVATE -w)
target_link_libraries(SOAPOnnx PUBLIC SOAPOnnxProto)
# Its sources do not compile as one (CMAKE_UNITY_BUILD).
set_target_properties(SOAPOnnxProto SOAPOnnx PROPERTIES UNITY_BUILD OFF)

install(TARGETS SOAPOnnxProto SOAPOnnx EXPORT SOAPTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
