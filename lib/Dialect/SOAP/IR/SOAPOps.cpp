//===- SOAPOps.cpp - Operations and copies --------------------------------===//
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
// SliceOp, AssembleOp
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> offsetsIn(const Box &inner, const Box &outer) {
  SmallVector<int64_t> offsets;
  for (auto [a, b] : llvm::zip(inner, outer))
    offsets.push_back(a.lo - b.lo);
  return offsets;
}

/// A copy stays on its device and keeps parts and elements. One that is made
/// before the first step is of what is there by then.
static LogicalResult verifyCopy(Operation *op, bool isInit, Value input,
                                Value output) {
  auto source = input.getDefiningOp<TaskOp>();
  if (isInit && (!source || source.getPhase() != Phase::Init))
    return op->emitOpError()
           << "expected an operand that a task of phase init makes, got: "
           << input;
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
  if (failed(verifyCopy(*this, getInit(), getInput(), getOutput())))
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
    if (failed(verifyCopy(*this, getInit(), input, getOutput())) ||
        failed(verifyPiece(*this, input, getBox(0), pieces.back())))
      return failure();
  }
  return verifyCover(*this, "pieces", pieces, getBox(0).getBox());
}
