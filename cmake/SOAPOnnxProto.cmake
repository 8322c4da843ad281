# Target SOAPOnnxProto: the C++ classes of the ONNX schema, header
# onnx/onnx-ml.pb.h, generated from the schema in the pip package.
set(_out "${SOAP_BINARY_DIR}/proto")
file(MAKE_DIRECTORY "${_out}")
add_custom_command(
  OUTPUT "${_out}/onnx/onnx-ml.pb.cc" "${_out}/onnx/onnx-ml.pb.h"
  COMMAND protobuf::protoc "--proto_path=${ONNX_PROTO_ROOT}" "--cpp_out=${_out}"
          onnx/onnx-ml.proto
  DEPENDS "${ONNX_PROTO_ROOT}/onnx/onnx-ml.proto"
  COMMENT "Generating the classes of the ONNX schema" VERBATIM)
add_library(SOAPOnnxProto STATIC
  "${_out}/onnx/onnx-ml.pb.cc" "${_out}/onnx/onnx-ml.pb.h")
target_include_directories(SOAPOnnxProto SYSTEM PUBLIC "$<BUILD_INTERFACE:${_out}>")
target_link_libraries(SOAPOnnxProto PUBLIC protobuf::libprotobuf)
target_compile_options(SOAPOnnxProto PRIVATE -w)
install(TARGETS SOAPOnnxProto EXPORT SOAPTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
