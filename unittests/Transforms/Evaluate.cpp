//===- Evaluate.cpp - Runs partitioned IR ---------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluate.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include <cmath>

using namespace mlir;
using namespace soap;
using namespace soap::soapir;
using namespace soap::soapir::test;
using nn::test::Tensor;

/// Evaluates the nn operations of a block that have results.
static void evaluateBlock(Block &block, nn::test::Environment &values) {
  for (Operation &op : block.without_terminator()) {
    if (op.getNumResults() == 0)
      continue;
    std::vector<Tensor> operands;
    for (Value operand : op.getOperands())
      operands.push_back(values.at(operand));
    std::vector<Tensor> results = nn::test::evaluateAll(&op, operands);
    for (auto [result, tensor] : llvm::zip_equal(op.getResults(), results))
      values[result] = tensor;
  }
}

/// `box` in coordinates of a shard that holds `outer`.
static Box relativeTo(const Box &box, const Box &outer) {
  Box result;
  for (auto [a, b] : llvm::zip_equal(box, outer))
    result.push_back({a.lo - b.lo, a.hi - b.lo});
  return result;
}

/// Copies the elements of `piece` from a shard to another one.
static void copyPiece(const Box &piece, const Tensor &from, const Box &fromBox,
                      Tensor &to, const Box &toBox) {
  if (isEmpty(piece))
    return;
  Tensor part = from.slice(relativeTo(piece, fromBox));
  Box target = relativeTo(piece, toBox);
  nn::test::forEachIndex(part.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> at;
    for (auto [i, range] : llvm::zip_equal(index, target))
      at.push_back(i + range.lo);
    to.at(at) = part.at(index);
  });
}

namespace {
class Program {
public:
  Outputs run(func::FuncOp main) {
    for (Operation &op : main.getBody().front())
      if (auto task = dyn_cast<TaskOp>(op))
        run(task);
      else if (isa<ShardOpInterface>(op))
        copy(&op);
    return std::move(outputs_);
  }

private:
  void run(TaskOp task) {
    nn::test::Environment local;
    for (auto [argument, input] :
         llvm::zip_equal(task.getBlock().getArguments(), task.getInputs()))
      local[argument] = values_.at(input.getAsOpaquePointer());
    evaluateBlock(task.getBlock(), local);
    for (auto output : task.getBlock().getOps<nn::OutputOp>())
      outputs_[nn::getName(output).str()] = local.at(output.getX());
    auto results = cast<ReturnOp>(task.getBlock().getTerminator());
    for (auto [result, value] :
         llvm::zip_equal(task.getResults(), results.getValues()))
      values_[result.getAsOpaquePointer()] = local.at(value);
  }

  /// Slices, assemblies and all that moves: elements keep their place, parts
  /// are joined in the order of the operands.
  void copy(Operation *op) {
    bool reduces = isa<AllReduceOp, ReduceScatterOp>(op);
    for (OpResult result : op->getResults()) {
      Box box = getBox(result).getBox();
      Tensor made(shapeOf(box), NAN);
      for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
        const Tensor &from = values_.at(operand.getAsOpaquePointer());
        Box fromBox = getBox(operand).getBox();
        // A transfer pairs operands and results.
        if (isa<TransferOp>(op) && i != result.getResultNumber())
          continue;
        Box piece = intersect(box, fromBox);
        if (auto assemble = dyn_cast<AssembleOp>(op))
          piece = assemble.getPiece(i);
        if (isEmpty(piece))
          continue;
        if (!reduces || i == 0) {
          copyPiece(piece, from, fromBox, made, box);
          continue;
        }
        Tensor part(shapeOf(box), NAN);
        copyPiece(piece, from, fromBox, part, box);
        Combine how = cast<ShardType>(operand.getType()).getPartial();
        for (auto [a, b] : llvm::zip_equal(made.data, part.data))
          a = nn::test::combine(how, a, b);
      }
      values_[result.getAsOpaquePointer()] = std::move(made);
    }
  }

  std::map<const void *, Tensor> values_;
  Outputs outputs_;
};
} // namespace

Outputs soapir::test::evaluateProgram(func::FuncOp main) {
  return Program().run(main);
}

Outputs soapir::test::evaluateModel(func::FuncOp main) {
  nn::test::Environment values;
  evaluateBlock(main.getBody().front(), values);
  Outputs outputs;
  for (auto output : main.getOps<nn::OutputOp>())
    outputs[nn::getName(output).str()] = values.at(output.getX());
  return outputs;
}

std::string soapir::test::compare(const Outputs &want, const Outputs &got) {
  for (const auto &[name, tensor] : want) {
    auto it = got.find(name);
    if (it == got.end() || it->second.data.size() != tensor.data.size())
      return name + " is missing";
    double error = 0, norm = 0;
    for (auto [a, b] : llvm::zip_equal(tensor.data, it->second.data)) {
      error += (a - b) * (a - b);
      norm += a * a;
    }
    // A NaN makes this false, too.
    if (!(std::sqrt(error) <= 1e-9 * std::sqrt(norm)))
      return name + " differs by " + std::to_string(std::sqrt(error / norm)) +
             " of its norm";
  }
  return "";
}
