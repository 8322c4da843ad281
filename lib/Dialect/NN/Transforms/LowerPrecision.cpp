//===- LowerPrecision.cpp - Products of narrower floats -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeNames.h"
#include "soap/Dialect/NN/Gradients/Gradients.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/NN/IR/Precision.h"
#include "soap/Dialect/NN/Transforms/Passes.h"
#include "llvm/ADT/DenseMap.h"

namespace soap::nn {
#define GEN_PASS_DEF_LOWERPRECISIONPASS
#include "soap/Dialect/NN/Transforms/Passes.h.inc"
} // namespace soap::nn

using namespace mlir;
using namespace soap;
using namespace soap::nn;

static bool isF32(Type type) { return getElementTypeOrSelf(type).isF32(); }

static bool isOfF32(Operation *op) {
  return llvm::all_of(op->getOperandTypes(), isF32) &&
         llvm::all_of(op->getResultTypes(), isF32);
}

namespace {
/// The casts of one function to one type: one per value.
class Casts {
public:
  Casts(func::FuncOp function, Type narrow)
      : names_(function), narrow_(narrow), suffix_([&] {
          llvm::SmallString<8> text(".");
          llvm::raw_svector_ostream(text) << narrow;
          return text;
        }()) {
    for (Operation &op : function.front())
      if (StringRef leader = getGroupLeader(&op); !leader.empty())
        leaders_.insert(leader);
  }

  /// What `operand` reads, in the narrow type. The first reader of a value is
  /// asked for first: the cast stands in front of it.
  Value of(OpOperand &operand) {
    Value value = operand.get();
    // A value that was widened before is there already.
    if (auto widened = value.getDefiningOp<CastOp>();
        widened && getElementTypeOrSelf(widened.getX()) == narrow_)
      return widened.getX();
    Value &cast = casts_[value];
    if (!cast)
      cast = make(operand);
    return cast;
  }
  size_t count() const { return casts_.size(); }

private:
  bool sharesDecision(Operation *op) const {
    return !getGroupLeader(op).empty() || leaders_.contains(nn::getName(op));
  }

  Value make(OpOperand &operand) {
    Value value = operand.get();
    Operation *producer = value.getDefiningOp(), *reader = operand.getOwner();
    OpBuilder builder(reader);
    auto type = cast<RankedTensorType>(value.getType()).clone(narrow_);
    auto op = builder.create<CastOp>(value.getLoc(), type, value);
    auto unique = [&](StringRef base) { return names_.unique(base); };
    if (!producer) { // An argument of the function.
      setName(op, unique((nn::getName(reader) + ".operand" +
                          Twine(operand.getOperandNumber()) + suffix_)
                             .str()));
      return op.getResult();
    }
    std::string name = (nn::getName(producer) + suffix_).str();
    // Where decisions are shared, a cast is made where its operand is, and one
    // of a parameter where the first reader is.
    if (sharesDecision(producer)) {
      unsigned result = cast<OpResult>(value).getResultNumber();
      GradientBuilder b(builder, producer, name, unique);
      return b.join(op, b.resultAccess(result)).getResult();
    }
    if (sharesDecision(reader) &&
        isa<InputOp, ParameterOp, ConstantOp>(producer)) {
      GradientBuilder b(builder, reader, name, unique);
      return b.join(op, b.operandAccess(operand.getOperandNumber()))
          .getResult();
    }
    setName(op, unique(name));
    return op.getResult();
  }

  NodeNames names_;
  Type narrow_;
  llvm::SmallString<8> suffix_;
  llvm::StringSet<> leaders_;
  llvm::DenseMap<Value, Value> casts_;
};

struct LowerPrecisionPass
    : soap::nn::impl::LowerPrecisionPassBase<LowerPrecisionPass> {
  using Base = soap::nn::impl::LowerPrecisionPassBase<LowerPrecisionPass>;
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    std::optional<Precision> precision = symbolize<Precision>(to);
    if (!precision || *precision == Precision::F32 ||
        *precision == Precision::I8) {
      emitError(function.getLoc(),
                "expected to=tf32, bf16 or f16, got: '" + to + "'");
      return signalPassFailure();
    }
    if (function.isExternal() || function.isPrivate())
      return;
    SmallVector<Operation *> products, layers;
    for (Operation &op : function.front()) {
      if (isProduct(&op) && isOfF32(&op))
        products.push_back(&op);
      // Lengths of sequences are integers.
      if (isRecurrentLayer(&op) && isF32(op.getOperand(0).getType()) &&
          (roundLayers || *precision == Precision::TF32))
        layers.push_back(&op);
    }
    numProducts += products.size() + layers.size();
    Builder types(&getContext());
    // The library rounds while it multiplies: there is nothing to cast.
    auto round = [&](ArrayRef<Operation *> ops) {
      for (Operation *op : ops)
        op->setInherentAttr(types.getStringAttr("tf32"), types.getUnitAttr());
    };
    round(layers);
    if (*precision == Precision::TF32)
      return round(products);
    Casts casts(function, *precision == Precision::BF16
                              ? Type(types.getBF16Type())
                              : Type(types.getF16Type()));
    for (Operation *op : products)
      for (unsigned operand : {0, 1})
        op->setOperand(operand, casts.of(op->getOpOperand(operand)));
    numCasts += casts.count();
  }
};
} // namespace
