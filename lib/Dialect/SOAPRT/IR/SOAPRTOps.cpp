//===- SOAPRTOps.cpp - Modules, devices, buffers --------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/SOAPRT/IR/SOAPRT.h"

using namespace mlir;
using namespace soap;
using namespace soap::soaprt;

#define GET_OP_CLASSES
#include "soap/Dialect/SOAPRT/IR/SOAPRTOps.cpp.inc"

//===----------------------------------------------------------------------===//
// InputOp
//===----------------------------------------------------------------------===//

LogicalResult InputOp::verify() {
  if (!getIndexBound())
    return success();
  if (auto bound = static_cast<int64_t>(*getIndexBound()); bound < 1)
    return emitOpError("expected an 'index_bound' of 1 or more, got: ")
           << bound;
  if (Type element = cast<ShapedType>(getType()).getElementType();
      !element.isInteger())
    return emitOpError("expected an 'index_bound' of integers only, got: ")
           << element;
  return success();
}

//===----------------------------------------------------------------------===//
// KernelOp
//===----------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name, key;
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name),
                             result.attributes) ||
      parser.parseAttribute(key, getKeyAttrName(result.name),
                            result.attributes))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("native"))) {
    SymbolRefAttr native;
    int32_t index;
    SmallVector<int64_t> sizes;
    if (parser.parseAttribute(native, getNativeAttrName(result.name),
                              result.attributes) ||
        parser.parseKeyword("index") || parser.parseInteger(index) ||
        parser.parseKeyword("sizes") ||
        parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, [&] {
          return parser.parseInteger(sizes.emplace_back());
        }))
      return failure();
    Builder &builder = parser.getBuilder();
    result.addAttribute(getIndexAttrName(result.name),
                        builder.getI32IntegerAttr(index));
    result.addAttribute(getSizesAttrName(result.name),
                        builder.getDenseI64ArrayAttr(sizes));
  }
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseArgumentList(arguments, AsmParser::Delimiter::Paren,
                               /*allowType=*/true) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  SMLoc location = parser.getNameLoc();
  if (failed(verifyInherentAttrs(result.name, result.attributes, [&] {
        return parser.emitError(location)
               << "'" << result.name.getStringRef() << "' op ";
      })))
    return failure();
  Region *body = result.addRegion();
  return parser.parseRegion(*body, arguments);
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << ' ';
  printer.printAttributeWithoutType(getKeyAttr());
  if (getNative()) {
    printer << " native " << getNativeAttr() << " index " << getIndex()
            << " sizes [";
    llvm::interleaveComma(getSizes(), printer);
    printer << ']';
  }
  printer << " (";
  llvm::interleaveComma(
      getBlock().getArguments(), printer,
      [&](BlockArgument a) { printer.printRegionArgument(a); });
  printer << ')';
  SmallVector<StringRef> printed{getSymNameAttrName(), getKeyAttrName(),
                                 getNativeAttrName(), getIndexAttrName(),
                                 getSizesAttrName()};
  if (getFlops().isZero())
    printed.push_back(getFlopsAttrName());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), printed);
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

Operation *KernelOp::getAnchor() {
  for (Operation &op : getBlock().without_terminator())
    if (!isa<nn::ReshapeOp>(op))
      return &op;
  return &getBlock().front();
}

/// Each operation of a native kernel is read in its body. Of a kernel of the
/// library, each behind the first one reads the result of the one before it.
static LogicalResult verifyOperations(KernelOp kernel) {
  Operation *last = nullptr;
  for (Operation &op : kernel.getBlock().without_terminator()) {
    if (kernel.getNative()) {
      if (op.use_empty())
        return kernel.emitOpError("expected operations that others read or "
                                  "that soaprt.yield hands on, got: ")
               << op.getName() << ", which nobody reads";
      continue;
    }
    if (last && (last->getNumResults() != 1 || op.getNumResults() != 1 ||
                 !llvm::is_contained(op.getOperands(), last->getResult(0))))
      return kernel.emitOpError("expected ")
             << op.getName()
             << " to read the one result of the operation before it";
    last = &op;
  }
  return success();
}

static LogicalResult verifyInPlace(KernelOp kernel) {
  std::optional<uint64_t> number = kernel.getInPlace();
  if (!number)
    return success();
  TypeRange results = kernel.getResultTypes();
  if (*number >= kernel.getBlock().getNumArguments() || results.size() != 1 ||
      kernel.getBlock().getArgument(*number).getType() != results.front())
    return kernel.emitOpError("expected the number of an operand of the type "
                              "of the one result as in_place, got: ")
           << static_cast<int64_t>(*number);
  return success();
}

LogicalResult KernelOp::verify() {
  if (getKey().empty())
    return emitOpError("expected a kernel key, got: an empty one");
  if (getBlock().empty() || !isa<YieldOp>(getBlock().back()))
    return emitOpError("expected a body that ends in soaprt.yield");
  if (&getBlock().front() == &getBlock().back())
    return emitOpError("expected a body that computes something, got: only "
                       "soaprt.yield");
  if (static_cast<int32_t>(getIndex()) < 0 ||
      llvm::any_of(getSizes(), [](int64_t size) { return size < 0; }))
    return emitOpError("expected an index and sizes of 0 or larger, got: ")
           << static_cast<int32_t>(getIndex()) << " and [" << getSizes() << "]";
  if (double flops = getFlops().convertToDouble(); !(flops >= 0))
    return emitOpError("expected flops of 0 or more, got: ") << flops;
  auto values = static_cast<int64_t>(getBlock().getNumArguments() +
                                     getResultTypes().size());
  int64_t last = -1;
  for (int64_t number : getChannelsLast().value_or(ArrayRef<int64_t>())) {
    if (number <= last || number >= values)
      return emitOpError("expected ascending numbers of the ")
             << values
             << " operands and results as channels_last, got: " << number;
    last = number;
  }
  return failure(failed(verifyOperations(*this)) ||
                 failed(verifyInPlace(*this)));
}

TypeRange KernelOp::getResultTypes() {
  return getBlock().back().getOperandTypes();
}

//===----------------------------------------------------------------------===//
// DeviceOp, InitOp, MainOp
//===----------------------------------------------------------------------===//

InitOp DeviceOp::getInit() {
  // Programs stand behind what they use.
  for (Operation &op : llvm::reverse(getBlock()))
    if (auto init = dyn_cast<InitOp>(op))
      return init;
  return {};
}

SmallVector<MainOp, 2> DeviceOp::getMains() {
  return SmallVector<MainOp, 2>(getBlock().getOps<MainOp>());
}

LogicalResult DeviceOp::verify() {
  if (static_cast<int32_t>(getId()) < 0)
    return emitOpError("expected an id of 0 or larger, got: ")
           << static_cast<int32_t>(getId());
  for (Operation *before = getOperation()->getPrevNode(); before;
       before = before->getPrevNode())
    if (auto device = dyn_cast<DeviceOp>(before);
        device && device.getIdAttr() == getIdAttr())
      return emitOpError("expected devices of different ids, got two of id ")
             << getId();
  if (int64_t alignment = getBufferAlignment();
      alignment < minAlignment || alignment % minAlignment != 0)
    return emitOpError("expected an alignment that is a multiple of ")
           << minAlignment << ", got: " << alignment;
  for (std::optional<uint64_t> bytes :
       {getActivationBytes(), getParameterBytes(), getScratchpadBytes(),
        getReorderedBytes(), getPeakBytes()})
    if (bytes && static_cast<int64_t>(*bytes) < 0)
      return emitOpError("expected sizes in bytes of 0 or larger, got: ")
             << static_cast<int64_t>(*bytes);
  unsigned inits = 0, mains = 0;
  llvm::SmallDenseSet<StringRef> names;
  for (Operation &op : getBlock()) {
    if (isa<InitOp>(op)) {
      ++inits;
    } else if (auto main = dyn_cast<MainOp>(op)) {
      ++mains;
      if (!names.insert(main.getProgram()).second)
        return main.emitOpError("expected programs with different names, got "
                                "two called '")
               << main.getProgram() << "'";
    } else if (!isa<BufferOp, ViewOp, LoadOp, TileOp>(op))
      return emitOpError("expected buffers, views, loads, tiles and "
                         "programs, got: '")
             << op.getName() << "'; rows stand in soaprt.init or soaprt.main";
  }
  if (inits != 1 || mains < 1)
    return emitOpError(
               "expected one soaprt.init and one soaprt.main or more, got: ")
           << inits << " and " << mains;
  return success();
}

static LogicalResult verifyRows(Operation *program, Block &block) {
  // Feeds first, drains last: their rows do not count as step time.
  bool steps = false, drains = false;
  for (Operation &op : block) {
    if (!isa<RowOpInterface>(op))
      return program->emitOpError("expected rows only, got: '")
             << op.getName() << "'";
    if (isa<FeedOp>(op) && (steps || drains))
      return op.emitOpError("expected feeds before all other rows");
    if (!isa<DrainOp>(op) && drains)
      return op.emitOpError("expected drains after all other rows");
    steps |= !isa<FeedOp, DrainOp>(op);
    drains |= isa<DrainOp>(op);
  }
  return success();
}

LogicalResult InitOp::verify() {
  for (Operation &op : getBlock()) {
    auto row = dyn_cast<RowOpInterface>(op);
    if (row && (row.communicates() || isa<FeedOp, DrainOp>(op)))
      return op.emitOpError("expected no communication in soaprt.init; every "
                            "device computes what it needs");
    if (row && row.getStream().value_or(Stream::Compute) != Stream::Compute)
      return op.emitOpError("expected the compute stream in soaprt.init");
  }
  return verifyRows(*this, getBlock());
}

LogicalResult MainOp::verify() { return verifyRows(*this, getBlock()); }

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

LogicalResult BufferOp::verify() {
  if (!getOffset())
    return success();
  auto offset = static_cast<int64_t>(*getOffset());
  int64_t alignment =
      cast<DeviceOp>((*this)->getParentOp()).getBufferAlignment();
  if (offset < 0 || offset % alignment != 0)
    return emitOpError("expected an offset that is a multiple of ")
           << alignment << ", got: " << offset;
  return success();
}

bool ViewOp::isOfSamples() {
  ArrayRef<int64_t> shape = getType().getShape(),
                    whole = getSource().getType().getShape();
  if (shape.empty() || whole.empty() ||
      shape.drop_front() != whole.drop_front())
    return false;
  int64_t perSample = ShapedType::getNumElements(whole.drop_front());
  return perSample == 0 || static_cast<int64_t>(getFirst()) % perSample == 0;
}

LogicalResult ViewOp::verify() {
  BufferType source = getSource().getType(), result = getType();
  if (source.getElementType() != result.getElementType() ||
      source.getSpace() != result.getSpace())
    return emitOpError("expected the element type and the space of the source, "
                       "got: ")
           << result;
  int64_t first = getFirst(), end = first + result.getNumElements();
  bool isLast = source.isChannelsLast();
  if (isLast != result.isChannelsLast() || (isLast && !isOfSamples()))
    return emitOpError("expected a view of row-major elements, or of whole "
                       "samples with channels last, got: ")
           << result << " of " << source << "; copy them";
  if (first < 0 || end > source.getNumElements())
    return emitOpError("expected elements inside of the source (")
           << source.getNumElements() << "), got: [" << first << ", " << end
           << ")";
  return success();
}

/// A buffer holds the elements from `lo` on of a tensor of `type`.
static LogicalResult verifyBox(Operation *op, BufferType buffer,
                               RankedTensorType type, ArrayRef<int64_t> lo) {
  if (buffer.getElementType() != type.getElementType())
    return op->emitOpError("expected a buffer of ")
           << type.getElementType() << ", got: " << buffer;
  if (static_cast<int64_t>(lo.size()) != type.getRank() ||
      static_cast<int64_t>(buffer.getShape().size()) != type.getRank())
    return op->emitOpError("expected a box of rank ") << type.getRank();
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (lo[d] < 0 || lo[d] > type.getDimSize(d) - buffer.getShape()[d])
      return op->emitOpError("expected a box inside of ")
             << type << ", got: " << buffer.getShape()[d] << " elements from "
             << lo[d] << " on in dim " << d;
  return success();
}

/// The source has the elements of a tensor of `type`.
static LogicalResult verifySource(LoadOp op, RankedTensorType type) {
  Type element = type.getElementType();
  Attribute source = op.getSource();
  if (auto file = dyn_cast<nn::FileAttr>(source)) {
    int64_t bytes = type.getNumElements() * nn::elementBytes(element);
    if (static_cast<int64_t>(file.getLength()) != bytes)
      return op.emitOpError("expected a file of ")
             << bytes << " bytes for " << type << ", got: " << file.getLength();
  } else if (auto splat = dyn_cast<nn::SplatAttr>(source)) {
    if (splat.getValue().getType() != element)
      return op.emitOpError("expected a splat of ")
             << element << ", got: " << splat.getValue().getType();
  } else if (isa<nn::RandomAttr>(source)) {
    if (!isa<FloatType>(element))
      return op.emitOpError("expected floating point elements from a random "
                            "source, got: ")
             << element;
  } else if (auto elements = dyn_cast<DenseElementsAttr>(source)) {
    if (elements.getType() != type)
      return op.emitOpError("expected elements of ")
             << type << ", got: " << elements.getType();
  } else {
    return op.emitOpError("expected a file, a splat, a recipe or elements, "
                          "got: ")
           << source;
  }
  return success();
}

LogicalResult LoadOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if (getTarget().getType().isChannelsLast())
    return emitOpError("expected a row-major buffer, got: ")
           << getTarget().getType();
  if (failed(verifySource(*this, type)))
    return failure();
  return verifyBox(*this, getTarget().getType(), type, getLo());
}

LogicalResult TileOp::verify() {
  if (getValue().empty() || static_cast<int64_t>(getResult()) < 0)
    return emitOpError("expected a node and the number of a result");
  int64_t last = -1, numParts = getNumParts().value_or(0);
  for (int64_t part : getParts()) {
    if (part <= last || part >= numParts)
      return emitOpError("expected ascending parts below ")
             << numParts << ", got: " << part;
    last = part;
  }
  return verifyBox(*this, getBuffer().getType(),
                   cast<RankedTensorType>(getType()), getLo());
}
