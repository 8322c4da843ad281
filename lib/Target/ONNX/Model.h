//===- Model.h - An ONNX file, opened and checked ---------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TARGET_ONNX_MODEL_H
#define SOAP_LIB_TARGET_ONNX_MODEL_H

#include "Standard.h"
#include "Tensor.h"
#include "soap/Dialect/NN/IR/Files.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace soap::onnx_import {

/// The operator sets that the importer was written for.
inline constexpr int64_t minOpset = 1, maxOpset = 27;

/// An ONNX file mapped into memory. Weights are neither copied nor read.
class Model {
public:
  /// Opens and checks `path`: well-formed, one graph, a supported version of
  /// the default operator set, external data inside the model's folder.
  static llvm::Expected<std::unique_ptr<Model>> load(llvm::StringRef path,
                                                     const nn::Files &files);

  /// The graph without initializers (and without their copies in nodes'
  /// attributes, see constantTensor()).
  const onnx::GraphProto &graph() const { return graph_; }
  llvm::ArrayRef<TensorRecord> initializers() const { return tensors_; }
  /// The model's operator sets; the default one is within the bounds above.
  const OperatorSets &operatorSets() const { return sets_; }
  /// The function of the model itself that `node` calls, or null.
  const onnx::FunctionProto *findFunction(const onnx::NodeProto &node) const;

  /// The tensor attribute `name` of node `index`, with its place in the file.
  llvm::Expected<TensorRecord> tensorAttribute(int index,
                                               llvm::StringRef name) const;
  /// Where the data of a tensor is, or nullopt if it is only in its proto.
  /// Checks the length against shape and type.
  llvm::Expected<std::optional<DataReference>>
  locate(const TensorRecord &record) const;
  /// The values of a small tensor.
  llvm::Expected<HostTensor> read(const TensorRecord &record) const;
  /// `length` bytes of a file from `offset`, at most 64 KiB * 8.
  static llvm::Expected<std::string> readBytes(const nn::Files &files,
                                               const DataReference &reference);
  const nn::Files &files() const { return files_; }

private:
  explicit Model(const nn::Files &files) : files_(files) {}
  llvm::Error decode();
  llvm::Error addInitializer(llvm::StringRef message);
  /// Fills `record.external` from TensorProto.external_data.
  llvm::Error resolveExternal(TensorRecord &record) const;

  const nn::Files &files_;
  std::string path_;
  std::unique_ptr<llvm::MemoryBuffer> buffer_;
  onnx::ModelProto header_; ///< Everything but the graph.
  onnx::GraphProto graph_;
  std::vector<TensorRecord> tensors_;
  std::vector<llvm::StringRef> nodeBytes_;
  OperatorSets sets_;
  llvm::StringMap<int> functions_; ///< Index in the header, by name.
};

} // namespace soap::onnx_import

#endif // SOAP_LIB_TARGET_ONNX_MODEL_H
