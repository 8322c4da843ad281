//===- SOAPRTDialect.cpp - Dialect, types, attributes ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/SOAPRT/IR/SOAPRT.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace soap::soaprt;

#include "soap/Dialect/SOAPRT/IR/SOAPRTDialect.cpp.inc"
#include "soap/Dialect/SOAPRT/IR/SOAPRTInterfaces.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "soap/Dialect/SOAPRT/IR/SOAPRTTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "soap/Dialect/SOAPRT/IR/SOAPRTAttributes.cpp.inc"

void SOAPRTDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "soap/Dialect/SOAPRT/IR/SOAPRTTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "soap/Dialect/SOAPRT/IR/SOAPRTAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "soap/Dialect/SOAPRT/IR/SOAPRTOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// BufferType
//===----------------------------------------------------------------------===//

Type BufferType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type element;
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(element) || parser.parseComma())
    return {};
  FailureOr<Space> space = parseWord<Space>(parser);
  if (failed(space))
    return {};
  auto order = ElementOrder::RowMajor;
  if (succeeded(parser.parseOptionalComma())) {
    if (parser.parseKeyword("channels_last"))
      return {};
    order = ElementOrder::ChannelsLast;
  }
  if (parser.parseGreater())
    return {};
  return BufferType::getChecked(
      [&] { return parser.emitError(parser.getNameLoc()); },
      parser.getContext(), shape, element, *space, order);
}

void BufferType::print(AsmPrinter &printer) const {
  printer << "<";
  for (int64_t size : getShape())
    printer << size << "x";
  printer << getElementType() << ", " << stringify(getSpace());
  if (isChannelsLast())
    printer << ", channels_last";
  printer << ">";
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape, Type element, Space,
                                 ElementOrder order) {
  if (order == ElementOrder::ChannelsLast && shape.size() < 3)
    return emitError() << "expected a rank of 3 or more where channels are "
                          "last, got: "
                       << shape.size();
  if (!element.isIntOrFloat())
    return emitError() << "expected elements that are integers or floating "
                          "point numbers, got: "
                       << element;
  if (llvm::any_of(shape, [](int64_t size) { return size < 0; }))
    return emitError() << "expected sizes that are known and 0 or larger, got: "
                       << shape;
  int64_t count = 1;
  for (int64_t size : shape)
    if (__builtin_mul_overflow(count, size, &count) ||
        count > nn::maxTensorElements)
      return emitError() << "expected at most " << nn::maxTensorElements
                         << " elements, got: " << shape;
  return success();
}

int64_t BufferType::getNumElements() const {
  return ShapedType::getNumElements(getShape());
}

int64_t BufferType::getElementBytes() const {
  return nn::elementBytes(getElementType());
}

BufferType BufferType::withOrder(ElementOrder order) const {
  return get(getContext(), getShape(), getElementType(), getSpace(), order);
}

SmallVector<int64_t> BufferType::getByteStrides() const {
  ArrayRef<int64_t> shape = getShape();
  SmallVector<int64_t> strides(shape.size());
  int64_t stride = getElementBytes();
  auto place = [&](size_t dim) {
    strides[dim] = stride;
    stride *= shape[dim];
  };
  if (isChannelsLast())
    place(1);
  for (size_t dim = shape.size(); dim-- > 0;)
    if (!isChannelsLast() || dim != 1)
      place(dim);
  return strides;
}

bool BufferType::matches(Type tensor) const {
  auto type = llvm::dyn_cast<RankedTensorType>(tensor);
  return type && type.getShape() == getShape() &&
         type.getElementType() == getElementType();
}

//===----------------------------------------------------------------------===//
// BoxCopyAttr
//===----------------------------------------------------------------------===//

static ParseResult parseNumbers(AsmParser &parser,
                                SmallVectorImpl<int64_t> &numbers) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return parser.parseInteger(numbers.emplace_back());
  });
}

static void printNumbers(AsmPrinter &printer, ArrayRef<int64_t> numbers) {
  printer << "[";
  llvm::interleaveComma(numbers, printer.getStream());
  printer << "]";
}

Attribute BoxCopyAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> from, to, sizes, steps;
  if (parser.parseLess() || parseNumbers(parser, from) ||
      parser.parseKeyword("to") || parseNumbers(parser, to) ||
      parser.parseKeyword("sizes") || parseNumbers(parser, sizes))
    return {};
  if (succeeded(parser.parseOptionalKeyword("steps"))) {
    if (parseNumbers(parser, steps))
      return {};
  } else {
    steps.assign(sizes.size(), 1);
  }
  if (parser.parseGreater())
    return {};
  return BoxCopyAttr::getChecked(
      [&] { return parser.emitError(parser.getNameLoc()); },
      parser.getContext(), from, to, sizes, steps);
}

void BoxCopyAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printNumbers(printer, getFrom());
  printer << " to ";
  printNumbers(printer, getTo());
  printer << " sizes ";
  printNumbers(printer, getSizes());
  if (llvm::any_of(getSteps(), [](int64_t step) { return step != 1; })) {
    printer << " steps ";
    printNumbers(printer, getSteps());
  }
  printer << ">";
}

LogicalResult BoxCopyAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  ArrayRef<int64_t> from, ArrayRef<int64_t> to,
                                  ArrayRef<int64_t> sizes,
                                  ArrayRef<int64_t> steps) {
  if (from.size() != sizes.size() || to.size() != sizes.size() ||
      steps.size() != sizes.size())
    return emitError() << "expected as many offsets and steps as sizes ("
                       << sizes.size() << "), got: " << from.size() << ", "
                       << to.size() << " and " << steps.size();
  if (llvm::any_of(sizes, [](int64_t size) { return size < 0; }))
    return emitError() << "expected sizes of 0 or larger, got: " << sizes;
  return success();
}

BoxCopyAttr BoxCopyAttr::get(MLIRContext *context, ArrayRef<int64_t> from,
                             ArrayRef<int64_t> to, ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> steps(sizes.size(), 1);
  return get(context, from, to, sizes, steps);
}

bool BoxCopyAttr::fits(ArrayRef<int64_t> fromShape,
                       ArrayRef<int64_t> toShape) const {
  if (fromShape.size() != getSizes().size() ||
      toShape.size() != getSizes().size())
    return false;
  for (auto [d, size] : llvm::enumerate(getSizes())) {
    if (size == 0)
      continue;
    int64_t last;
    if (__builtin_mul_overflow(size - 1, getSteps()[d], &last) ||
        __builtin_add_overflow(last, getFrom()[d], &last))
      return false;
    if (std::min(getFrom()[d], last) < 0 ||
        std::max(getFrom()[d], last) >= fromShape[d] || getTo()[d] < 0 ||
        size > toShape[d] || getTo()[d] > toShape[d] - size)
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

Storage soap::soaprt::getStorage(Value buffer) {
  int64_t offset = 0;
  while (auto view = buffer.getDefiningOp<ViewOp>()) {
    offset += static_cast<int64_t>(view.getFirst()) *
              view.getSource().getType().getElementBytes();
    buffer = view.getSource();
  }
  return {buffer.getDefiningOp<BufferOp>(), offset};
}
