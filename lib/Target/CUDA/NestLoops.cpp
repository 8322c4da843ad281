//===- NestLoops.cpp - Nests of loops for many threads --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Distribution.h"
#include "Iteration.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace soap;
using namespace soap::cuda;

void Distribution::emitForLoop(const NestCopy &copy, unsigned number) {
  scf::ForOp around = copy.nest.forLoops()[number];
  Value variable = around.getInductionVar();
  if (Value iv = copy.ivs[number]) {
    copy.mapping.map(variable, iv);
    return emitForBody(copy, number);
  }
  loop(constant(0), constant(copy.nest.sizes()[number]), constant(1),
       [&](Value iv) {
         copy.mapping.map(variable, iv);
         emitForBody(copy, number);
       });
}

void Distribution::emitForBody(const NestCopy &copy, unsigned number) {
  ArrayRef<scf::ForOp> loops = copy.nest.forLoops();
  scf::ForOp around = loops[number];
  for (Operation &op : around.getBody()->without_terminator()) {
    if (number + 1 != loops.size() && &op == loops[number + 1])
      emitForLoop(copy, number + 1);
    else if (&op == copy.nest.computation())
      emitComputation(copy);
    else
      builder_.clone(op, copy.mapping);
  }
}

/// Element by element, those of a sum, too: each is read and written.
void Distribution::emitComputation(const NestCopy &copy) {
  size_t forLoops = copy.nest.forLoops().size();
  Iteration iteration;
  iteration.op = cast<linalg::LinalgOp>(
      builder_.clone(*copy.nest.computation(), copy.mapping));
  Values ivs(copy.ivs.drop_front(forLoops));
  auto emitFrom = [&](auto &self, size_t dim) -> void {
    if (dim == ivs.size())
      return emitElement(iteration, ivs);
    if (ivs[dim])
      return self(self, dim + 1);
    loop(constant(0), constant(copy.nest.sizes()[forLoops + dim]), constant(1),
         [&](Value iv) {
           ivs[dim] = iv;
           self(self, dim + 1);
         });
    ivs[dim] = {};
  };
  emitFrom(emitFrom, 0);
  iteration.op->erase();
}

WorkSize Distribution::emitNest(const native::LoopNest &nest,
                                IRMapping mapping) {
  loc_ = nest.getOperation()->getLoc();
  SmallVector<unsigned> shared;
  SmallVector<OpFoldResult> sizes;
  for (unsigned number = 0; number != nest.numLoops(); ++number) {
    if (!nest.isIndependent(number))
      continue;
    shared.push_back(number);
    sizes.push_back(builder_.getIndexAttr(nest.sizes()[number]));
  }
  loop(workers_.index, product(sizes), workers_.count, [&](Value index) {
    Values ivs(nest.numLoops());
    for (auto [number, iv] : llvm::zip_equal(shared, delinearize(index, sizes)))
      ivs[number] = iv;
    emitForLoop({nest, mapping, ivs}, 0);
  });
  return workOf(sizes, 1);
}
