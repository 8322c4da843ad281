//===- InitExpression.cpp - Parameters that are computed --------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InitExpression.h"
#include "soap/Dialect/NN/IR/LaunchedLate.h"
#include "soap/Dialect/SOAP/IR/SOAPAttrs.h"
#include "llvm/ADT/StringMap.h"
#include <map>

using namespace mlir;
using namespace soap;
using namespace soap::soapir;

namespace {
/// Demands boxes of the values of @init, each box of a value once.
class InitExpression {
public:
  explicit InitExpression(OpBuilder &builder) : builder_(builder) {}

  Value demand(Value value, const Box &box) {
    auto result = dyn_cast<OpResult>(value);
    auto op = result ? dyn_cast<nn::PartitionOpInterface>(result.getOwner())
                     : nullptr;
    if (!op) {
      emitError(value.getLoc())
          << "expected @init to hold nn operations without arguments, got: "
          << value;
      return {};
    }
    Value &made = made_[{value.getAsOpaquePointer(), toString(box)}];
    if (made)
      return made;
    unsigned index = result.getResultNumber();
    nn::LocalTile tile = nn::makeLocalTileForBox(op, index, box);
    SmallVector<Value> operands;
    for (auto [operand, operandBox] :
         llvm::zip_equal(op->getOperands(), tile.operandBoxes)) {
      operands.push_back(isEmpty(operandBox) ? Value()
                                             : demand(operand, operandBox));
      if (!isEmpty(operandBox) && !operands.back())
        return {};
    }
    FailureOr<SmallVector<Value>> results =
        op.buildLocal(builder_, operands, tile);
    if (failed(results)) {
      op->emitOpError() << "expected an operation that can compute "
                        << toString(box) << " alone, got none; leave it out of "
                        << "@init";
      return {};
    }
    Operation *local = (*results)[index].getDefiningOp();
    local->removeAttr(SOAPDialect::getConfigAttrName());
    local->removeAttr(nn::groupAttrName);
    local->removeAttr(nn::updateAttrName);
    local->removeAttr(nn::afterAttrName);
    rename(local);
    // The recursion may have moved the map's entry.
    return made_[{value.getAsOpaquePointer(), toString(box)}] =
               crop((*results)[index], tile.resultBoxes[index], box);
  }

private:
  /// Boxes of one value are computed by operations of different names.
  void rename(Operation *local) {
    StringRef name = nn::getName(local);
    if (int64_t count = names_[name]++)
      nn::setName(local, name + Twine('.') + Twine(count));
  }

  /// A unit of a loop may be larger than the box that is asked for.
  Value crop(Value value, const Box &have, const Box &want) {
    if (have == want)
      return value;
    SmallVector<int64_t> starts, steps(want.size(), 1);
    for (auto [a, b] : llvm::zip_equal(want, have))
      starts.push_back(a.lo - b.lo);
    auto slice = builder_.create<nn::SliceOp>(
        value.getLoc(), nn::localType(value.getType(), want), value,
        builder_.getDenseI64ArrayAttr(starts),
        builder_.getDenseI64ArrayAttr(steps));
    nn::setName(slice, nn::getName(value.getDefiningOp()) + Twine(".crop"));
    rename(slice);
    return slice;
  }

  OpBuilder &builder_;
  std::map<std::pair<const void *, std::string>, Value> made_;
  llvm::StringMap<int64_t> names_;
};
} // namespace

Value soap::buildInitExpression(OpBuilder &builder, func::FuncOp init,
                                int64_t index, const Box &box) {
  auto results = cast<func::ReturnOp>(init.getBody().front().getTerminator());
  return InitExpression(builder).demand(results.getOperand(index), box);
}
