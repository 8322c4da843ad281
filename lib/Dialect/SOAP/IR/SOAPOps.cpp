//===- SOAPOps.cpp - Tasks and copies ---------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "BoxVerifier.h"
#include "ShardAssembly.h"
#include "mlir/IR/Builders.h"
#include "soap/Dialect/NN/IR/NN.h"

using namespace mlir;
using namespace soap;
using namespace soap::soapir;

//===----------------------------------------------------------------------===//
// Parts of the syntax
//===----------------------------------------------------------------------===//

/// `TYPE as BOX`
static ParseResult parseBoxed(OpAsmParser &parser, Type &type, BoxAttr &box) {
  SMLoc loc;
  Attribute attr;
  if (parser.parseType(type) || parser.parseKeyword("as") ||
      parser.getCurrentLocation(&loc) || parser.parseAttribute(attr))
    return failure();
  box = dyn_cast<BoxAttr>(attr);
  if (!box)
    return parser.emitError(loc) << "expected a #soap.box, got: " << attr;
  return success();
}

/// `(TYPE as BOX, ...)`
static ParseResult parseBoxedResults(OpAsmParser &parser,
                                     SmallVectorImpl<Type> &types,
                                     ArrayAttr &boxes) {
  SmallVector<Attribute> attrs;
  if (parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Paren, [&]() -> ParseResult {
            BoxAttr box;
            if (parseBoxed(parser, types.emplace_back(), box))
              return failure();
            attrs.push_back(box);
            return success();
          }))
    return failure();
  boxes = parser.getBuilder().getArrayAttr(attrs);
  return success();
}

static void printBoxedResults(OpAsmPrinter &printer, Operation *,
                              TypeRange types, ArrayAttr boxes) {
  printer << '(';
  llvm::interleaveComma(llvm::zip(types, boxes), printer, [&](auto pair) {
    printer << std::get<0>(pair) << " as " << std::get<1>(pair);
  });
  printer << ')';
}

static ParseResult parseBoxedResult(OpAsmParser &parser, Type &type,
                                    ArrayAttr &boxes) {
  BoxAttr box;
  if (parser.parseLParen() || parseBoxed(parser, type, box) ||
      parser.parseRParen())
    return failure();
  boxes = parser.getBuilder().getArrayAttr({box});
  return success();
}

static void printBoxedResult(OpAsmPrinter &printer, Operation *op, Type type,
                             ArrayAttr boxes) {
  printBoxedResults(printer, op, type, boxes);
}

static ParseResult parseDevices(OpAsmParser &parser, DenseI32ArrayAttr &attr) {
  SmallVector<int32_t> devices;
  if (parseDeviceList(parser, devices))
    return failure();
  attr = parser.getBuilder().getDenseI32ArrayAttr(devices);
  return success();
}

static void printDevices(OpAsmPrinter &printer, Operation *,
                         DenseI32ArrayAttr devices) {
  printDeviceList(printer, devices);
}

/// `%a[0:2, 0:8], %b[2:3, 0:8]`, or `()` where there is nothing.
static ParseResult
parsePieces(OpAsmParser &parser,
            SmallVectorImpl<OpAsmParser::UnresolvedOperand> &inputs,
            ArrayAttr &pieces) {
  SmallVector<Attribute> attrs;
  if (succeeded(parser.parseOptionalLParen())) {
    if (parser.parseRParen())
      return failure();
  } else if (parser.parseCommaSeparatedList([&]() -> ParseResult {
               SmallVector<int64_t> bounds;
               if (parser.parseOperand(inputs.emplace_back()))
                 return failure();
               SMLoc loc = parser.getCurrentLocation();
               if (parseRanges(parser, bounds))
                 return failure();
               auto ranges = RangesAttr::getChecked(
                   [&] { return parser.emitError(loc); }, parser.getContext(),
                   ArrayRef<int64_t>(bounds));
               attrs.push_back(ranges);
               return success(ranges != nullptr);
             })) {
    return failure();
  }
  pieces = parser.getBuilder().getArrayAttr(attrs);
  return success();
}

static void printPieces(OpAsmPrinter &printer, Operation *, OperandRange inputs,
                        ArrayAttr pieces) {
  if (inputs.empty())
    printer << "()";
  llvm::interleaveComma(llvm::zip(inputs, pieces), printer, [&](auto pair) {
    printer << std::get<0>(pair);
    printRanges(printer, cast<RangesAttr>(std::get<1>(pair)).getBounds());
  });
}

/// Braces with one entry of every list per line; the syntax is that of a
/// dictionary.
static ParseResult parseDescription(OpAsmParser &parser,
                                    DictionaryAttr &description) {
  NamedAttrList entries;
  if (parser.parseOptionalAttrDict(entries))
    return failure();
  description = entries.getDictionary(parser.getContext());
  return success();
}

static void printDescription(OpAsmPrinter &printer, Operation *,
                             DictionaryAttr description) {
  printer << '{';
  auto separate = [&](bool first) {
    printer << (first ? "" : ",");
    printer.printNewline();
  };
  for (auto [i, entry] : llvm::enumerate(description)) {
    separate(i == 0);
    printer << "  ";
    printer.printKeywordOrString(entry.getName());
    printer << " = ";
    auto list = dyn_cast<ArrayAttr>(entry.getValue());
    if (!list || list.empty()) {
      printer << entry.getValue();
      continue;
    }
    printer << '[';
    for (auto [k, item] : llvm::enumerate(list)) {
      separate(k == 0);
      printer << "    " << item;
    }
    printer.printNewline();
    printer << "  ]";
  }
  printer.printNewline();
  printer << '}';
}

#include "soap/Dialect/SOAP/IR/CommunicationInterface.cpp.inc"
#define GET_OP_CLASSES
#include "soap/Dialect/SOAP/IR/SOAPOps.cpp.inc"

void SOAPDialect::registerOperations() {
  addOperations<
#define GET_OP_LIST
#include "soap/Dialect/SOAP/IR/SOAPOps.cpp.inc"
      >();
}

BoxAttr soapir::getBox(Value value) {
  auto result = dyn_cast<OpResult>(value);
  auto owner = result ? dyn_cast<ShardOpInterface>(result.getOwner()) : nullptr;
  // An operation that is not verified yet may lack boxes.
  if (!owner || result.getResultNumber() >= owner.getBoxes().size())
    return {};
  return owner.getBox(result.getResultNumber());
}

//===----------------------------------------------------------------------===//
// TaskOp
//===----------------------------------------------------------------------===//

void TaskOp::build(OpBuilder &builder, OperationState &state, TypeRange outputs,
                   ArrayRef<BoxAttr> boxes, ValueRange inputs, StringRef node,
                   int64_t task, Phase phase, bool reduce) {
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.node = builder.getStringAttr(node);
  properties.task = builder.getI64IntegerAttr(task);
  properties.phase = PhaseAttr::get(builder.getContext(), phase);
  if (reduce)
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
  if (parser.parseOptionalAttrDictWithKeyword(state.attributes) ||
      parser.parseRegion(*state.addRegion(), arguments) ||
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
    if (type.isPartial() && !getReduce() && !partialResults)
      return emitOpError() << "expected operand " << i
                           << " to be complete, got: " << type
                           << "; join the parts first";
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
    if (!isa<nn::NNDialect>(op.getDialect()))
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

//===----------------------------------------------------------------------===//
// SliceOp, AssembleOp
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> offsetsIn(const Box &inner, const Box &outer) {
  SmallVector<int64_t> offsets;
  for (auto [a, b] : llvm::zip(inner, outer))
    offsets.push_back(a.lo - b.lo);
  return offsets;
}

/// A copy stays on its device and keeps parts and elements.
static LogicalResult verifyCopy(Operation *op, Value input, Value output) {
  auto from = cast<ShardType>(input.getType());
  auto to = cast<ShardType>(output.getType());
  if (from.getDevice() != to.getDevice())
    return op->emitOpError()
           << "expected an operand on the device of the result, got: " << from
           << "; move it with soap.transfer or a collective";
  if (from.getElementType() != to.getElementType() ||
      from.getPartial() != to.getPartial())
    return op->emitOpError()
           << "expected operand and result to agree in element type and "
              "`partial`, got: "
           << from << " and " << to;
  return success();
}

/// `piece` of the result's value lies in the operand's shard.
static LogicalResult verifyPiece(Operation *op, Value input, BoxAttr result,
                                 const Box &piece) {
  BoxAttr box = getBox(input);
  if (!box)
    return success();
  if (!box.isSameValue(result) || box.getParts() != result.getParts())
    return op->emitOpError()
           << "expected operand and result to be shards of one value with the "
              "same parts, got: "
           << box << " and " << result;
  if (box.getRank() != static_cast<int64_t>(piece.size()) ||
      !contains(box.getBox(), piece))
    return op->emitOpError() << "expected a piece inside of " << box
                             << ", got: " << toString(piece);
  return success();
}

LogicalResult SliceOp::verify() {
  if (failed(verifyCopy(*this, getInput(), getOutput())))
    return failure();
  return verifyPiece(*this, getInput(), getBox(0), getBox(0).getBox());
}

SmallVector<int64_t> SliceOp::getOffsets() {
  return offsetsIn(getBox(0).getBox(), soapir::getBox(getInput()).getBox());
}

Box AssembleOp::getPiece(unsigned index) {
  return cast<RangesAttr>(getPieces()[index]).getBox();
}

SmallVector<int64_t> AssembleOp::getSourceOffsets(unsigned index) {
  return offsetsIn(getPiece(index),
                   soapir::getBox(getInputs()[index]).getBox());
}

SmallVector<int64_t> AssembleOp::getResultOffsets(unsigned index) {
  return offsetsIn(getPiece(index), getBox(0).getBox());
}

LogicalResult AssembleOp::verify() {
  if (getPieces().size() != getInputs().size())
    return emitOpError() << "expected one piece per operand, got: "
                         << getPieces().size() << " for " << getInputs().size();
  SmallVector<Box> pieces;
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    pieces.push_back(getPiece(i));
    if (failed(verifyCopy(*this, input, getOutput())) ||
        failed(verifyPiece(*this, input, getBox(0), pieces.back())))
      return failure();
  }
  return verifyCover(*this, "pieces", pieces, getBox(0).getBox());
}
