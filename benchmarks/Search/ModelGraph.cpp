//===- ModelGraph.cpp - Operator graphs of models -------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelGraph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/NN/Transforms/Passes.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "soap/Pipelines/Pipelines.h"
#include "soap/Target/ONNX/Import.h"
#include "llvm/Support/Path.h"

using namespace soap;

llvm::Expected<ModelSpec> ModelSpec::parse(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef, 3> parts;
  text.split(parts, ':');
  ModelSpec spec;
  spec.path = parts[0].str();
  if (spec.isNN() && parts.size() > 1)
    return llvm::createStringError(
        "expected no batch and no steps with '" + spec.path +
        "', which was made for some, got: '" + text + "'");
  if (parts[0].empty() || parts.size() > 3 ||
      (parts.size() > 1 &&
       (parts[1].getAsInteger(10, spec.batch) || spec.batch < 1)) ||
      (parts.size() > 2 &&
       (parts[2].getAsInteger(10, spec.unroll) || spec.unroll < 0)))
    return llvm::createStringError(
        "expected FILE.onnx[:BATCH[:UNROLL]] with a batch of at least 1 and at "
        "least 0 steps, or FILE.mlir, got: '" +
        text + "'");
  return spec;
}

bool ModelSpec::isNN() const {
  return llvm::StringRef(path).ends_with(".mlir");
}

std::string ModelSpec::name() const {
  return llvm::sys::path::stem(path).str();
}

std::vector<std::string> soap::splitTopologies(llvm::StringRef list) {
  std::vector<std::string> result;
  llvm::SmallVector<llvm::StringRef, 8> pieces;
  list.split(pieces, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (llvm::StringRef piece : pieces) {
    if (!result.empty() && piece.contains('=') && !piece.contains(':'))
      result.back() += "," + piece.str();
    else
      result.push_back(piece.str());
  }
  return result;
}

static mlir::DialectRegistry dialects() {
  mlir::DialectRegistry registry;
  registry
      .insert<mlir::func::FuncDialect, nn::NNDialect, soapir::SOAPDialect>();
  return registry;
}

ModelGraph::ModelGraph()
    : context_(dialects(), mlir::MLIRContext::Threading::DISABLED) {
  context_.loadAllAvailableDialects();
}

llvm::Error ModelGraph::readNN(const ModelSpec &spec) {
  module_ = mlir::parseSourceFile<mlir::ModuleOp>(
      spec.path, mlir::ParserConfig(&context_));
  if (!module_)
    return llvm::createStringError("expected what --emit=nn printed, got: '" +
                                   spec.path + "'");
  // As the compiler does before a strategy is chosen.
  mlir::PassManager passes(&context_);
  passes.addNestedPass<mlir::func::FuncOp>(nn::createFusePass());
  return mlir::succeeded(passes.run(*module_)) ? llvm::Error::success()
                                               : notPlanned(spec);
}

llvm::Error ModelGraph::importModel(const ModelSpec &spec) {
  ONNXImportOptions options;
  options.batch = spec.batch;
  auto module = importONNX(spec.path, options, context_);
  if (!module)
    return module.takeError();
  module_ = std::move(*module);
  mlir::PassManager passes(&context_);
  NormalizeChoices choices;
  choices.unrollRNN = spec.unroll;
  buildNormalizePipeline(passes, choices);
  return mlir::succeeded(passes.run(*module_)) ? llvm::Error::success()
                                               : notPlanned(spec);
}

llvm::Error ModelGraph::notPlanned(const ModelSpec &spec) {
  return llvm::createStringError(
      "expected a model that can be planned, got: '" + spec.path + "'");
}

llvm::Expected<std::unique_ptr<ModelGraph>>
ModelGraph::load(const ModelSpec &spec) {
  std::unique_ptr<ModelGraph> model(new ModelGraph());
  if (llvm::Error error =
          spec.isNN() ? model->readNN(spec) : model->importModel(spec))
    return std::move(error);
  auto function = getMainFunction(*model->module_);
  if (mlir::failed(function))
    return notPlanned(spec);
  auto extracted = extractOperatorGraph(*function);
  if (mlir::failed(extracted))
    return notPlanned(spec);
  model->extracted_ = std::move(*extracted);
  return model;
}

int64_t ModelGraph::numComputeNodes() const {
  return llvm::count_if(graph().nodes(), [](const GraphNode &node) {
    return node.role == NodeRole::Compute;
  });
}
