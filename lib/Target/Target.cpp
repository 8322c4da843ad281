//===- Target.cpp - What the compiler asks of a target --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Target/Target.h"
#include "soap/Target/TargetRegistry.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace soap;

Target::~Target() = default;

int64_t Target::getAlignment() const { return DeviceKind().alignment; }

bool Target::hasAttention() const { return false; }

int64_t Target::getAttentionScoreBytes(Precision) const { return 0; }

ProductRounding Target::getProductRounding(Precision) const {
  return ProductRounding::Never;
}

bool Target::separatesBias() const { return false; }

int64_t Target::getRowAlignment() const { return 1; }

bool Target::joinsKernels() const { return false; }

void Target::buildJoinedPipeline(mlir::OpPassManager &) const {}

bool Target::paysJoined(mlir::ModuleOp) const { return false; }

ChannelsLast Target::getChannelsLast(mlir::Operation *) const {
  return ChannelsLast::Never;
}

std::optional<FollowerUse> Target::getFollower(mlir::Operation *,
                                               mlir::Operation *, unsigned,
                                               bool) const {
  return std::nullopt;
}

llvm::Error Target::checkPrecision(Precision precision) const {
  if (precision != Precision::TF32)
    return llvm::Error::success();
  return llvm::createStringError(
      "expected products of f32, bf16 or f16 for target " + name_ +
      ", got: tf32, to which only tensor cores of GPUs round; use "
      "--precision=f32, or --target=cuda");
}

std::string Target::describePrecision(Precision) const { return ""; }

mlir::FailureOr<KernelCode> Target::planKernels(mlir::ModuleOp) const {
  return KernelCode();
}

static std::vector<RegisteredTarget> &targets() {
  static std::vector<RegisteredTarget> all;
  return all;
}

void soap::registerTarget(RegisteredTarget target) {
  auto isSame = [&](const RegisteredTarget &other) {
    return other.name == target.name;
  };
  if (llvm::none_of(targets(), isSame))
    targets().push_back(std::move(target));
}

static Evaluator &evaluatorSlot() {
  static Evaluator evaluator = nullptr;
  return evaluator;
}

void soap::registerEvaluator(Evaluator evaluator) {
  if (!evaluatorSlot())
    evaluatorSlot() = evaluator;
}

Evaluator soap::registeredEvaluator() { return evaluatorSlot(); }

llvm::ArrayRef<RegisteredTarget> soap::registeredTargets() { return targets(); }

llvm::Expected<std::unique_ptr<Target>>
soap::createTarget(llvm::StringRef name, const TargetOptions &options) {
  llvm::SmallVector<llvm::StringRef> names;
  for (const RegisteredTarget &target : targets()) {
    if (name.empty() || name == target.name) {
      if (target.processors.empty() && !options.processor.empty())
        return llvm::createStringError(
            "expected no processor with target " + target.name +
            ", which has but one kind of code, got: '" + options.processor +
            "'; leave --mcpu out");
      return target.create(options);
    }
    names.push_back(target.name);
  }
  return llvm::createStringError("expected the name of a target (" +
                                 llvm::join(names, ", ") + "), got: '" + name +
                                 "'; soap-compile --help describes them");
}
