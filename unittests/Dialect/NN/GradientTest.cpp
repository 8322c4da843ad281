//===- GradientTest.cpp - Gradients against differences -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradients that an operation builds, against central differences of the
// operation itself, both computed in double: all kinds and modes that the
// random operations draw. SOAP_TEST_SEED and SOAP_TEST_CASES (per kind) set the
// seed and the amount.
//
//===----------------------------------------------------------------------===//

#include "../../FromEnvironment.h"
#include "Tiling.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/IR/Verifier.h"
#include "soap/Dialect/NN/Gradients/Gradients.h"
#include <cmath>

using namespace mlir;
using namespace soap;
using namespace soap::nn;
using namespace soap::nn::test;
using soap::test::fromEnvironment;

namespace {

class Gradient : public Tiling {
protected:
  Gradient() {
    DialectRegistry registry;
    registerGradients(registry);
    context.appendDialectRegistry(registry);
  }

  static bool isFloat(Value value) {
    return isa<FloatType>(getElementTypeOrSelf(value));
  }

  /// Training computes in f32 and f64.
  static bool isOfFloats(Operation *op) {
    auto fits = [](Value value) {
      Type type = getElementTypeOrSelf(value);
      return !isa<FloatType>(type) || type.isF32() || type.isF64();
    };
    return llvm::all_of(op->getOperands(), fits) &&
           llvm::any_of(op->getResults(), isFloat) &&
           llvm::all_of(op->getResults(), fits);
  }

  /// The sum over all results of dy times the result, or of what these have
  /// without signs.
  static double loss(Operation *op, ArrayRef<Tensor> operands,
                     ArrayRef<Tensor> dy, bool unsign = false) {
    double sum = 0;
    for (auto [result, tensor, weights] :
         llvm::zip(op->getResults(), evaluateAll(op, operands), dy))
      if (isFloat(result))
        for (auto [value, weight] : llvm::zip_equal(tensor.data, weights.data))
          sum += unsign ? std::abs(value * weight) : value * weight;
    return sum;
  }

  /// The derivative of the loss by `element`, one of `operands`.
  static double difference(Operation *op, ArrayRef<Tensor> operands,
                           ArrayRef<Tensor> dy, double &element, double step) {
    double before = std::exchange(element, element + step);
    double above = loss(op, operands, dy);
    element = before - step;
    double below = loss(op, operands, dy);
    element = before;
    return (above - below) / (2 * step);
  }

  /// The gradients by all operands of floats; nothing where the operation
  /// refuses. Adds failures if they are malformed.
  std::optional<std::vector<Tensor>> gradients(PartitionOpInterface op,
                                               Block &block,
                                               ArrayRef<Tensor> operands,
                                               ArrayRef<Tensor> dy) {
    Environment environment;
    for (auto [operand, tensor] : llvm::zip_equal(op->getOperands(), operands))
      environment[operand] = tensor;
    SmallVector<Value> results;
    for (auto [result, tensor] : llvm::zip_equal(op->getResults(), dy)) {
      results.push_back(isFloat(result)
                            ? block.addArgument(result.getType(), op.getLoc())
                            : Value());
      if (results.back())
        environment[results.back()] = tensor;
    }
    OpBuilder builder = OpBuilder::atBlockEnd(&block);
    int number = 0;
    auto unique = [&](StringRef base) {
      return (base + "_" + Twine(number++)).str();
    };
    GradientBuilder gradientBuilder(builder, op, "grad", unique);
    llvm::BitVector isNeeded(op->getNumOperands());
    for (auto [index, operand] : llvm::enumerate(op->getOperands()))
      // Statistics are never trained.
      isNeeded[index] =
          isFloat(operand) && !(isa<BatchNormOp>(op) && index > 2);
    auto built = cast<DifferentiableOpInterface>(op.getOperation())
                     .buildGradients(gradientBuilder, results, isNeeded);
    if (failed(built))
      return std::nullopt;
    for (Operation &each : block)
      EXPECT_TRUE(succeeded(mlir::verify(&each)));
    evaluate(block, environment);
    std::vector<Tensor> found;
    for (auto [operand, gradient] :
         llvm::zip_equal(op->getOperands(), *built)) {
      if (gradient)
        EXPECT_EQ(gradient.getType(), operand.getType());
      found.push_back(gradient ? environment.lookup(gradient)
                               : Tensor(operandShapes(op)[found.size()]));
    }
    return found;
  }
};

TEST_F(Gradient, EqualsDifferences) {
  uint64_t seed = fromEnvironment("SOAP_TEST_SEED", 1);
  uint64_t cases = fromEnvironment("SOAP_TEST_CASES", 100);
  constexpr double step = 1e-5;
  context.getDiagEngine().registerHandler([](Diagnostic &) {});
  for (auto [k, kind] : llvm::enumerate(allKinds())) {
    int64_t compared = 0, refused = 0;
    for (uint64_t i = 0; i != cases; ++i) {
      Random random(seed * 1000003 + k * 10007 + i);
      Scope scope(&context);
      PartitionOpInterface op =
          buildRandomOp(scope.block, kind, random, &context);
      if (!isa<DifferentiableOpInterface>(op.getOperation()))
        break;
      if (!isOfFloats(op))
        continue;
      std::vector<Tensor> operands = randomOperands(op, random), dy;
      for (const Shape &shape : resultShapes(op))
        for (double &value : dy.emplace_back(shape).data)
          value = random.normal();
      double rounding = loss(op, operands, dy, /*unsign=*/true) * 1e-15 / step;
      auto found = gradients(op, scope.block, operands, dy);
      if (!found) {
        ++refused;
        continue;
      }
      for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
        if (!isFloat(operand) || (isa<BatchNormOp>(op) && index > 2))
          continue;
        std::vector<double> &data = operands[index].data;
        for (int probe = 0; probe < 6; ++probe) {
          double &element = data[random.in(0, data.size() - 1)];
          double expected = difference(op, operands, dy, element, step);
          double fine = difference(op, operands, dy, element, step / 10);
          // A pool's window in the padding alone is -inf.
          if (!std::isfinite(expected))
            continue;
          double got = (*found)[index].data[&element - data.data()];
          ++compared;
          // Constants of gradients are f32, as the operation is; differences
          // are as exact as those of a tenth of the step agree with them.
          ASSERT_TRUE(std::abs(got - expected) <=
                      rounding + 2e-6 * (1 + std::abs(expected)) +
                          2 * std::abs(expected - fine))
              << "case " << i << ", operand " << index << ", element "
              << &element - data.data() << ": expected " << expected
              << ", got: " << got << "\n"
              << describe(op, Degrees{});
        }
      }
    }
    if (compared)
      std::printf("  %-22s %6lld elements, %lld operations refused\n",
                  kind.str().c_str(), (long long)compared, (long long)refused);
    // These have reductions without a gradient.
    if (kind != "nn.scatter_elements" && kind != "nn.scatter_nd")
      EXPECT_EQ(refused, 0) << kind.str();
  }
}

} // namespace
