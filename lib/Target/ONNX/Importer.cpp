//===- Importer.cpp - From an ONNX graph to nn ops --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "Operators.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include <set>

using namespace mlir;
using namespace soap;
using namespace soap::onnx_import;
using onnx::NodeProto;
using onnx::TensorProto;

/// Problems beyond this many are counted, not listed.
static constexpr size_t maxListed = 100;

/// A name of the file, safe to print.
static std::string quoted(llvm::StringRef name) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::printEscapedString(name, os);
  return "'" + os.str() + "'";
}

static llvm::Error listError(const llvm::Twine &headline,
                             llvm::ArrayRef<std::string> lines) {
  std::string text = headline.str();
  for (const std::string &line : lines.take_front(maxListed))
    text += "\n  " + line;
  if (lines.size() > maxListed)
    text += "\n  and " + std::to_string(lines.size() - maxListed) + " more";
  return makeError(text);
}

GraphImporter::GraphImporter(const Model &model,
                             const ONNXImportOptions &options, ModuleOp module)
    : model(model), options(options), module(module),
      builder(module.getContext()) {
  for (const TensorRecord &tensor : model.initializers())
    initializerNames.insert(tensor.proto.name());
}

llvm::Error GraphImporter::run() {
  if (llvm::Error error = checkNames())
    return error;
  findNeededNodes();
  if (llvm::Error error = checkOptions())
    return error;

  builder.setInsertionPointToEnd(module.getBody());
  auto function = builder.create<func::FuncOp>(module.getLoc(), "main",
                                               builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());

  const onnx::GraphProto &graph = model.graph();
  for (const onnx::ValueInfoProto &input : graph.input())
    reserved.insert(input.name());
  for (const auto &name : initializerNames)
    reserved.erase(name.getKey());
  for (const onnx::ValueInfoProto &output : graph.output())
    reserved.insert(output.name());
  if (llvm::Error error = importInitializers())
    return error;
  if (llvm::Error error = importInputs())
    return error;
  for (int i = 0; i != graph.node_size(); ++i)
    if (needed[static_cast<size_t>(i)])
      importNode(i);
  if (!problems.empty())
    return listError("expected only operators, attributes and types that are "
                     "supported, got: " +
                         llvm::Twine(problems.size()) +
                         (problems.size() == 1 ? " problem" : " problems") +
                         "; soap-translate --list-onnx-ops prints what is",
                     problems);
  if (llvm::Error error = importOutputs())
    return error;
  builder.create<func::ReturnOp>(module.getLoc());
  eraseUnread();
  return llvm::Error::success();
}

void GraphImporter::eraseUnread() {
  // Readers come behind what they read; an op may be listed twice.
  llvm::SmallPtrSet<Operation *, 8> seen;
  llvm::sort(replaced, [](Operation *a, Operation *b) {
    return a != b && b->isBeforeInBlock(a);
  });
  for (Operation *op : replaced)
    if (seen.insert(op).second && op->use_empty())
      op->erase();
}

void GraphImporter::addProblem(const NodeProto &node,
                               const llvm::Twine &message) {
  const std::string &name =
      node.name().empty() && node.output_size() ? node.output(0) : node.name();
  problems.push_back(node.op_type() + " " + quoted(name) + " (opset " +
                     std::to_string(model.opset()) + "): " + message.str());
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

llvm::Error GraphImporter::checkNames() const {
  const onnx::GraphProto &graph = model.graph();
  std::vector<std::string> lines;
  llvm::StringMap<int> definedBy; // Node, or -1.
  llvm::StringSet<> initializers;
  for (const TensorRecord &tensor : model.initializers()) {
    initializers.insert(tensor.proto.name());
    if (!definedBy.try_emplace(tensor.proto.name(), -1).second)
      lines.push_back("initializer " + quoted(tensor.proto.name()) +
                      " is defined twice");
  }
  for (const onnx::ValueInfoProto &input : graph.input())
    if (!definedBy.try_emplace(input.name(), -1).second &&
        !initializers.erase(input.name()))
      lines.push_back("input " + quoted(input.name()) + " is defined twice");
  for (int i = 0; i != graph.node_size(); ++i)
    for (const std::string &output : graph.node(i).output())
      if (!output.empty() && !definedBy.try_emplace(output, i).second)
        lines.push_back("tensor " + quoted(output) + " is defined twice");
  for (int i = 0; i != graph.node_size(); ++i)
    for (const std::string &name : graph.node(i).input()) {
      if (name.empty())
        continue;
      auto it = definedBy.find(name);
      if (it == definedBy.end())
        lines.push_back("tensor " + quoted(name) + " is read but not defined");
      else if (it->second >= i)
        lines.push_back("tensor " + quoted(name) +
                        " is read before it is defined (a cycle, or nodes that "
                        "are not sorted)");
    }
  for (const onnx::ValueInfoProto &output : graph.output())
    if (!definedBy.contains(output.name()))
      lines.push_back("output " + quoted(output.name()) + " is not defined");
  if (graph.output_size() == 0)
    lines.push_back("the graph has no outputs");
  if (lines.empty())
    return llvm::Error::success();
  return listError(
      "expected a well-formed graph, got: " + llvm::Twine(lines.size()) +
          (lines.size() == 1 ? " mistake" : " mistakes") +
          "; check the model with onnx.checker",
      lines);
}

void GraphImporter::findNeededNodes() {
  const onnx::GraphProto &graph = model.graph();
  for (const onnx::ValueInfoProto &output : graph.output())
    read.insert(output.name());
  needed.assign(static_cast<size_t>(graph.node_size()), false);
  // Nodes are sorted, so that one pass from the end suffices.
  for (int i = graph.node_size() - 1; i >= 0; --i) {
    const NodeProto &node = graph.node(i);
    if (llvm::none_of(node.output(), [&](const std::string &output) {
          return read.contains(output);
        }))
      continue;
    needed[static_cast<size_t>(i)] = true;
    for (const std::string &input : node.input())
      read.insert(input);
  }
}

std::string GraphImporter::uniqueName(llvm::StringRef base) {
  std::string stem = llvm::json::fixUTF8(base);
  if (stem.empty())
    stem = "unnamed";
  std::string name = stem;
  unsigned &suffix = suffixes[stem];
  while (reserved.contains(name) || !names.insert(name).second)
    name = stem + "_" + std::to_string(++suffix);
  return name;
}

//===----------------------------------------------------------------------===//
// Initializers and inputs
//===----------------------------------------------------------------------===//

llvm::Error GraphImporter::importInitializers() {
  for (const TensorRecord &record : model.initializers())
    if (read.contains(record.proto.name()))
      if (llvm::Error error = storeTensor(record.proto.name(), record,
                                          values[record.proto.name()]))
        return error;
  return llvm::Error::success();
}

llvm::Error GraphImporter::storeTensor(const std::string &name,
                                       const TensorRecord &record,
                                       ImportedValue &result) {
  result = ImportedValue();
  result.elementType = record.proto.data_type();
  result.shape = record.shape();
  int64_t count = countElements(result.shape).value_or(0);
  auto reference = model.locate(record);
  if (!reference)
    return reference.takeError();
  if (result.elementType == TensorProto::FLOAT && !result.shape.empty() &&
      count != 0) {
    if (!*reference)
      return makeError("expected the values of tensor " + quoted(name) +
                       " in the file, got: none; the file is corrupt");
    result.kind = ImportedValue::Kind::Stored;
    result.origin = name;
    result.source =
        nn::FileAttr::get(builder.getContext(), (*reference)->file,
                          static_cast<int64_t>((*reference)->offset),
                          static_cast<int64_t>((*reference)->length));
    return llvm::Error::success();
  }
  if (count > maxHostElements || elementSize(result.elementType) == 0) {
    result.problem = "expected float weights or small constants, got: tensor " +
                     quoted(name) + " of type " + typeName(result.elementType) +
                     " and shape " + toString(result.shape);
    return llvm::Error::success();
  }
  llvm::Expected<HostTensor> host = model.read(record);
  if (!host)
    return host.takeError();
  result.kind = ImportedValue::Kind::Host;
  result.host = std::move(*host);
  return llvm::Error::success();
}

/// The name that --dim gives to dimension `k` of an input without a size.
static std::string keyOfDim(const onnx::ValueInfoProto &input, int k) {
  const std::string &symbol =
      input.type().tensor_type().shape().dim(k).dim_param();
  return symbol.empty() ? input.name() + ":" + std::to_string(k) : symbol;
}

/// What --dim may name.
static std::set<std::string> symbolicDims(const onnx::GraphProto &graph) {
  std::set<std::string> result;
  for (const onnx::ValueInfoProto &input : graph.input()) {
    const auto &shape = input.type().tensor_type().shape();
    for (int k = 0; k != shape.dim_size(); ++k)
      if (!shape.dim(k).has_dim_value())
        result.insert(keyOfDim(input, k));
  }
  return result;
}

llvm::Error GraphImporter::checkOptions() const {
  std::map<std::string, bool> inputs;
  std::string list;
  for (const onnx::ValueInfoProto &input : model.graph().input())
    if (!initializerNames.contains(input.name())) {
      inputs[input.name()] = true;
      list += (list.empty() ? "" : ", ") + quoted(input.name());
    }
  auto unknown = [&](llvm::StringRef flag, const std::string &name) {
    return makeError("expected one of the inputs " + list + " in " + flag +
                     ", got: " + quoted(name));
  };
  for (const auto &[name, dim] : options.batchDims)
    if (!inputs.count(name))
      return unknown("--batch-dim", name);
  for (const auto &[name, file] : options.bindings)
    if (!inputs.count(name))
      return unknown("--bind", name);
  auto checkSize = [](const llvm::Twine &flag, int64_t size) -> llvm::Error {
    if (size > 0 && size <= maxDim)
      return llvm::Error::success();
    return makeError("expected a positive size in " + flag +
                     ", got: " + llvm::Twine(size));
  };
  if (options.batch)
    if (llvm::Error error = checkSize("--batch", *options.batch))
      return error;
  std::set<std::string> symbols = symbolicDims(model.graph());
  for (const auto &[name, size] : options.dims) {
    if (!symbols.count(name))
      return makeError(
          symbols.empty()
              ? "expected no --dim, as all dimensions have sizes, got: " +
                    quoted(name) + "; --batch=N replaces the batch size"
              : "expected one of the symbolic dimensions '" +
                    llvm::join(symbols, "', '") +
                    "' in --dim, got: " + quoted(name));
    if (llvm::Error error = checkSize("--dim=" + name, size))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error GraphImporter::importInputs() {
  for (const onnx::ValueInfoProto &input : model.graph().input()) {
    if (values.contains(input.name()))
      continue;
    if (initializerNames.contains(input.name()))
      continue; // Nobody reads it.
    auto binding = options.bindings.find(input.name());
    if (llvm::Error error = binding != options.bindings.end()
                                ? bindInput(input.name(), binding->second)
                                : importInput(input))
      return error;
  }
  if (missingDims.empty())
    return llvm::Error::success();
  return listError("expected sizes of all symbolic dimensions, got: none for " +
                       llvm::Twine(missingDims.size()) +
                       "; add --batch=N or --dim=NAME=N",
                   missingDims);
}

llvm::Error GraphImporter::importInput(const onnx::ValueInfoProto &input) {
  const std::string &name = input.name();
  if (!input.type().has_tensor_type())
    return makeError("expected tensors as inputs, got: " + quoted(name) +
                     ", which is of another type");
  const onnx::TypeProto::Tensor &type = input.type().tensor_type();
  if (type.elem_type() != TensorProto::FLOAT &&
      type.elem_type() != TensorProto::INT32 &&
      type.elem_type() != TensorProto::INT64 &&
      type.elem_type() != TensorProto::BOOL)
    return makeError("expected inputs of type FLOAT, INT32, INT64 or BOOL, "
                     "got: " +
                     typeName(type.elem_type()) + " for " + quoted(name));
  if (!type.has_shape())
    return makeError("expected a rank for every input, got: none for " +
                     quoted(name) + "; add its shape to the model");
  int64_t rank = type.shape().dim_size();
  if (rank > static_cast<int64_t>(maxRank))
    return makeError("expected inputs of rank " + llvm::Twine(maxRank) +
                     " or less, got: " + llvm::Twine(rank) + " for " +
                     quoted(name));
  auto batchDimOption = options.batchDims.find(name);
  int64_t batchDim = 0;
  if (batchDimOption != options.batchDims.end()) {
    batchDim = batchDimOption->second;
    if (batchDim < 0 || batchDim >= rank)
      return makeError("expected a dimension below " + llvm::Twine(rank) +
                       " in --batch-dim=" + name +
                       ", got: " + llvm::Twine(batchDim));
  }
  std::string batchSymbol;
  if (batchDim < rank)
    batchSymbol = type.shape().dim(static_cast<int>(batchDim)).dim_param();

  Shape shape;
  SmallVector<int64_t> sampleDims;
  for (int64_t k = 0; k != rank; ++k) {
    const auto &dim = type.shape().dim(static_cast<int>(k));
    const std::string &symbol = dim.dim_param();
    bool isBatch =
        k == batchDim || (!batchSymbol.empty() && symbol == batchSymbol);
    std::string key = keyOfDim(input, static_cast<int>(k));
    auto bound = options.dims.find(key);
    int64_t size = 0;
    if (dim.has_dim_value()) {
      size = dim.dim_value();
      if (isBatch && options.batch && *options.batch != size) {
        if (oldBatch && *oldBatch != size)
          return makeError("expected one batch size to replace, got: " +
                           llvm::Twine(*oldBatch) + " and " +
                           llvm::Twine(size) + " for " + quoted(name) +
                           "; say with --batch-dim which dimension it is");
        oldBatch = size;
        size = *options.batch;
      }
    } else if (bound != options.dims.end()) {
      size = bound->second;
    } else if (isBatch && options.batch) {
      size = *options.batch;
    } else {
      missingDims.push_back(quoted(key) + ": dimension " + std::to_string(k) +
                            " of input " + quoted(name));
      size = 1;
    }
    if (isBatch)
      sampleDims.push_back(k);
    shape.push_back(size);
  }
  if (countElements(shape).value_or(0) == 0)
    return makeError("expected inputs with elements and within bounds, got: " +
                     toString(shape) + " for " + quoted(name));
  names.insert(name);
  OperationState state(NameLoc::get(builder.getStringAttr(name)),
                       nn::InputOp::getOperationName());
  state.addTypes(tensorType(shape, type.elem_type()));
  state.addAttribute("nn.name",
                     builder.getStringAttr(llvm::json::fixUTF8(name)));
  state.addAttribute("sample_dims", builder.getDenseI64ArrayAttr(sampleDims));
  ImportedValue &value = values[name];
  value.kind = ImportedValue::Kind::Tensor;
  value.elementType = type.elem_type();
  value.shape = shape;
  value.value = builder.create(state)->getResult(0);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Nodes and outputs
//===----------------------------------------------------------------------===//

bool GraphImporter::checkNode(const NodeProto &node) {
  size_t before = problems.size();
  bool standard = node.domain().empty() || node.domain() == "ai.onnx";
  const OperatorEntry *entry =
      standard ? findOperator(node.op_type()) : nullptr;
  if (!entry) {
    addProblem(node, standard ? "the operator is not supported"
                              : "operators of domain " + quoted(node.domain()) +
                                    " are not supported");
    return false;
  }
  if (model.opset() < entry->since)
    addProblem(node, "the operator is not part of this operator set");
  size_t inputs = static_cast<size_t>(node.input_size());
  if (inputs < entry->minInputs || inputs > entry->maxInputs)
    addProblem(node, "expected " + llvm::Twine(entry->minInputs) + " to " +
                         llvm::Twine(entry->maxInputs) +
                         " inputs, got: " + llvm::Twine(inputs));
  for (unsigned i = 0; i < entry->minInputs && i < inputs; ++i)
    if (node.input(static_cast<int>(i)).empty())
      addProblem(node, "expected input " + llvm::Twine(i) + ", got: none");
  SmallVector<llvm::StringRef> known;
  entry->attributes.split(known, ' ');
  for (const onnx::AttributeProto &attribute : node.attribute())
    if (!llvm::is_contained(known, llvm::StringRef(attribute.name())))
      addProblem(node,
                 "attribute " + quoted(attribute.name()) + " is not supported");
    else if (!attribute.ref_attr_name().empty())
      addProblem(node, "attribute " + quoted(attribute.name()) +
                           " refers to a function's attribute");
  return problems.size() == before;
}

void GraphImporter::importNode(int index) {
  const NodeProto &node = model.graph().node(index);
  // Whatever happens, names that this node defines exist.
  for (const std::string &output : node.output())
    if (!output.empty())
      values.try_emplace(output);
  if (!checkNode(node))
    return;
  const OperatorEntry &entry = *findOperator(node.op_type());
  bool allHost = true;
  for (const std::string &name : node.input()) {
    if (name.empty())
      continue;
    ImportedValue &value = values[name];
    if (value.kind == ImportedValue::Kind::Failed) {
      if (!value.problem.empty())
        addProblem(node, value.problem);
      return;
    }
    allHost &= value.kind == ImportedValue::Kind::Host;
  }
  NodeContext context(*this, node, index);
  context.canRun = entry.import != nullptr;
  auto function = entry.fold && allHost ? entry.fold : entry.import;
  if (!function) {
    addProblem(node, "expected operands that are known at compile time, got: "
                     "one that depends on an input");
    return;
  }
  size_t before = problems.size();
  LogicalResult result = function(context);
  if (failed(result) && context.isTooLargeToFold)
    result = entry.import(context);
  if (failed(result)) {
    if (problems.size() == before)
      addProblem(node, "the node could not be imported");
    return;
  }
  for (const std::string &output : node.output())
    if (!output.empty() && read.contains(output)) {
      ImportedValue &value = values[output];
      if (value.kind == ImportedValue::Kind::Failed)
        value.problem = "output " + quoted(output) + " of " + node.op_type() +
                        " is not supported";
    }
}

Value GraphImporter::copyOf(Value value, llvm::StringRef name) {
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  OperationState state(NameLoc::get(builder.getStringAttr(name)),
                       nn::SliceOp::getOperationName());
  state.addOperands(value);
  state.addTypes(value.getType());
  state.addAttribute("nn.name",
                     builder.getStringAttr(uniqueName((name + "_copy").str())));
  state.addAttribute(
      "starts", builder.getDenseI64ArrayAttr(SmallVector<int64_t>(rank, 0)));
  state.addAttribute(
      "steps", builder.getDenseI64ArrayAttr(SmallVector<int64_t>(rank, 1)));
  return builder.create(state)->getResult(0);
}

llvm::Error GraphImporter::importOutputs() {
  for (const onnx::ValueInfoProto &output : model.graph().output()) {
    const std::string &name = output.name();
    ImportedValue &value = values[name];
    if (value.kind == ImportedValue::Kind::Failed)
      return makeError("expected a supported output, got: " + quoted(name) +
                       ": " + value.problem);
    if (countElements(value.shape).value_or(0) == 0)
      return makeError("expected outputs with elements, got: " +
                       toString(value.shape) + " for " + quoted(name));
    Value result = materialize(value, name);
    if (result.getDefiningOp<nn::InputOp>())
      result = copyOf(result, name);
    OperationState state(NameLoc::get(builder.getStringAttr(name)),
                         nn::OutputOp::getOperationName());
    state.addOperands(result);
    // The name is reserved: only an input can have it already.
    std::string unique = names.insert(name).second ? llvm::json::fixUTF8(name)
                                                   : uniqueName(name);
    state.addAttribute("nn.name", builder.getStringAttr(unique));
    builder.create(state);
  }
  return llvm::Error::success();
}

RankedTensorType GraphImporter::tensorType(llvm::ArrayRef<int64_t> shape,
                                           int elementType) {
  Type element = builder.getF32Type();
  if (elementType == TensorProto::DOUBLE)
    element = builder.getF64Type();
  else if (elementType == TensorProto::BOOL)
    element = builder.getI1Type();
  else if (elementType != TensorProto::FLOAT)
    element = builder.getIntegerType(
        static_cast<unsigned>(8 * elementSize(elementType)));
  return RankedTensorType::get(shape, element);
}

Value GraphImporter::materialize(ImportedValue &value, llvm::StringRef name) {
  if (value.value)
    return value.value;
  RankedTensorType type = tensorType(value.shape, value.elementType);
  bool stored = value.kind == ImportedValue::Kind::Stored;
  // Views of one tensor share its recipe: the location is the tensor's.
  OperationState state(
      NameLoc::get(builder.getStringAttr(stored ? value.origin : name.str())),
      stored ? nn::ParameterOp::getOperationName()
             : nn::ConstantOp::getOperationName());
  state.addTypes(type);
  state.addAttribute("nn.name", builder.getStringAttr(uniqueName(name)));
  if (stored) {
    state.addAttribute("source", value.source);
  } else {
    SmallVector<Attribute> elements;
    for (int64_t i = 0, e = value.host.size(); i != e; ++i)
      elements.push_back(
          value.host.integral()
              ? Attribute(builder.getIntegerAttr(type.getElementType(),
                                                 value.host.ints[i]))
              : Attribute(builder.getFloatAttr(type.getElementType(),
                                               value.host.floats[i])));
    state.addAttribute("value", DenseElementsAttr::get(type, elements));
  }
  value.value = builder.create(state)->getResult(0);
  return value.value;
}

//===----------------------------------------------------------------------===//
// Entry point
//===----------------------------------------------------------------------===//

llvm::Expected<OwningOpRef<ModuleOp>>
soap::importONNX(llvm::StringRef path, const ONNXImportOptions &options,
                 MLIRContext &context) {
  context.loadDialect<nn::NNDialect, func::FuncDialect>();
  auto opened = Model::load(path);
  if (!opened)
    return opened.takeError();
  OwningOpRef<ModuleOp> module =
      ModuleOp::create(NameLoc::get(StringAttr::get(&context, path)));
  std::string diagnostics;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      diagnostics += "\n  " + diagnostic.str();
    return success();
  });
  GraphImporter importer(**opened, options, *module);
  if (llvm::Error error = importer.run())
    return std::move(error);
  if (failed(verify(*module)))
    return makeError("expected a model that is valid ONNX, got: ops that the "
                     "verifier rejects; check it with onnx.checker" +
                     diagnostics);
  if (options.initWeightsSeed)
    initializeWeights(*module, *options.initWeightsSeed);
  return std::move(module);
}
