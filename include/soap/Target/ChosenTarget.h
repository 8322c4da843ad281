//===- ChosenTarget.h - The target of a pass --------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TARGET_CHOSENTARGET_H
#define SOAP_TARGET_CHOSENTARGET_H

#include "mlir/IR/Diagnostics.h"
#include "soap/Target/Target.h"
#include "soap/Target/TargetRegistry.h"
#include <memory>

namespace soap {

/// A target that outlives a pass, or one that an option of the pass names.
class ChosenTarget {
public:
  ChosenTarget() = default;
  explicit ChosenTarget(const Target &target) : chosen_(&target) {}

  /// Makes the target `name` unless there is one.
  llvm::Error choose(llvm::StringRef name) {
    if (chosen_)
      return llvm::Error::success();
    llvm::Expected<std::unique_ptr<Target>> named = createTarget(name);
    if (!named)
      return named.takeError();
    owned_ = std::move(*named);
    chosen_ = owned_.get();
    return llvm::Error::success();
  }

  /// The same, and emits errors.
  mlir::LogicalResult initialize(mlir::MLIRContext *context,
                                 llvm::StringRef name) {
    if (llvm::Error error = choose(name))
      return mlir::emitError(mlir::UnknownLoc::get(context),
                             llvm::toString(std::move(error)));
    return mlir::success();
  }

  const Target &operator*() const { return *chosen_; }

private:
  const Target *chosen_ = nullptr;
  std::shared_ptr<Target> owned_; ///< If the option named it.
};

} // namespace soap

#endif // SOAP_TARGET_CHOSENTARGET_H
