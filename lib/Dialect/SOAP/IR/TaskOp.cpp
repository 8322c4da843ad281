//===- TaskOp.cpp - Tasks -------------------------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BoxVerifier.h"
#include "ShardAssembly.h"
#include "mlir/IR/Builders.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/NN/IR/VocabularyParser.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"

using namespace mlir;
using namespace soap;
using namespace soap::soapir;

void TaskOp::build(OpBuilder &builder, OperationState &state, TypeRange outputs,
                   ArrayRef<BoxAttr> boxes, ValueRange inputs,
                   const TaskOrigin &origin) {
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.node = builder.getStringAttr(origin.node);
  properties.task = builder.getI64IntegerAttr(origin.task);
  properties.phase = PhaseAttr::get(builder.getContext(), origin.phase);
  if (origin.reduces)
    properties.reduce = builder.getUnitAttr();
  properties.boxes =
      builder.getArrayAttr(SmallVector<Attribute>(boxes.begin(), boxes.end()));
  state.addOperands(inputs);
  state.addTypes(outputs);
  Region *region = state.addRegion();
  Block *block = new Block();
  region->push_back(block);
  for (Value input : inputs)
    block->addArgument(cast<ShardType>(input.getType()).getTensor(),
                       input.getLoc());
}

ParseResult TaskOp::parse(OpAsmParser &parser, OperationState &state) {
  Builder &builder = parser.getBuilder();
  Properties &properties = state.getOrAddProperties<Properties>();
  std::string node;
  int64_t task;
  Phase phase = Phase::Step;
  if (parser.parseString(&node) || parser.parseInteger(task))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("reduce")))
    properties.reduce = builder.getUnitAttr();
  if (succeeded(parser.parseOptionalKeyword("phase"))) {
    FailureOr<Phase> parsed = parseWord<Phase>(parser);
    if (failed(parsed))
      return failure();
    phase = *parsed;
  }
  properties.node = builder.getStringAttr(node);
  properties.task = builder.getI64IntegerAttr(task);
  properties.phase = PhaseAttr::get(parser.getContext(), phase);

  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> inputs;
  SmallVector<Type> inputTypes, outputTypes;
  SMLoc inputsLoc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Paren, [&]() -> ParseResult {
            Type type;
            if (parser.parseArgument(arguments.emplace_back()) ||
                parser.parseEqual() ||
                parser.parseOperand(inputs.emplace_back()) ||
                parser.parseColon())
              return failure();
            SMLoc loc = parser.getCurrentLocation();
            if (parser.parseType(type))
              return failure();
            auto shard = dyn_cast<ShardType>(type);
            if (!shard)
              return parser.emitError(loc)
                     << "expected a !soap.shard, got: " << type;
            inputTypes.push_back(shard);
            arguments.back().type = shard.getTensor();
            return success();
          }))
    return failure();
  properties.boxes = builder.getArrayAttr({});
  if (succeeded(parser.parseOptionalArrow()) &&
      parseBoxedResults(parser, outputTypes, properties.boxes))
    return failure();
  if (parser.parseOptionalAttrDictWithKeyword(state.attributes))
    return failure();
  llvm::SMLoc location = parser.getNameLoc();
  if (failed(verifyInherentAttrs(state.name, state.attributes, [&] {
        return parser.emitError(location)
               << "'" << state.name.getStringRef() << "' op ";
      })))
    return failure();
  if (parser.parseRegion(*state.addRegion(), arguments) ||
      parser.resolveOperands(inputs, inputTypes, inputsLoc, state.operands))
    return failure();
  state.addTypes(outputTypes);
  return success();
}

void TaskOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printString(getNode());
  printer << ' ' << getTask();
  if (getReduce())
    printer << " reduce";
  if (getPhase() != Phase::Step)
    printer << " phase " << stringify(getPhase());
  printer << " (";
  llvm::interleaveComma(llvm::zip(getBlock().getArguments(), getInputs()),
                        printer, [&](auto pair) {
                          auto [argument, input] = pair;
                          printer << argument << " = " << input << " : "
                                  << input.getType();
                        });
  printer << ')';
  if (getNumResults()) {
    printer << " -> ";
    printBoxedResults(printer, *this, getResultTypes(), getBoxes());
  }
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {"node", "task", "phase", "reduce", "boxes"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

int32_t TaskOp::getDevice() {
  for (Type type : getResultTypes())
    return cast<ShardType>(type).getDevice();
  for (Value input : getInputs())
    return cast<ShardType>(input.getType()).getDevice();
  return kHostDevice;
}

Operation *TaskOp::getNodeOp() {
  for (Operation &op : llvm::reverse(getBlock()))
    if (auto name = op.getAttrOfType<StringAttr>("nn.name"))
      if (name.getValue() == getNode())
        return &op;
  return nullptr;
}

/// A reduction joins parts of one tile.
static LogicalResult verifyReduction(TaskOp op) {
  if (op.getInputs().size() < 2 || op.getNumResults() != 1)
    return op.emitOpError()
           << "expected at least two operands and one result with `reduce`, "
              "got: "
           << op.getInputs().size() << " and " << op.getNumResults();
  BoxAttr joined = op.getBox(0);
  SmallVector<int64_t> parts;
  int64_t numParts = 1;
  for (Value input : op.getInputs()) {
    BoxAttr box = getBox(input);
    if (!box)
      continue;
    if (!box.isPartial() || box.withoutParts() != joined.withoutParts())
      return op.emitOpError() << "expected parts of " << joined.withoutParts()
                              << " to join, got: " << box;
    llvm::append_range(parts, box.getParts());
    numParts = box.getNumParts();
  }
  llvm::sort(parts);
  if (std::adjacent_find(parts.begin(), parts.end()) != parts.end())
    return op.emitOpError() << "expected every part at most once, got: part "
                            << *std::adjacent_find(parts.begin(), parts.end())
                            << " twice; join different parts";
  bool all = static_cast<int64_t>(parts.size()) == numParts;
  if (all ? joined.isPartial() : joined.getParts() != ArrayRef(parts))
    return op.emitOpError()
           << "expected the result to hold "
           << (all ? Twine("the complete value") : Twine("the joined parts"))
           << ", got: " << joined;
  return success();
}

LogicalResult TaskOp::verify() {
  int32_t device = getDevice();
  for (auto [i, type] : llvm::enumerate(getResultTypes()))
    if (cast<ShardType>(type).getDevice() != device)
      return emitOpError() << "expected all results on one device, got: result "
                           << i << " of type " << type;
  bool partialResults = getNumResults() > 0;
  for (Type type : getResultTypes())
    partialResults &= cast<ShardType>(type).isPartial();
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    auto type = cast<ShardType>(input.getType());
    if (type.getDevice() != device) {
      InFlightDiagnostic diag = emitOpError();
      diag << "expected operand " << i
           << " on the device of the task, got: " << type
           << "; move it with soap.transfer or a collective";
      diag.attachNote(input.getLoc()) << "made here";
      return diag;
    }
    if (!type.isPartial() || getReduce())
      continue;
    if (!partialResults)
      return emitOpError() << "expected operand " << i
                           << " to be complete, got: " << type
                           << "; join the parts first";
    // A task is additive in what it takes in parts: part i makes part i.
    BoxAttr taken = soapir::getBox(input);
    for (Attribute attr : getBoxes())
      if (auto made = cast<BoxAttr>(attr);
          taken && (taken.getNumParts() != made.getNumParts() ||
                    taken.getParts() != made.getParts()))
        return emitOpError() << "expected operand " << i
                             << " to be the part that the task makes, " << made
                             << ", got: " << taken;
  }
  for (Attribute attr : getBoxes()) {
    auto box = cast<BoxAttr>(attr);
    if (box.getValue().getValue() != getNode())
      return emitOpError() << "expected a box of value \"" << getNode()
                           << "\", got: " << box;
  }
  if (getTask() < 0)
    return emitOpError() << "expected a task number of at least 0, got: "
                         << getTask();
  return getReduce() ? verifyReduction(*this) : success();
}

LogicalResult TaskOp::verifyRegions() {
  Block &block = getBlock();
  if (block.getNumArguments() != getInputs().size())
    return emitOpError() << "expected one region argument per operand, got: "
                         << block.getNumArguments() << " for "
                         << getInputs().size();
  for (auto [argument, input] : llvm::zip(block.getArguments(), getInputs()))
    if (argument.getType() != cast<ShardType>(input.getType()).getTensor())
      return emitOpError() << "expected a region argument of type "
                           << cast<ShardType>(input.getType()).getTensor()
                           << ", got: " << argument.getType();
  for (Operation &op : block.without_terminator())
    if (!isa_and_nonnull<nn::NNDialect>(op.getDialect()))
      return op.emitOpError()
             << "expected only nn operations in a task, got: " << op.getName();
  auto results = dyn_cast<ReturnOp>(block.getTerminator());
  if (!results || results.getValues().size() != getNumResults())
    return emitOpError() << "expected soap.return with " << getNumResults()
                         << " values at the end of the region, got: "
                         << *block.getTerminator();
  for (auto [value, type] : llvm::zip(results.getValues(), getResultTypes()))
    if (value.getType() != cast<ShardType>(type).getTensor())
      return results.emitOpError()
             << "expected a value of type " << cast<ShardType>(type).getTensor()
             << ", got: " << value.getType();
  return success();
}
