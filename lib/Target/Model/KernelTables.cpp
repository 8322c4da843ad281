//===- KernelTables.cpp - Kernels of a compiled model ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tables.h"
#include "soap/Target/Followers.h"
#include "soap/Target/Target.h"
#include "soap/Testing/PlantedFault.h"

using namespace mlir;
using namespace soap;

static LogicalResult
setTypes(soaprt::KernelOp op, TypeRange types,
         std::vector<std::unique_ptr<fb::TensorTypeT>> &tables) {
  for (Type type : types) {
    auto tensor = cast<RankedTensorType>(type);
    std::optional<fb::ElementType> element =
        elementType(tensor.getElementType());
    if (!element)
      return op.emitOpError("expected elements that the runtime knows, got: ")
             << tensor.getElementType();
    auto table = std::make_unique<fb::TensorTypeT>();
    table->element = *element;
    table->shape = tensor.getShape();
    tables.push_back(std::move(table));
  }
  return success();
}

/// What the library does to every element of the result of the first operation.
static LogicalResult setFollowers(soaprt::KernelOp op, const Target &target,
                                  fb::KernelT &kernel) {
  Operation *before = op.getAnchor();
  for (Operation &follower : op.getFollowers()) {
    auto operands = follower.getOperands();
    auto number = static_cast<unsigned>(std::distance(
        operands.begin(), llvm::find(operands, before->getResult(0))));
    std::optional<SmallVector<FollowerStep>> steps =
        getFollowerSteps(&follower, number);
    if (!steps || !target.getFollower(op.getAnchor(), &follower, number,
                                      /*keepNaN=*/false))
      return follower.emitOpError("expected an operation that the library of "
                                  "target ")
             << target.getName() << " applies to the result of "
             << op.getAnchor()->getName();
    for (const FollowerStep &step : *steps) {
      auto table = std::make_unique<fb::FollowerT>();
      table->kind = step.kind;
      table->alpha = step.alpha;
      table->beta = step.beta;
      if (step.operand) {
        auto argument = cast<BlockArgument>(follower.getOperand(*step.operand));
        table->operand = argument.getArgNumber();
        table->in_place = op.getInPlace() == argument.getArgNumber();
      }
      kernel.followers.push_back(std::move(table));
    }
    before = &follower;
  }
  return success();
}

FailureOr<std::unique_ptr<fb::KernelT>>
soap::kernelTable(soaprt::KernelOp op, const Target &target) {
  auto kernel = std::make_unique<fb::KernelT>();
  kernel->key = op.getKey().str();
  kernel->flops = static_cast<uint64_t>(op.getFlops().convertToDouble());
  if (op.getNative()) {
    fb::NativeT native;
    native.symbol = op.getIndex();
    kernel->op.Set(std::move(native));
  } else if (failed(target.buildLibraryKernel(op.getAnchor(), *kernel)) ||
             failed(setFollowers(op, target, *kernel))) {
    return failure();
  }
  if (failed(
          setTypes(op, op.getBlock().getArgumentTypes(), kernel->operands)) ||
      failed(setTypes(op, op.getResultTypes(), kernel->results)))
    return failure();
  if (SOAP_FAULT("order-forgotten"))
    return kernel;
  for (size_t number : op.getChannelsLast().value_or(ArrayRef<int64_t>()))
    (number < kernel->operands.size()
         ? kernel->operands[number]
         : kernel->results[number - kernel->operands.size()])
        ->order = fb::ElementOrder::ChannelsLast;
  return kernel;
}
