//===- TilingTest.cpp - Tiles of an operation equal the operation ---------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The property that everything downstream rests on: the local operations of all
// tasks, each computed from the operand boxes that the spec promises, combine
// to what the whole operation computes. SOAP_TEST_SEED and SOAP_TEST_CASES (per
// kind of operation) set the seed and the amount.
//
//===----------------------------------------------------------------------===//

#include "RandomOps.h"
#include "Reference.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstdlib>
#include <map>

using namespace mlir;
using namespace soap;
using namespace soap::nn;
using namespace soap::nn::test;

namespace {

uint64_t fromEnvironment(const char *name, uint64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// A mistake that the test makes on purpose, to see that it would be noticed.
enum class Mistake {
  None,
  BiasInEveryPart,
  GlobalPads,
  LocalMeanCount,
  DroppedHalo,
  NoBase,
  AlwaysForward,
  GlobalOffsets
};

/// A function whose arguments are operands; its block has no terminator.
struct Scope {
  explicit Scope(MLIRContext *context)
      : function(func::FuncOp::create(UnknownLoc::get(context), "f",
                                      FunctionType::get(context, {}, {}))),
        block(function->getBody().emplaceBlock()) {}
  OwningOpRef<func::FuncOp> function;
  Block &block;
};

double combine(Combine how, double a, double b) {
  switch (how) {
  case Combine::Sum:
    return a + b;
  case Combine::Prod:
    return a * b;
  case Combine::Max:
    return std::max(a, b);
  case Combine::Min:
    return std::min(a, b);
  default:
    ADD_FAILURE() << "no combiner for several parts";
    return a;
  }
}

bool near(double a, double b) {
  return a == b || std::abs(a - b) <= 1e-9 * (1 + std::abs(b)) ||
         (std::isnan(a) && std::isnan(b));
}

class Tiling : public testing::Test {
protected:
  Tiling() {
    context.loadDialect<NNDialect, func::FuncDialect>();
    context.disableMultithreading();
  }

  std::vector<Tensor> randomOperands(Operation *op, Random &random) {
    std::vector<Tensor> operands;
    // Indices count from the end too, and some name no row.
    int64_t rows = 2;
    if (auto gather = dyn_cast<GatherOp>(op))
      rows = gather.getData().getType().getDimSize(gather.getAxis()) + 1;
    for (auto [operand, shape] :
         llvm::zip_equal(op->getOperands(), operandShapes(op))) {
      Type element = getElementTypeOrSelf(operand);
      operands.emplace_back(shape);
      for (double &value : operands.back().data)
        value = element.isInteger(1) ? static_cast<double>(random.in(0, 1))
                : element.isInteger()
                    ? static_cast<double>(random.in(-rows, rows))
                    : random.normal();
    }
    // Variances, bases and arguments of roots and logarithms are positive.
    if (isa<BatchNormOp, SqrtOp, LogOp>(op))
      for (double &value : operands.back().data)
        value = 0.1 + std::abs(value);
    if (isa<PowOp>(op))
      for (double &value : operands.front().data)
        value = 0.1 + std::abs(value);
    return operands;
  }

  /// Builds and computes the local operations of `tile`. Empty if they cannot
  /// be built; adds failures if they are malformed.
  std::optional<Tensor> compute(PartitionOpInterface op, const LocalTile &tile,
                                ArrayRef<Tensor> operands, Mistake mistake,
                                unsigned result = 0);

  /// Computes all tasks and combines them to result `number`.
  Tensor combineTasks(PartitionOpInterface op, const Degrees &degrees,
                      ArrayRef<Tensor> operands,
                      Mistake mistake = Mistake::None, unsigned number = 0);

  static bool equal(const Tensor &a, const Tensor &b) {
    return a.shape == b.shape &&
           std::equal(a.data.begin(), a.data.end(), b.data.begin(), near);
  }

  MLIRContext context;
};

std::optional<Tensor> Tiling::compute(PartitionOpInterface op,
                                      const LocalTile &tile,
                                      ArrayRef<Tensor> operands,
                                      Mistake mistake, unsigned result) {
  Scope scope(&context);
  Environment environment;
  SmallVector<Value> local;
  for (auto [i, box] : llvm::enumerate(tile.operandBoxes)) {
    if (isEmpty(box)) {
      local.push_back(nullptr);
      continue;
    }
    local.push_back(scope.block.addArgument(
        localType(op->getOperand(i).getType(), box), op.getLoc()));
    environment[local.back()] = operands[i].slice(box);
  }
  OpBuilder builder(&context);
  builder.setInsertionPointToEnd(&scope.block);
  FailureOr<SmallVector<Value>> results = op.buildLocal(builder, local, tile);
  if (failed(results) || results->size() != op->getNumResults())
    return std::nullopt;

  for (Operation &localOp : scope.block) {
    if (mistake == Mistake::GlobalPads && isa<ConvOp>(localOp)) {
      cast<ConvOp>(localOp).setPadsLo(cast<ConvOp>(*op).getPadsLo());
      cast<ConvOp>(localOp).setPadsHi(cast<ConvOp>(*op).getPadsHi());
    }
    if (mistake == Mistake::NoBase && isa<GatherOp>(localOp))
      cast<GatherOp>(localOp).setBase(0);
    if (mistake == Mistake::AlwaysForward && isa<LSTMOp>(localOp))
      cast<LSTMOp>(localOp).setReverse(false);
    if (mistake == Mistake::GlobalOffsets && isa<ResizeOp>(localOp))
      cast<ResizeOp>(localOp).setOffsets(cast<ResizeOp>(*op).getOffsets());
    if (mistake == Mistake::GlobalPads && isa<ConvBackwardDataOp>(localOp))
      cast<ConvBackwardDataOp>(localOp).setPadsLo(
          cast<ConvBackwardDataOp>(*op).getPadsLo());
    if (mistake == Mistake::LocalMeanCount && isa<ReduceOp>(localOp)) {
      float ratio = static_cast<float>(volume(tile.operandBoxes[0])) /
                    static_cast<float>(volume(tile.resultBoxes[0]));
      cast<ReduceOp>(localOp).setScale(llvm::APFloat(1 / ratio));
    }
    if (mistake == Mistake::None) {
      EXPECT_TRUE(succeeded(verify(&localOp)));
      EXPECT_EQ(getName(&localOp).take_front(2), "op");
    }
  }
  evaluate(scope.block, environment);
  return environment.lookup((*results)[result]);
}

Tensor Tiling::combineTasks(PartitionOpInterface op, const Degrees &degrees,
                            ArrayRef<Tensor> operands, Mistake mistake,
                            unsigned number) {
  Shape shape = resultShapes(op)[number];
  Tensor sum(shape), parts(shape);
  Combine how = op.getPartitionSpec().results[number].combine;
  for (int64_t task = 0, e = degrees.numTasks(); task != e; ++task) {
    LocalTile tile = makeLocalTile(op, degrees, task);
    if (mistake == Mistake::BiasInEveryPart)
      for (auto [i, access] : llvm::enumerate(tile.spec.operands))
        if (access.firstOnly)
          tile.operandBoxes[i] =
              accessBox(access, tile.tile, operandShapes(op)[i]);
    if (mistake == Mistake::DroppedHalo) {
      // Each task keeps only the elements at its own positions.
      int h = tile.spec.findLoop("h");
      int64_t stride = tile.spec.operands[0].dims[2].mul;
      Range own = {tile.tile[h].lo * stride, tile.tile[h].hi * stride};
      tile.operandBoxes[0][2] = intersect(tile.operandBoxes[0][2], own);
    }
    std::optional<Tensor> result = compute(op, tile, operands, mistake, number);
    if (!result) {
      ADD_FAILURE() << "task " << task << " cannot be built";
      return sum;
    }
    const Box &box = tile.resultBoxes[number];
    EXPECT_EQ(result->shape, Shape(soap::shapeOf(box)));
    forEachIndex(result->shape, [&](ArrayRef<int64_t> index) {
      SmallVector<int64_t> to(index);
      for (auto [d, range] : llvm::enumerate(box))
        to[d] += range.lo;
      double &element = sum.at(to), value = result->at(index);
      element = parts.at(to) == 0 ? value : combine(how, element, value);
      parts.at(to) += 1;
    });
  }
  // Every element exists once per part.
  int64_t expected = 1;
  for (size_t i = 0; i != degrees.loops.size(); ++i)
    if (op.getPartitionSpec().isReduction(i, number))
      expected *= degrees.loops[i];
  for (double count : parts.data)
    if (count != static_cast<double>(expected)) {
      ADD_FAILURE() << "an element has " << count << " parts, expected "
                    << expected;
      break;
    }
  return sum;
}

std::string describe(PartitionOpInterface op, const Degrees &degrees) {
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os, OpPrintingFlags().assumeVerified());
  os << "\n  degrees";
  for (auto [loop, degree] :
       llvm::zip(op.getPartitionSpec().loops, degrees.loops))
    os << ' ' << loop.name << '=' << degree;
  return text;
}

//===----------------------------------------------------------------------===//
// Properties
//===----------------------------------------------------------------------===//

/// How often a loop of a kind of operation was split into equal and unequal
/// tiles.
using Counts =
    std::map<std::pair<std::string, std::string>, std::pair<int, int>>;

Degrees randomDegrees(const PartitionSpec &spec, Random &random) {
  Degrees degrees;
  int64_t tasks = 1;
  for (const LoopSpec &loop : spec.loops) {
    int64_t degree =
        random.flip() ? 1 : random.in(1, std::min<int64_t>(loop.extent, 5));
    if (tasks * degree > 64)
      degree = 1;
    tasks *= degree;
    degrees.loops.push_back(static_cast<int32_t>(degree));
  }
  return degrees;
}

TEST_F(Tiling, TasksCombineToTheWhole) {
  uint64_t seed = fromEnvironment("SOAP_TEST_SEED", 1);
  uint64_t cases = fromEnvironment("SOAP_TEST_CASES", 1000);
  std::printf("seed %llu, %llu cases per kind\n", (unsigned long long)seed,
              (unsigned long long)cases);
  Counts counts;
  for (auto [k, kind] : llvm::enumerate(allKinds())) {
    for (uint64_t i = 0; i != cases; ++i) {
      Random random(seed * 1000003 + k * 10007 + i);
      Scope scope(&context);
      PartitionOpInterface op =
          buildRandomOp(scope.block, kind, random, &context);
      ASSERT_TRUE(succeeded(verify(op))) << kind.str() << " case " << i;
      std::vector<Tensor> operands = randomOperands(op, random);
      std::vector<Tensor> whole = evaluateAll(op, operands);

      PartitionSpec spec = op.getPartitionSpec();
      Degrees degrees = randomDegrees(spec, random);
      for (unsigned r = 0; r != whole.size(); ++r)
        ASSERT_TRUE(equal(combineTasks(op, degrees, operands, Mistake::None, r),
                          whole[r]))
            << "case " << i << ", result " << r << ": "
            << describe(op, degrees);
      ASSERT_FALSE(HasFailure())
          << "case " << i << ": " << describe(op, degrees);
      for (auto [loop, degree] : llvm::zip(spec.loops, degrees.loops))
        if (degree > 1) {
          auto &count = counts[{kind.str(), loop.name.str()}];
          ++(loop.extent % degree == 0 ? count.first : count.second);
        }
    }
  }
  for (auto &[key, count] : counts)
    std::printf("  %-14s %-3s even %5d uneven %5d\n", key.first.c_str(),
                key.second.c_str(), count.first, count.second);
  // Every loop of the operations that matter was split, evenly and unevenly.
  for (auto [kind, loops] : {std::pair("nn.conv", "n f g h w c"),
                             {"nn.matmul", "b0 n f k"},
                             {"nn.max_pool", "n c h w"},
                             {"nn.avg_pool", "n c h w"},
                             {"nn.lrn", "n c h w"},
                             {"nn.reduce", "d0 d1 d2 d3"},
                             {"nn.reshape", "d0 d1 d2"},
                             {"nn.conv_backward_data", "n c g h w f"},
                             {"nn.gather", "d0 d1 d2 v"},
                             {"nn.tile", "d0 d1 d2"},
                             {"nn.resize", "d0 d1 d2"},
                             {"nn.lstm", "n"},
                             {"nn.layer_norm", "d0 d1"},
                             {"nn.concat", "d0 d1 d2 d3"}}) {
    SmallVector<StringRef> names;
    StringRef(loops).split(names, ' ');
    for (StringRef name : names) {
      auto [even, uneven] = counts[{kind, name.str()}];
      EXPECT_GT(even, 0) << kind << ' ' << name.str();
      EXPECT_GT(uneven, 0) << kind << ' ' << name.str();
    }
  }
}

TEST_F(Tiling, TileForABoxHoldsTheBox) {
  uint64_t seed = fromEnvironment("SOAP_TEST_SEED", 1);
  for (auto [k, kind] : llvm::enumerate(allKinds())) {
    for (uint64_t i = 0; i != 60; ++i) {
      Random random(seed * 7919 + k * 10007 + i);
      Scope scope(&context);
      PartitionOpInterface op =
          buildRandomOp(scope.block, kind, random, &context);
      std::vector<Tensor> operands = randomOperands(op, random);
      Tensor whole = evaluate(op, operands);
      Box demanded;
      for (int64_t size : whole.shape) {
        int64_t lo = random.in(0, size - 1);
        demanded.push_back({lo, random.in(lo + 1, size)});
      }
      LocalTile tile = makeLocalTileForBox(op, 0, demanded);
      ASSERT_TRUE(contains(tile.resultBoxes[0], demanded)) << kind.str();
      std::optional<Tensor> result = compute(op, tile, operands, Mistake::None);
      ASSERT_TRUE(result && equal(*result, whole.slice(tile.resultBoxes[0])))
          << kind.str() << " case " << i;
      // One unit less would be too small.
      for (auto [access, range] :
           llvm::zip(tile.spec.results[0].dims, demanded))
        if (access.loop >= 0) {
          Range units = tile.tile[access.loop];
          EXPECT_LT(access.mul * (units.hi - 1) + access.lo, range.hi);
          EXPECT_GT(access.mul * (units.lo + 1) + access.lo, range.lo);
        }
    }
  }
}

//===----------------------------------------------------------------------===//
// Mistakes that the property must notice
//===----------------------------------------------------------------------===//

Degrees splitOf(PartitionOpInterface op, StringRef loop, int32_t degree) {
  PartitionSpec spec = op.getPartitionSpec();
  Degrees degrees;
  degrees.loops.assign(spec.loops.size(), 1);
  degrees.loops[spec.findLoop(loop)] = degree;
  return degrees;
}

class Mistakes : public Tiling {
protected:
  /// True if the mistake changes what the tasks combine to; without it they
  /// must combine to the whole.
  bool isNoticed(PartitionOpInterface op, const Degrees &degrees,
                 Mistake mistake, uint64_t seed) {
    Random random(seed);
    std::vector<Tensor> operands = randomOperands(op, random);
    Tensor whole = evaluate(op, operands);
    EXPECT_TRUE(equal(combineTasks(op, degrees, operands), whole));
    return !equal(combineTasks(op, degrees, operands, mistake), whole);
  }
};

TEST_F(Mistakes, BiasInEveryPart) {
  for (int32_t degree : {2, 3}) {
    Scope scope(&context);
    ConvOp op = buildConv(scope.block, &context, {1, 4, 6, 6}, 3, 3, 1, 1,
                          /*bias=*/true);
    EXPECT_TRUE(isNoticed(op, splitOf(op, "c", degree),
                          Mistake::BiasInEveryPart, degree));
  }
}

TEST_F(Mistakes, GlobalPads) {
  for (int32_t degree : {2, 3, 6}) {
    Scope scope(&context);
    ConvOp op =
        buildConv(scope.block, &context, {1, 2, 6, 6}, 3, 3, 1, 1, false);
    EXPECT_TRUE(
        isNoticed(op, splitOf(op, "h", degree), Mistake::GlobalPads, degree));
  }
}

TEST_F(Mistakes, DroppedHalo) {
  for (int32_t degree : {2, 3, 6}) {
    Scope scope(&context);
    ConvOp op =
        buildConv(scope.block, &context, {1, 2, 6, 6}, 3, 3, 1, 1, false);
    EXPECT_TRUE(
        isNoticed(op, splitOf(op, "h", degree), Mistake::DroppedHalo, degree));
  }
}

TEST_F(Mistakes, LocalMeanCount) {
  for (int32_t degree : {2, 3}) {
    Scope scope(&context);
    OpBuilder builder(&context);
    builder.setInsertionPointToEnd(&scope.block);
    Location loc = builder.getUnknownLoc();
    auto type = [&](ArrayRef<int64_t> shape) {
      return RankedTensorType::get(shape, builder.getF32Type());
    };
    Value x = scope.block.addArgument(type({2, 3, 4}), loc);
    auto op = builder.create<ReduceOp>(loc, type({2, 3}), x, ReduceKind::Sum,
                                       ArrayRef<int64_t>{2}, false,
                                       llvm::APFloat(0.25f));
    setName(op, "op");
    EXPECT_TRUE(isNoticed(op, splitOf(op, "d2", degree),
                          Mistake::LocalMeanCount, degree));
  }
}

/// An operation of `text`, as the only one of a function.
PartitionOpInterface parseOp(Scope &scope, StringRef text) {
  MLIRContext *context = scope.function->getContext();
  auto module = parseSourceString<ModuleOp>(
      ("func.func @f(" + text + "\n return }").str(), context);
  auto function = *module->getOps<func::FuncOp>().begin();
  scope.function = function.clone();
  return cast<PartitionOpInterface>(scope.function->getBody().front().front());
}

struct Slip {
  const char *op, *loop;
  int32_t degree;
  Mistake mistake;
};

TEST_F(Mistakes, OfLookUpsAndRecurrence) {
  for (const Slip &slip :
       {Slip{"%x: tensor<6x3xf32>, %i: tensor<8xi64>) { "
             "%0 = nn.gather %x, %i {nn.name = \"op\", axis = 0 : i64} : "
             "(tensor<6x3xf32>, tensor<8xi64>) -> tensor<8x3xf32>",
             "v", 3, Mistake::NoBase},
        Slip{"%x: tensor<3x2x2xf32>, %w: tensor<2x4x2x2xf32>, "
             "%r: tensor<2x4x2x2xf32>, %b: tensor<2x4x2xf32>, "
             "%h: tensor<2x2x2xf32>, %c: tensor<2x2x2xf32>) { "
             "%0:2 = nn.lstm %x, %w, %r, %b, %h, %c {nn.name = \"op\"} : "
             "(tensor<3x2x2xf32>, tensor<2x4x2x2xf32>, "
             "tensor<2x4x2x2xf32>, tensor<2x4x2xf32>, tensor<2x2x2xf32>, "
             "tensor<2x2x2xf32>) -> (tensor<3x2x2x2xf32>, "
             "tensor<2x2x2xf32>)",
             "dir", 2, Mistake::AlwaysForward},
        Slip{"%x: tensor<6xf32>) { %0 = nn.resize %x {nn.name = \"op\", "
             "mode = #nn.resize_mode<linear>, "
             "numerators = array<i64: 3>, offsets = array<i64: -1>, "
             "denominators = array<i64: 4>} : (tensor<6xf32>) "
             "-> tensor<8xf32>",
             "d0", 3, Mistake::GlobalOffsets},
        Slip{"%x: tensor<1x2x5xf32>, %w: tensor<2x3x3xf32>) { "
             "%0 = nn.conv_backward_data %x, %w {nn.name = \"op\", "
             "strides = array<i64: 2>, dilations = array<i64: 1>, "
             "pads_lo = array<i64: 1>} : (tensor<1x2x5xf32>, "
             "tensor<2x3x3xf32>) -> tensor<1x3x10xf32>",
             "w", 3, Mistake::GlobalPads}}) {
    Scope scope(&context);
    PartitionOpInterface op = parseOp(scope, slip.op);
    EXPECT_TRUE(isNoticed(op, splitOf(op, slip.loop, slip.degree), slip.mistake,
                          /*seed=*/7))
        << slip.op;
  }
}

} // namespace
