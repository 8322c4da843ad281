//===- TargetRegistry.h - Targets by name -----------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The targets of a program. Its main function registers them, before it does
// anything else (soap/Target/Registration); the first one is the default.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TARGET_TARGETREGISTRY_H
#define SOAP_TARGET_TARGETREGISTRY_H

#include "soap/Target/Target.h"
#include "llvm/ADT/DenseMap.h"

namespace soap {

/// What the command line says about a target.
struct TargetOptions {
  /// What code is made for (`--mcpu`), in the target's own words; empty: the
  /// target's default.
  std::string processor;
};

/// A target that can be asked for.
struct RegisteredTarget {
  std::string name;
  std::string description; ///< What it is, for `--help`: no full stop.
  std::string processors;  ///< What `--mcpu` names, for `--help`; empty: none.
  /// Fails if `options` has something that the target does not know.
  llvm::Expected<std::unique_ptr<Target>> (*create)(
      const TargetOptions &options);
};

/// Adds a target, or does nothing if there is one of that name. Not to be
/// called while another thread uses the registry.
void registerTarget(RegisteredTarget target);

/// Computes nn operations in this process. `ops` are in the order of execution;
/// their operands are results of others or in `values`: dense row-major
/// elements, a byte for a truth value. Adds the results to `values`.
using Evaluator =
    llvm::Error (*)(llvm::ArrayRef<mlir::Operation *> ops,
                    llvm::DenseMap<mlir::Value, std::vector<char>> &values);

/// Adds an evaluator, if there is none yet; null if no target has one. As
/// registerTarget().
void registerEvaluator(Evaluator evaluator);
Evaluator registeredEvaluator();

/// In the order of registration.
llvm::ArrayRef<RegisteredTarget> registeredTargets();

/// The target `name`; empty: the first one. Fails, with the names that there
/// are, if there is none, or if it has no such processor.
llvm::Expected<std::unique_ptr<Target>>
createTarget(llvm::StringRef name, const TargetOptions &options = {});

} // namespace soap

#endif // SOAP_TARGET_TARGETREGISTRY_H
