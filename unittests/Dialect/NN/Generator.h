//===- Generator.h - Draws nn operations ------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_UNITTESTS_NN_GENERATOR_H
#define SOAP_UNITTESTS_NN_GENERATOR_H

#include "RandomOps.h"
#include "mlir/IR/Builders.h"

namespace soap::nn::test {

using List = llvm::SmallVector<int64_t, 4>;

/// Builds one operation; arguments of the block are its operands.
class Generator {
public:
  Generator(mlir::Block &block, Random &random, mlir::MLIRContext *context)
      : random(random), builder(context), block(block),
        loc(mlir::UnknownLoc::get(context)) {
    builder.setInsertionPointToEnd(&block);
  }

  mlir::Operation *build(llvm::StringRef kind);

  /// Element types that a kind of operation takes.
  enum class Elements : uint8_t { Any, Numbers, Floats, Bits, Unsigned };

  /// A kind, the method that draws one, and its element types.
  struct Entry {
    llvm::StringRef kind;
    mlir::Operation *(Generator::*draw)(llvm::StringRef kind);
    Elements elements;
  };
  static llvm::ArrayRef<Entry> entries();

private:
  mlir::RankedTensorType type(llvm::ArrayRef<int64_t> shape) {
    return mlir::RankedTensorType::get(shape, element);
  }
  /// The type of a sum of elements.
  mlir::RankedTensorType sumType(llvm::ArrayRef<int64_t> shape) {
    return mlir::RankedTensorType::get(shape, accumulatorType(element));
  }
  mlir::Value argument(llvm::ArrayRef<int64_t> shape,
                       mlir::Type other = nullptr) {
    return block.addArgument(
        mlir::RankedTensorType::get(shape, other ? other : element), loc);
  }
  List shape(int64_t loRank, int64_t hiRank, int64_t hi = 6) {
    List result(random.in(loRank, hiRank));
    for (int64_t &size : result)
      size = random.in(1, hi);
    return result;
  }
  List list(size_t length, int64_t lo, int64_t hi) {
    List result(length);
    for (int64_t &entry : result)
      entry = random.in(lo, hi);
    return result;
  }
  /// A shape that broadcasts to `shape`: without leading dims, with ones.
  List narrowed(llvm::ArrayRef<int64_t> shape) {
    List result(shape.drop_front(
        random.in(0, 2) == 0 ? random.in(0, shape.size()) : 0));
    for (int64_t &size : result)
      if (random.in(0, 3) == 0)
        size = 1;
    return result;
  }

  // By kind, as `nn.conv`.
  mlir::Operation *conv(llvm::StringRef);
  mlir::Operation *convBackward(llvm::StringRef);
  mlir::Operation *convBackwardFilter(llvm::StringRef);
  mlir::Operation *maxPoolBackward(llvm::StringRef);
  mlir::Operation *recurrentBackward(llvm::StringRef);
  mlir::Operation *matmul(llvm::StringRef);
  mlir::Operation *pool(llvm::StringRef);
  mlir::Operation *lstm(llvm::StringRef);
  mlir::Operation *batchNorm(llvm::StringRef);
  mlir::Operation *layerNorm(llvm::StringRef);
  mlir::Operation *lrn(llvm::StringRef);
  mlir::Operation *attention(llvm::StringRef);
  mlir::Operation *softmax(llvm::StringRef);
  mlir::Operation *reduce(llvm::StringRef);
  mlir::Operation *input(llvm::StringRef);
  mlir::Operation *parameter(llvm::StringRef);
  mlir::Operation *constant(llvm::StringRef);
  mlir::Operation *binary(llvm::StringRef);
  mlir::Operation *unary(llvm::StringRef);
  mlir::Operation *where(llvm::StringRef);
  mlir::Operation *expand(llvm::StringRef);
  mlir::Operation *tile(llvm::StringRef);
  mlir::Operation *gather(llvm::StringRef);
  mlir::Operation *resize(llvm::StringRef);
  mlir::Operation *concat(llvm::StringRef);
  mlir::Operation *slice(llvm::StringRef);
  mlir::Operation *pad(llvm::StringRef);
  mlir::Operation *reshape(llvm::StringRef);
  mlir::Operation *transpose(llvm::StringRef);
  mlir::Operation *gru(llvm::StringRef);
  mlir::Operation *rnn(llvm::StringRef);
  mlir::Operation *gatherElements(llvm::StringRef);
  mlir::Operation *gatherND(llvm::StringRef);
  mlir::Operation *scatterElements(llvm::StringRef);
  mlir::Operation *scatterND(llvm::StringRef);
  mlir::Operation *sparseSGD(llvm::StringRef);
  mlir::Operation *arg(llvm::StringRef);
  mlir::Operation *topK(llvm::StringRef);
  mlir::Operation *cumSum(llvm::StringRef);
  mlir::Operation *trilu(llvm::StringRef);
  mlir::Operation *oneHot(llvm::StringRef);
  mlir::Operation *suppression(llvm::StringRef);
  mlir::Operation *write(llvm::StringRef);
  mlir::Operation *schedule(llvm::StringRef);
  mlir::Operation *dropout(llvm::StringRef);
  mlir::Operation *update(llvm::StringRef);
  mlir::Operation *fused(llvm::StringRef);

  /// What a product multiplies, and what it makes.
  struct Factors {
    mlir::Type a, b, sum;
  };
  Factors factors();
  mlir::Type indexType();
  mlir::Type elementType(Elements elements);
  mlir::TypedAttr number(double value);
  ReduceKindAttr reduction();
  List indicesInto(llvm::ArrayRef<int64_t> whole, int64_t axis);
  mlir::ArrayAttr activations(int64_t count);
  mlir::Operation *create(llvm::StringRef name, mlir::ValueRange operands,
                          mlir::Type result);

  Random &random;
  mlir::OpBuilder builder;
  mlir::Block &block;
  mlir::Location loc;
  mlir::Type element; ///< Of operands and results, unless they say another.
};

} // namespace soap::nn::test

#endif // SOAP_UNITTESTS_NN_GENERATOR_H
