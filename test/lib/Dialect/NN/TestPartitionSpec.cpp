//===- TestPartitionSpec.cpp - Print partition specs ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --test-partition-spec prints the loops of every nn op with their kinds and
// the accesses of its operands and results. Where an op carries a configuration
// (`soap.config`), or just degrees (`test.degrees = {n = 2}`), it also prints
// what every task reads and writes, what it costs, and its local operations.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/SOAP/IR/SOAPAttrs.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;

namespace {

struct TestPartitionSpec
    : public PassWrapper<TestPartitionSpec, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestPartitionSpec)

  StringRef getArgument() const final { return "test-partition-spec"; }
  StringRef getDescription() const final {
    return "Print the partition specs of nn operations";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<func::FuncDialect>();
  }
  void runOnOperation() override;

private:
  void printOp(PartitionOpInterface op, llvm::raw_ostream &os);
  /// `config` may be null: then nothing says where the task runs.
  void printTask(PartitionOpInterface op, const Degrees &degrees, int64_t task,
                 soapir::ConfigAttr config, llvm::raw_ostream &os);

  llvm::DenseMap<Value, DimTraits> traits;
};

void printAccess(const ValueAccess &access, const PartitionSpec &spec,
                 llvm::raw_ostream &os) {
  os << '(';
  llvm::interleaveComma(access.dims, os, [&](const DimAccess &dim) {
    if (dim.loop < 0) {
      os << '[' << dim.lo << ',' << dim.hi << ']';
      return;
    }
    if (dim.div != 1)
      os << "floor((";
    os << spec.loops[dim.loop].name;
    if (dim.mul != 1)
      os << '*' << dim.mul;
    if (dim.lo == dim.hi && dim.lo != 0)
      os << (dim.lo > 0 ? "+" : "") << dim.lo;
    else if (dim.lo != dim.hi)
      os << "+[" << dim.lo << ',' << dim.hi << ']';
    if (dim.div != 1)
      os << ")/" << dim.div << ')';
  });
  os << ')';
  if (access.combine != Combine::None)
    os << ' ' << stringify(access.combine);
  if (access.firstOnly)
    os << " first only";
  if (access.unreduced)
    os << " unreduced";
}

void printBoxes(ArrayRef<Box> boxes, llvm::raw_ostream &os) {
  for (const Box &box : boxes) {
    os << ' ';
    if (isEmpty(box))
      os << "none";
    else
      os << soap::toString(box);
  }
}

void TestPartitionSpec::printTask(PartitionOpInterface op,
                                  const Degrees &degrees, int64_t task,
                                  soapir::ConfigAttr config,
                                  llvm::raw_ostream &os) {
  LocalTile tile = makeLocalTile(op, degrees, task);
  os << "  task " << task;
  if (config && config.getDevices()[task] == kHostDevice)
    os << " on host";
  else if (config)
    os << " on " << config.getDevices()[task];
  os << ": reads";
  printBoxes(tile.operandBoxes, os);
  os << " writes";
  printBoxes(tile.resultBoxes, os);
  os << " flops " << static_cast<int64_t>(op.getFlops(tile)) << " bytes "
     << static_cast<int64_t>(op.getBytes(tile)) << "\n    key "
     << kernelKey(op, tile) << '\n';

  // The arguments of a function stand for the pieces that the task reads.
  OpBuilder builder(op.getContext());
  OwningOpRef<func::FuncOp> function = func::FuncOp::create(
      op.getLoc(), "task", builder.getFunctionType({}, {}));
  Block &block = function->getBody().emplaceBlock();
  SmallVector<Value> operands;
  for (auto [operand, box] :
       llvm::zip_equal(op->getOperands(), tile.operandBoxes))
    operands.push_back(
        isEmpty(box) ? Value()
                     : block.addArgument(localType(operand.getType(), box),
                                         op.getLoc()));
  builder.setInsertionPointToEnd(&block);
  auto results = op.buildLocal(builder, operands, tile);
  if (failed(results)) {
    os << "    cannot be built\n";
    return;
  }
  for (Operation &local : block) {
    local.removeAttr("test.degrees");
    local.removeAttr(soapir::SOAPDialect::getConfigAttrName());
    os << "    ";
    // The function has no terminator: it would be printed in generic form.
    local.print(os, OpPrintingFlags().assumeVerified());
    os << '\n';
  }
}

void TestPartitionSpec::printOp(PartitionOpInterface op,
                                llvm::raw_ostream &os) {
  PartitionSpec spec = op.getPartitionSpec();
  SmallVector<DimTraits> operandTraits;
  for (Value operand : op->getOperands())
    operandTraits.push_back(traits.lookup(operand));
  SmallVector<LoopKind, 6> kinds = inferKinds(op, operandTraits);
  SmallVector<DimTraits, 2> results = inferTraits(op, operandTraits);
  for (auto [value, trait] : llvm::zip_equal(op->getResults(), results))
    traits[value] = trait;

  os << nn::getName(op) << ": " << op->getName() << "\n  loops:";
  for (auto [index, loop] : llvm::enumerate(spec.loops)) {
    os << ' ' << loop.name << '=' << loop.extent << ' '
       << stringify(kinds[index]);
    if (!spec.results.empty() && spec.isReduction(index))
      os << " reduction";
  }
  os << '\n';
  for (auto [i, access] : llvm::enumerate(spec.operands)) {
    os << "  operand " << i << ": ";
    printAccess(access, spec, os);
    os << '\n';
  }
  for (auto [i, access] : llvm::enumerate(spec.results)) {
    os << "  result " << i << ": ";
    printAccess(access, spec, os);
    os << '\n';
  }

  Degrees degrees;
  soapir::ConfigAttr config = soapir::getConfig(op);
  if (config) {
    degrees = config.toDegrees(spec);
  } else {
    auto written = op->getAttrOfType<DictionaryAttr>("test.degrees");
    if (!written)
      return;
    for (const LoopSpec &loop : spec.loops) {
      auto degree = written.getAs<IntegerAttr>(loop.name);
      degrees.loops.push_back(degree ? degree.getInt() : 1);
    }
  }
  for (int64_t task = 0, e = degrees.numTasks(); task != e; ++task)
    printTask(op, degrees, task, config, os);
}

void TestPartitionSpec::runOnOperation() {
  getOperation().walk([&](FunctionOpInterface function) {
    function.walk([&](PartitionOpInterface op) { printOp(op, llvm::outs()); });
  });
}

} // namespace

namespace soap::test {
void registerTestPartitionSpec() { PassRegistration<TestPartitionSpec>(); }
} // namespace soap::test
