//===- NodeNames.h - Names of operations that passes add --------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_DIALECT_NN_TRANSFORMS_NODENAMES_H
#define SOAP_LIB_DIALECT_NN_TRANSFORMS_NODENAMES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

namespace soap::nn {

/// Names that are unique among the operations of a function.
class NodeNames {
public:
  explicit NodeNames(mlir::func::FuncOp function) {
    function.walk([&](mlir::Operation *op) {
      if (auto name = op->getAttrOfType<mlir::StringAttr>("nn.name"))
        names_.insert(name.getValue());
    });
  }

  /// `base`, with a number behind it if a node has that name already.
  std::string unique(llvm::StringRef base) {
    std::string name = base.str();
    for (unsigned i = 1; !names_.insert(name).second; ++i)
      name = base.str() + "_" + std::to_string(i);
    return name;
  }
  /// Says that the node of this name is erased.
  void release(llvm::StringRef name) { names_.erase(name); }

private:
  llvm::StringSet<> names_;
};

} // namespace soap::nn

#endif // SOAP_LIB_DIALECT_NN_TRANSFORMS_NODENAMES_H
