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

#include "Tiling.h"
#include "../../FromEnvironment.h"
#include "mlir/IR/Verifier.h"
#include <map>

using namespace mlir;
using namespace soap;
using namespace soap::nn;
using namespace soap::nn::test;
using soap::test::fromEnvironment;

namespace {

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
      declareParts(op, random);
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
}

TEST_F(Tiling, EveryKindIsDrawn) {
  for (RegisteredOperationName name : context.getRegisteredOperations()) {
    // An output has no result to be computed.
    if (name.getDialectNamespace() != NNDialect::getDialectNamespace() ||
        !name.hasInterface<PartitionOpInterface>() ||
        name.getStringRef() == OutputOp::getOperationName())
      continue;
    EXPECT_TRUE(llvm::is_contained(allKinds(), name.getStringRef()))
        << name.getStringRef().str() << " has no generator in RandomOps.cpp";
  }
}

/// Every loop of every kind of operation, alone, at every degree from 2 to 4,
/// into equal and into unequal tiles.
TEST_F(Tiling, EveryLoopAtEveryDegree) {
  uint64_t seed = fromEnvironment("SOAP_TEST_SEED", 1);
  constexpr int enough = 4, draws = 3000;
  struct Splits {
    int64_t largest = 0, drawn = 0;
    std::map<std::pair<int32_t, bool>, int> times; // Degree, into equal tiles.
  };
  for (auto [k, kind] : llvm::enumerate(allKinds())) {
    std::map<std::string, Splits> loops;
    for (int i = 0; i != draws; ++i) {
      Random random(seed * 999983 + k * 10007 + i);
      Scope scope(&context);
      PartitionOpInterface op =
          buildRandomOp(scope.block, kind, random, &context);
      declareParts(op, random);
      PartitionSpec spec = op.getPartitionSpec();
      std::vector<Tensor> operands, whole;
      for (const LoopSpec &loop : spec.loops) {
        Splits &splits = loops[loop.name.str()];
        splits.largest = std::max(splits.largest, loop.extent);
        ++splits.drawn;
        for (int32_t degree = 2; degree <= std::min<int64_t>(loop.extent, 4);
             ++degree) {
          if (splits.times[{degree, loop.extent % degree == 0}]++ >= enough)
            continue;
          if (whole.empty()) {
            operands = randomOperands(op, random);
            whole = evaluateAll(op, operands);
          }
          Degrees degrees = splitOf(spec, loop.name, degree);
          for (unsigned r = 0; r != whole.size(); ++r)
            ASSERT_TRUE(
                equal(combineTasks(op, degrees, operands, Mistake::None, r),
                      whole[r]))
                << "result " << r << ": " << describe(op, degrees);
          ASSERT_FALSE(HasFailure()) << describe(op, degrees);
        }
      }
    }
    for (auto &[loop, splits] : loops) {
      // Dimensions of ranks that hardly occur are like those before them.
      if (kind == "nn.reshape" && splits.drawn < draws / 20)
        continue;
      // There are two directions at most.
      int32_t most = loop == "dir" ? 2 : 4;
      for (int32_t degree = 2; degree <= most; ++degree)
        for (bool even : {true, false})
          if (even || most > 2)
            EXPECT_GE((splits.times[{degree, even}]), enough)
                << kind.str() << " loop " << loop << " of at most "
                << splits.largest << ": degree " << degree
                << (even ? ", equal tiles" : ", unequal tiles");
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

} // namespace
