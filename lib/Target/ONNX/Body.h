//===- Body.h - Nodes that take the place of a node -------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators that are several others, and for which ONNX has no function body,
// are written as ONNX nodes of operator set 18. These are imported, and folded,
// as those of a model.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TARGET_ONNX_BODY_H
#define SOAP_LIB_TARGET_ONNX_BODY_H

#include "NodeContext.h"
#include <variant>

namespace soap::onnx_import {

/// Builds the body of one node. Tensors are names, as in an ONNX graph.
class Body {
public:
  struct Attribute {
    llvm::StringRef name;
    std::variant<int64_t, float, llvm::SmallVector<int64_t>, std::string> value;
  };

  explicit Body(NodeContext &node) : node_(node) {}

  /// Operand i of the node; empty if it is left out.
  std::string input(size_t i) const;

  /// The result of a node.
  std::string add(llvm::StringRef op, llvm::ArrayRef<std::string> operands,
                  llvm::ArrayRef<Attribute> attributes = {});

  /// Constants: a list of integers, one integer, and numbers of the element
  /// type of the node's operand 0.
  std::string integers(llvm::ArrayRef<int64_t> values);
  std::string integers(llvm::ArrayRef<int64_t> shape,
                       llvm::ArrayRef<int64_t> values);
  std::string integer(int64_t value);
  std::string number(double value);
  std::string numbers(llvm::ArrayRef<int64_t> shape,
                      llvm::ArrayRef<double> values);

  // Nodes that most bodies have.
  std::string reshape(const std::string &x, llvm::ArrayRef<int64_t> shape) {
    return add("Reshape", {x, integers(shape)});
  }
  std::string transpose(const std::string &x,
                        llvm::ArrayRef<int64_t> permutation) {
    return add("Transpose", {x},
               {{"perm", llvm::SmallVector<int64_t>(permutation)}});
  }
  /// Elements [start, end) of dimension `axis`.
  std::string slice(const std::string &x, int64_t axis, int64_t start,
                    int64_t end) {
    return add("Slice",
               {x, integers({start}), integers({end}), integers({axis})});
  }

  /// Imports the nodes; `results` are those of the node, the first ones.
  mlir::LogicalResult finish(llvm::ArrayRef<std::string> results);

private:
  std::string constant(HostTensor value);

  NodeContext &node_;
  std::vector<onnx::NodeProto> nodes_;
};

} // namespace soap::onnx_import

#endif // SOAP_LIB_TARGET_ONNX_BODY_H
