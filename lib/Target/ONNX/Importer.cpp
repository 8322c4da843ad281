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
#include "soap/Dialect/NN/IR/EmptyOutputs.h"
#include "soap/Dialect/NN/IR/NNTraining.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace soap;
using namespace soap::onnx_import;
using onnx::NodeProto;
using onnx::TensorProto;

GraphImporter::GraphImporter(const Model &model,
                             const ONNXImportOptions &options, ModuleOp module)
    : model_(model), options_(options), module_(module),
      builder_(module.getContext()) {
  for (const TensorRecord &tensor : model.initializers())
    initializerNames_.insert(tensor.proto.name());
  mainScope_.sets = model.operatorSets();
}

llvm::Error GraphImporter::run() {
  if (llvm::Error error = checkNames())
    return error;
  findNeededNodes();
  if (llvm::Error error = checkOptions())
    return error;

  builder_.setInsertionPointToEnd(module_.getBody());
  auto function = builder_.create<func::FuncOp>(
      module_.getLoc(), "main", builder_.getFunctionType({}, {}));
  builder_.setInsertionPointToStart(function.addEntryBlock());

  const onnx::GraphProto &graph = model_.graph();
  for (const onnx::ValueInfoProto &input : graph.input())
    reserved_.insert(input.name());
  for (const auto &name : initializerNames_)
    reserved_.erase(name.getKey());
  for (const onnx::ValueInfoProto &output : graph.output())
    reserved_.insert(output.name());
  if (llvm::Error error = importInitializers())
    return error;
  if (llvm::Error error = importInputs())
    return error;
  for (int i = 0; i != graph.node_size(); ++i)
    if (needed_[static_cast<size_t>(i)])
      importNode(graph.node(i), i);
  if (!problems_.empty())
    return listError("expected only operators, attributes and types that are "
                     "supported, got: " +
                         llvm::Twine(problems_.size()) +
                         (problems_.size() == 1 ? " problem" : " problems") +
                         "; soap-translate --list-onnx-ops prints what is",
                     problemLines());
  if (llvm::Error error = importOutputs())
    return error;
  builder_.create<func::ReturnOp>(module_.getLoc());
  eraseUnread();
  return llvm::Error::success();
}

void GraphImporter::eraseUnread() {
  // Readers come behind what they read; an op may be listed twice.
  llvm::SmallPtrSet<Operation *, 8> seen;
  llvm::sort(replaced_, [](Operation *a, Operation *b) {
    return a != b && b->isBeforeInBlock(a);
  });
  for (Operation *op : replaced_)
    if (seen.insert(op).second && op->use_empty())
      op->erase();
}

std::string GraphImporter::uniqueName(llvm::StringRef base) {
  std::string stem = llvm::json::fixUTF8(base);
  if (stem.empty())
    stem = "unnamed";
  std::string name = stem;
  unsigned &suffix = suffixes_[stem];
  while (reserved_.contains(name) || !names_.insert(name).second)
    name = stem + "_" + std::to_string(++suffix);
  return name;
}

void GraphImporter::addProblem(const NodeProto &node,
                               const llvm::Twine &message) {
  const std::string &name =
      node.name().empty() && node.output_size() ? node.output(0) : node.name();
  problems_.push_back(
      {node.op_type(), name, message.str(),
       "(opset " + std::to_string(opset()) + ")" + scope_->note});
}

std::vector<std::string> GraphImporter::problemLines() const {
  std::vector<std::pair<const NodeProblem *, size_t>> groups;
  llvm::StringMap<size_t> groupOf;
  for (const NodeProblem &problem : problems_) {
    auto [entry, isNew] = groupOf.try_emplace(
        problem.type + '\0' + problem.where + '\0' + problem.message,
        groups.size());
    if (isNew)
      groups.push_back({&problem, 0});
    else
      ++groups[entry->second].second;
  }
  std::vector<std::string> lines;
  for (auto [problem, others] : groups)
    lines.push_back(problem->type + " " + quoted(problem->name) +
                    (others ? " and " + std::to_string(others) + " more" : "") +
                    " " + problem->where + ": " + problem->message);
  return lines;
}

//===----------------------------------------------------------------------===//
// Nodes and outputs
//===----------------------------------------------------------------------===//

bool GraphImporter::checkNode(const NodeProto &node) {
  size_t before = problems_.size();
  bool standard = isStandard(node);
  const OperatorEntry *entry =
      standard ? findOperator(node.op_type()) : nullptr;
  if (!entry) {
    addProblem(node, standard ? "the operator is not supported"
                              : "operators of domain " + quoted(node.domain()) +
                                    " are not supported");
    return false;
  }
  if (opset() < entry->since && entry->since > 7) {
    addProblem(node, "expected operator set " + llvm::Twine(entry->since) +
                         " or newer for this operator, got: an older one; "
                         "convert the model, for instance with "
                         "onnx.version_converter");
    return false;
  }
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
  bool byBody =
      !entry->import &&
      !entry->fold; // The schema of the operator says which attributes it has.
  for (const onnx::AttributeProto &attribute : node.attribute())
    if (!byBody &&
        !llvm::is_contained(known, llvm::StringRef(attribute.name())))
      addProblem(node,
                 "attribute " + quoted(attribute.name()) + " is not supported");
    else if (!attribute.ref_attr_name().empty())
      addProblem(node, "attribute " + quoted(attribute.name()) +
                           " refers to a function's attribute");
  return problems_.size() == before && checkValid(node);
}

bool GraphImporter::checkValid(const NodeProto &node) {
  llvm::Error wrong = checkAgainstSchema(node, opset());
  if (!wrong)
    return true;
  addProblem(node, "expected a node that is valid ONNX, got: " +
                       toString(std::move(wrong)));
  return false;
}

bool GraphImporter::checkOperands(const NodeProto &node, bool &allHost) {
  allHost = true;
  for (const std::string &name : node.input()) {
    if (name.empty())
      continue;
    ImportedValue &value = values_[name];
    if (value.kind == ImportedValue::Kind::Failed) {
      if (!value.problem.empty())
        addProblem(node, value.problem);
      return false;
    }
    allHost &= value.kind == ImportedValue::Kind::Host;
  }
  return true;
}

/// FLOAT for operators on FLOAT16 and BFLOAT16 that become several ops, none of
/// which is a product.
static Type computeTypeOf(NodeContext &node) {
  if (!node.hasInput(0))
    return nullptr;
  int type = node.input(0).elementType;
  llvm::StringRef name = node.node.op_type();
  bool isComposed = llvm::StringSwitch<bool>(name)
                        .Cases("GroupNormalization", "InstanceNormalization",
                               "LpNormalization", "MeanVarianceNormalization",
                               "RMSNormalization", true)
                        .Cases("HardSigmoid", "HardSwish", "LeakyRelu", "Mean",
                               "Mish", "Softplus", true)
                        .Cases("Scatter", "ScatterElements", "ScatterND",
                               node.string("reduction", "none") != "none")
                        .Default(name.starts_with("Reduce"));
  bool isNarrow = type == TensorProto::FLOAT16 || type == TensorProto::BFLOAT16;
  return isComposed && isNarrow ? Type(node.builder().getF32Type()) : nullptr;
}

void GraphImporter::importNode(const NodeProto &node, int index) {
  // The names that this node defines exist from here on, whatever happens.
  for (const std::string &output : node.output())
    if (!output.empty())
      values_.try_emplace(output);
  if (importOldForm(node) || importControlFlow(node) || importSequence(node) ||
      importEmpty(node) || importCall(node) || !checkNode(node))
    return;
  const OperatorEntry &entry = *findOperator(node.op_type());
  bool allHost = true;
  if (!checkOperands(node, allHost))
    return;
  NodeContext context(*this, node, index);
  context.canRun = entry.import != nullptr;
  context.computeType = computeTypeOf(context);
  auto function = entry.fold && allHost ? entry.fold : entry.import;
  if (!function && entry.fold &&
      llvm::all_of(node.input(), [&](const std::string &name) {
        return name.empty() || evaluate(values_[name]);
      }))
    function = entry.fold;
  if (!function) {
    addProblem(node, "expected operands that are known at compile time, got: "
                     "one that depends on an input");
    return;
  }
  size_t before = problems_.size();
  LogicalResult result = function(context);
  if (failed(result) && context.isTooLargeToFold)
    result = entry.import(context);
  if (failed(result)) {
    if (problems_.size() == before)
      addProblem(node, "the node could not be imported");
    return;
  }
  for (const std::string &output : node.output())
    if (!output.empty() && read_.contains(output)) {
      ImportedValue &value = values_[output];
      if (value.kind == ImportedValue::Kind::Failed)
        value.problem = "output " + quoted(output) + " of " + node.op_type() +
                        " is not supported";
    }
}

Value GraphImporter::copyOf(Value value, llvm::StringRef name) {
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  OperationState state(NameLoc::get(builder_.getStringAttr(name)),
                       nn::SliceOp::getOperationName());
  state.addOperands(value);
  state.addTypes(value.getType());
  state.addAttribute(
      "nn.name", builder_.getStringAttr(uniqueName((name + "_copy").str())));
  state.addAttribute(
      "starts", builder_.getDenseI64ArrayAttr(SmallVector<int64_t>(rank, 0)));
  state.addAttribute(
      "steps", builder_.getDenseI64ArrayAttr(SmallVector<int64_t>(rank, 1)));
  return builder_.create(state)->getResult(0);
}

llvm::Error GraphImporter::importOutput(const std::string &name,
                                        const std::string &tensor) {
  ImportedValue &value = values_[tensor];
  if (value.kind == ImportedValue::Kind::Failed)
    return makeError("expected a supported output, got: " + quoted(name) +
                     ": " + value.problem);
  if (value.kind == ImportedValue::Kind::List ||
      value.kind == ImportedValue::Kind::Nothing)
    return makeError("expected tensors as outputs, got: " + quoted(name) +
                     ", which is of another type");
  // The name is reserved: only an input can have it already.
  std::string unique =
      names_.insert(name).second ? llvm::json::fixUTF8(name) : uniqueName(name);
  if (countElements(value.shape).value_or(0) == 0) {
    nn::addEmptyOutput(module_, unique,
                       tensorType(value.shape, value.elementType));
    return llvm::Error::success();
  }
  Value result = materialize(value, name);
  if (result.getDefiningOp<nn::InputOp>())
    result = copyOf(result, name);
  OperationState state(NameLoc::get(builder_.getStringAttr(name)),
                       nn::OutputOp::getOperationName());
  state.addOperands(result);
  state.addAttribute("nn.name", builder_.getStringAttr(unique));
  builder_.create(state);
  return llvm::Error::success();
}

llvm::Error GraphImporter::importOutputs() {
  for (const onnx::ValueInfoProto &output : model_.graph().output())
    if (llvm::Error error = importOutput(output.name(), output.name()))
      return error;
  for (const auto &[name, tensor] : addedOutputs_)
    if (llvm::Error error = importOutput(name, tensor))
      return error;
  return llvm::Error::success();
}

RankedTensorType GraphImporter::tensorType(llvm::ArrayRef<int64_t> shape,
                                           int elementType) {
  return RankedTensorType::get(
      shape, elementTypeOf(builder_.getContext(), elementType));
}

Value GraphImporter::materialize(ImportedValue &value, llvm::StringRef name) {
  if (value.value)
    return value.value;
  RankedTensorType type = tensorType(value.shape, value.elementType);
  bool stored = value.kind == ImportedValue::Kind::Stored;
  if (stored && storedBits(value.elementType) < 8 &&
      isa<nn::FileAttr>(value.source))
    return value.value = unpackedParameter(
               builder_, NameLoc::get(builder_.getStringAttr(value.origin)),
               type, value.source, [&](llvm::StringRef suffix) {
                 return uniqueName((name + suffix).str());
               });
  // Views of one tensor share its recipe: the location is the tensor's.
  OperationState state(
      NameLoc::get(builder_.getStringAttr(stored ? value.origin : name.str())),
      stored ? nn::ParameterOp::getOperationName()
             : nn::ConstantOp::getOperationName());
  state.addTypes(type);
  state.addAttribute("nn.name", builder_.getStringAttr(uniqueName(name)));
  if (stored) {
    state.addAttribute("source", value.source);
    if (!initializerNames_.contains(value.origin))
      state.addAttribute(nn::constantAttrName, builder_.getUnitAttr());
    if (auto whole = values_.find(value.origin);
        name != value.origin && whole != values_.end() &&
        whole->second.source == value.source &&
        whole->second.shape != value.shape)
      state.addAttribute(
          nn::viewAttrName,
          builder_.getDictionaryAttr(
              {builder_.getNamedAttr(
                   "shape", builder_.getDenseI64ArrayAttr(whole->second.shape)),
               builder_.getNamedAttr("tensor",
                                     builder_.getStringAttr(
                                         llvm::json::fixUTF8(value.origin)))}));
  } else {
    SmallVector<Attribute> elements;
    for (int64_t i = 0, e = value.host.size(); i != e; ++i)
      elements.push_back(
          value.host.integral()
              ? Attribute(builder_.getIntegerAttr(type.getElementType(),
                                                  value.host.ints[i]))
              : Attribute(builder_.getFloatAttr(type.getElementType(),
                                                value.host.floats[i])));
    state.addAttribute("value", DenseElementsAttr::get(type, elements));
  }
  value.value = builder_.create(state)->getResult(0);
  return value.value;
}

//===----------------------------------------------------------------------===//
// Entry point
//===----------------------------------------------------------------------===//

llvm::Expected<OwningOpRef<ModuleOp>>
soap::importONNX(llvm::StringRef path, const ONNXImportOptions &options,
                 MLIRContext &context) {
  context.loadDialect<nn::NNDialect, func::FuncDialect>();
  auto opened = Model::load(path, options.files);
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
    return makeError("expected a model within the limits of the nn dialect, "
                     "got: operations that its verifier rejects" +
                     diagnostics);
  if (options.initWeightsSeed)
    initializeWeights(*module, *options.initWeightsSeed, options.files);
  return std::move(module);
}
