//===- soap-evaluate-nn.cpp - Runs nn graphs in the reference evaluator ---===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Dialect/NN/Reference.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "soap/Runtime/RandomRecipe.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"

// soap-evaluate-nn MODEL.mlir --input=NAME=FILE.npy...
// --output=NAME=FILE.npy...
//
// For tests: computes the outputs of a graph with the evaluator that the unit
// tests of the dialect use, one element at a time in double. Slow; knows
// float32 only.

using namespace mlir;
using namespace soap;
using nn::test::Tensor;

static llvm::cl::opt<std::string> modelFile(llvm::cl::Positional,
                                            llvm::cl::Required);
static llvm::cl::list<std::string> inputs("input"), outputs("output");

[[noreturn]] static void fail(const llvm::Twine &message) {
  llvm::errs() << "error: " << message << "\n";
  exit(2);
}

static llvm::StringMap<std::string> filesByName(ArrayRef<std::string> texts) {
  llvm::StringMap<std::string> files;
  for (StringRef text : texts)
    files[text.split('=').first] = text.split('=').second.str();
  return files;
}

static Tensor readFloats(StringRef path, uint64_t offset,
                         RankedTensorType type) {
  auto buffer = llvm::MemoryBuffer::getFileSlice(
      path, static_cast<uint64_t>(type.getNumElements()) * 4, offset);
  if (!buffer)
    fail("cannot read '" + path + "'");
  Tensor tensor(type.getShape());
  for (auto [i, value] : llvm::enumerate(tensor.data)) {
    float element;
    std::memcpy(&element, (*buffer)->getBufferStart() + 4 * i, 4);
    value = static_cast<double>(element);
  }
  return tensor;
}

/// A float32 array of the expected shape, behind its header.
static Tensor readNumpy(StringRef path, RankedTensorType type) {
  auto buffer = llvm::MemoryBuffer::getFile(path, false, false);
  if (!buffer || (*buffer)->getBufferSize() < 10)
    fail("cannot read '" + path + "'");
  auto *bytes =
      reinterpret_cast<const unsigned char *>((*buffer)->getBufferStart());
  uint64_t offset = 10 + bytes[8] + 256u * bytes[9];
  if ((*buffer)->getBufferSize() !=
      offset + static_cast<uint64_t>(type.getNumElements()) * 4)
    fail("'" + path + "' has another size");
  return readFloats(path, offset, type);
}

static void writeNumpy(StringRef path, const Tensor &tensor) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
  for (int64_t dim : tensor.shape)
    header += std::to_string(dim) + ", ";
  header += "), }";
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::error_code code;
  llvm::raw_fd_ostream file(path, code);
  if (code)
    fail("cannot write '" + path + "'");
  file << "\x93NUMPY" << '\1' << '\0' << static_cast<char>(header.size() & 255)
       << static_cast<char>(header.size() >> 8) << header;
  for (double value : tensor.data) {
    auto element = static_cast<float>(value);
    file.write(reinterpret_cast<const char *>(&element), 4);
  }
}

static Tensor makeRandom(nn::RandomAttr recipe, RankedTensorType type) {
  uint64_t key = recipe::keyOf(
      recipe.getSeed(),
      recipe::hashName(recipe.getName().data(), recipe.getName().size()));
  double a = recipe.getA().convertToDouble(),
         b = recipe.getB().convertToDouble();
  bool normal = recipe.getDistribution() == nn::Distribution::Normal;
  Tensor tensor(type.getShape());
  for (auto [i, value] : llvm::enumerate(tensor.data))
    value = static_cast<float>(normal ? recipe::normal(key, i, a, b)
                                      : recipe::uniform(key, i, a, b));
  return tensor;
}

/// The whole of what a parameter reads, maybe a part.
static Tensor wholeValue(nn::ParameterOp op, ArrayRef<Tensor> init) {
  RankedTensorType type = op.getResult().getType();
  if (op.getGlobalShape())
    type = type.clone(*op.getGlobalShape());
  Attribute source = op.getSource();
  if (auto file = dyn_cast<nn::FileAttr>(source))
    return readFloats(file.getPath(), static_cast<uint64_t>(file.getOffset()),
                      type);
  if (auto splat = dyn_cast<nn::SplatAttr>(source))
    return Tensor(type.getShape(),
                  cast<FloatAttr>(splat.getValue()).getValueAsDouble());
  if (auto recipe = dyn_cast<nn::RandomAttr>(source))
    return makeRandom(recipe, type);
  auto index = static_cast<size_t>(cast<nn::InitAttr>(source).getIndex());
  if (index >= init.size())
    fail("@init has no result " + llvm::Twine(index));
  return init[index];
}

static Tensor parameterValue(nn::ParameterOp op, ArrayRef<Tensor> init) {
  Tensor whole = wholeValue(op, init);
  if (!op.getOffsets())
    return whole;
  Box box;
  for (auto [offset, size] :
       llvm::zip_equal(*op.getOffsets(), op.getResult().getType().getShape()))
    box.push_back({offset, offset + size});
  return whole.slice(box);
}

/// Evaluates a function and returns what it returns.
static std::vector<Tensor> run(func::FuncOp function, ArrayRef<Tensor> init) {
  auto inputFiles = filesByName(inputs), outputFiles = filesByName(outputs);
  nn::test::Environment values;
  std::vector<Tensor> returned;
  for (Operation &op : function.front()) {
    std::vector<Tensor> operands;
    for (Value operand : op.getOperands())
      operands.push_back(values[operand]);
    StringRef name;
    if (auto attribute = op.getAttrOfType<StringAttr>("nn.name"))
      name = attribute.getValue();
    if (isa<func::ReturnOp>(op)) {
      returned = operands;
    } else if (auto input = dyn_cast<nn::InputOp>(op)) {
      if (!inputFiles.contains(name))
        fail("no --input for '" + name + "'");
      values[input.getResult()] =
          readNumpy(inputFiles[name], input.getResult().getType());
    } else if (auto parameter = dyn_cast<nn::ParameterOp>(op)) {
      values[parameter.getResult()] = parameterValue(parameter, init);
    } else if (isa<nn::OutputOp>(op)) {
      if (outputFiles.contains(name))
        writeNumpy(outputFiles[name], operands[0]);
    } else {
      std::vector<Tensor> results = nn::test::evaluateAll(&op, operands);
      for (auto [result, tensor] : llvm::zip_equal(op.getResults(), results))
        values[result] = tensor;
    }
  }
  return returned;
}

int main(int argc, char **argv) {
  llvm::cl::ParseCommandLineOptions(argc, argv, "Reference evaluator\n");
  MLIRContext context;
  context.loadDialect<nn::NNDialect, func::FuncDialect>();
  auto module = parseSourceFile<ModuleOp>(modelFile, &context);
  auto main =
      module ? module->lookupSymbol<func::FuncOp>("main") : func::FuncOp();
  if (!main)
    fail("no @main");
  std::vector<Tensor> init;
  if (auto function = module->lookupSymbol<func::FuncOp>("init"))
    init = run(function, {});
  run(main, init);
  return 0;
}
