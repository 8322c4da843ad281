//===- SOAPAttrs.cpp - Configurations, boxes, shards ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Dialect/SOAP/IR/SOAPAttrs.h"
#include "ShardAssembly.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace soap;
using namespace soap::soapir;

#define GET_ATTRDEF_CLASSES
#include "soap/Dialect/SOAP/IR/SOAPAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "soap/Dialect/SOAP/IR/SOAPTypes.cpp.inc"

void SOAPDialect::registerAttributesAndTypes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "soap/Dialect/SOAP/IR/SOAPAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "soap/Dialect/SOAP/IR/SOAPTypes.cpp.inc"
      >();
}

int64_t soapir::sizeInBytes(RankedTensorType tensor) {
  return tensor.getNumElements() *
         soap::nn::elementBytes(tensor.getElementType());
}

static LogicalResult verifyBounds(function_ref<InFlightDiagnostic()> emitError,
                                  ArrayRef<int64_t> bounds) {
  for (size_t i = 0; i < bounds.size(); i += 2)
    if (bounds[i] < 0 || bounds[i + 1] < bounds[i])
      return emitError() << "expected a range that starts at 0 or later and "
                            "does not end before it starts, got: "
                         << bounds[i] << ':' << bounds[i + 1];
  return success();
}

static SmallVector<int64_t> toBounds(const Box &box) {
  SmallVector<int64_t> bounds;
  for (Range range : box) {
    bounds.push_back(range.lo);
    bounds.push_back(range.hi);
  }
  return bounds;
}

static Box toBox(ArrayRef<int64_t> bounds) {
  Box box;
  for (size_t i = 0; i < bounds.size(); i += 2)
    box.push_back({bounds[i], bounds[i + 1]});
  return box;
}

//===----------------------------------------------------------------------===//
// ConfigAttr
//===----------------------------------------------------------------------===//

ConfigAttr ConfigAttr::get(MLIRContext *context, const PartitionSpec &spec,
                           const Degrees &degrees, ArrayRef<int32_t> devices,
                           ArrayRef<int64_t> regather) {
  SmallVector<StringAttr> loops;
  SmallVector<int64_t> written;
  for (auto [loop, degree] : llvm::zip_equal(spec.loops, degrees.loops)) {
    if (degree == 1)
      continue;
    loops.push_back(StringAttr::get(context, loop.name));
    written.push_back(degree);
  }
  return get(context, loops, written, degrees.replicate, devices, regather);
}

int64_t ConfigAttr::getDegree(StringRef loop) const {
  for (auto [name, degree] : llvm::zip_equal(getLoops(), getDegrees()))
    if (name.getValue() == loop)
      return degree;
  return 1;
}

Degrees ConfigAttr::toDegrees(const PartitionSpec &spec) const {
  Degrees degrees;
  for (const LoopSpec &loop : spec.loops)
    degrees.loops.push_back(static_cast<int32_t>(getDegree(loop.name)));
  degrees.replicate = static_cast<int32_t>(getReplicate());
  return degrees;
}

LogicalResult ConfigAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<StringAttr> loops,
                                 ArrayRef<int64_t> degrees, int64_t replicate,
                                 ArrayRef<int32_t> devices,
                                 ArrayRef<int64_t> regather) {
  // Bounded so that the number of tasks cannot overflow.
  constexpr int64_t limit = 1 << 20;
  if (replicate < 1 || replicate > limit)
    return emitError() << "expected `replicate` to be at least 1 and at most "
                       << limit << ", got: " << replicate;
  int64_t tasks = replicate;
  if (loops.size() != degrees.size())
    return emitError() << "expected one degree per loop, got: "
                       << degrees.size() << " for " << loops.size();
  for (auto [i, loop] : llvm::enumerate(loops)) {
    if (llvm::is_contained(loops.take_front(i), loop))
      return emitError() << "expected every loop at most once, got: "
                         << loop.getValue()
                         << " twice; write one degree per loop";
    if (degrees[i] < 1)
      return emitError() << "expected a degree of at least 1 for loop "
                         << loop.getValue() << ", got: " << degrees[i];
    if (degrees[i] > limit / tasks)
      return emitError() << "expected at most " << limit
                         << " tasks, got more; lower the degrees";
    tasks *= degrees[i];
  }
  if (devices.empty())
    return emitError() << "expected at least one device, got: on []; list one "
                          "device per task";
  for (int32_t device : devices)
    if (device < 0 && device != kHostDevice)
      return emitError() << "expected a device id of at least 0 or `host`, "
                            "got: "
                         << device;
  for (size_t i = 0; i < regather.size(); ++i)
    if (regather[i] < 0 || (i && regather[i] <= regather[i - 1]))
      return emitError() << "expected operand numbers in ascending order in "
                            "`regather`, got: "
                         << regather[i] << " at position " << i;
  return success();
}

Attribute ConfigAttr::parse(AsmParser &parser, Type) {
  MLIRContext *context = parser.getContext();
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<StringAttr> loops;
  SmallVector<int64_t> degrees, regather;
  SmallVector<int32_t> devices;
  int64_t replicate = 1;
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Braces, [&]() -> ParseResult {
            StringRef loop;
            int64_t degree;
            if (parser.parseKeyword(&loop) || parser.parseEqual() ||
                parser.parseInteger(degree))
              return failure();
            loops.push_back(StringAttr::get(context, loop));
            degrees.push_back(degree);
            return success();
          }))
    return {};
  if (succeeded(parser.parseOptionalKeyword("replicate")) &&
      (parser.parseEqual() || parser.parseInteger(replicate)))
    return {};
  if (parser.parseKeyword("on") || parseDeviceList(parser, devices))
    return {};
  if (succeeded(parser.parseOptionalKeyword("regather")) &&
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return parser.parseInteger(regather.emplace_back());
      }))
    return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<ConfigAttr>(loc, context, loops, degrees, replicate,
                                       devices, regather);
}

void ConfigAttr::print(AsmPrinter &printer) const {
  printer << "<{";
  llvm::interleaveComma(
      llvm::zip_equal(getLoops(), getDegrees()), printer, [&](auto pair) {
        printer.printKeywordOrString(std::get<0>(pair).getValue());
        printer << " = " << std::get<1>(pair);
      });
  printer << '}';
  if (getReplicate() != 1)
    printer << " replicate = " << getReplicate();
  printer << " on ";
  printDeviceList(printer, getDevices());
  if (!getRegather().empty()) {
    printer << " regather [";
    llvm::interleaveComma(getRegather(), printer);
    printer << ']';
  }
  printer << '>';
}

//===----------------------------------------------------------------------===//
// BoxAttr, RangesAttr
//===----------------------------------------------------------------------===//

BoxAttr BoxAttr::get(MLIRContext *context, StringRef value, int64_t result,
                     const Box &box) {
  return get(context, value, result, box, {}, 1);
}

BoxAttr BoxAttr::get(MLIRContext *context, StringRef value, int64_t result,
                     const Box &box, ArrayRef<int64_t> parts,
                     int64_t numParts) {
  return get(context, StringAttr::get(context, value), result,
             ArrayRef<int64_t>(toBounds(box)), parts,
             parts.empty() ? 1 : numParts);
}

Box BoxAttr::getBox() const { return toBox(getBounds()); }

BoxAttr BoxAttr::withBox(const Box &box) const {
  return get(getContext(), getValue(), getResult(),
             ArrayRef<int64_t>(toBounds(box)), getParts(), getNumParts());
}

BoxAttr BoxAttr::withoutParts() const {
  return get(getContext(), getValue(), getResult(), getBounds(), {}, 1);
}

LogicalResult BoxAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                              StringAttr value, int64_t result,
                              ArrayRef<int64_t> bounds, ArrayRef<int64_t> parts,
                              int64_t numParts) {
  if (value.getValue().empty() || result < 0)
    return emitError() << "expected the name of a value and the number of a "
                          "result, got: "
                       << value << ':' << result;
  if (failed(verifyBounds(emitError, bounds)))
    return failure();
  for (size_t i = 0; i < parts.size(); ++i)
    if (parts[i] < 0 || parts[i] >= numParts || (i && parts[i] <= parts[i - 1]))
      return emitError() << "expected parts in ascending order, each less than "
                         << numParts << ", got: " << parts[i];
  if (static_cast<int64_t>(parts.size()) == numParts || numParts < 1)
    return emitError() << "expected fewer parts than all " << numParts
                       << "; a shard that holds all parts is complete, leave "
                          "them out";
  return success();
}

Attribute BoxAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  std::string name;
  int64_t result, numParts = 1;
  SmallVector<int64_t> bounds, parts;
  if (parser.parseLess() || parser.parseString(&name) || parser.parseColon() ||
      parser.parseInteger(result) || parser.parseComma() ||
      parseRanges(parser, bounds))
    return {};
  if (succeeded(parser.parseOptionalComma())) {
    StringRef keyword;
    if (parser.parseKeyword(&keyword))
      return {};
    if (keyword == "part") {
      if (parser.parseInteger(parts.emplace_back()))
        return {};
    } else if (keyword == "parts") {
      if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
            return parser.parseInteger(parts.emplace_back());
          }))
        return {};
    } else {
      parser.emitError(loc) << "expected `part` or `parts`, got: " << keyword;
      return {};
    }
    if (parser.parseKeyword("of") || parser.parseInteger(numParts))
      return {};
  }
  if (parser.parseGreater())
    return {};
  MLIRContext *context = parser.getContext();
  return parser.getChecked<BoxAttr>(
      loc, context, StringAttr::get(context, name), result,
      ArrayRef<int64_t>(bounds), ArrayRef<int64_t>(parts), numParts);
}

void BoxAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printString(getValue().getValue());
  printer << ':' << getResult() << ", ";
  printRanges(printer, getBounds());
  if (getParts().size() == 1) {
    printer << ", part " << getParts().front() << " of " << getNumParts();
  } else if (!getParts().empty()) {
    printer << ", parts [";
    llvm::interleaveComma(getParts(), printer);
    printer << "] of " << getNumParts();
  }
  printer << '>';
}

RangesAttr RangesAttr::get(MLIRContext *context, const Box &box) {
  return get(context, ArrayRef<int64_t>(toBounds(box)));
}

Box RangesAttr::getBox() const { return toBox(getBounds()); }

LogicalResult RangesAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> bounds) {
  return verifyBounds(emitError, bounds);
}

Attribute RangesAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t> bounds;
  if (parser.parseLess() || parseRanges(parser, bounds) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<RangesAttr>(loc, parser.getContext(),
                                       ArrayRef<int64_t>(bounds));
}

void RangesAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printRanges(printer, getBounds());
  printer << '>';
}

//===----------------------------------------------------------------------===//
// ShardType
//===----------------------------------------------------------------------===//

int64_t ShardType::getSizeInBytes() const { return sizeInBytes(getTensor()); }

LogicalResult ShardType::verify(function_ref<InFlightDiagnostic()> emitError,
                                RankedTensorType tensor, int32_t device,
                                Combine partial) {
  if (!tensor.hasStaticShape() || !tensor.getElementType().isIntOrFloat())
    return emitError() << "expected a static tensor of floats or integers, "
                          "got: "
                       << tensor;
  if (device < 0 && device != kHostDevice)
    return emitError() << "expected a device id of at least 0 or `host`, got: "
                       << device;
  if (partial == Combine::Same)
    return emitError() << "expected partial = sum, prod, max, min, and, or, "
                          "got: same; equal copies are complete";
  return success();
}

Type ShardType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  RankedTensorType tensor;
  int32_t device;
  Combine partial = Combine::None;
  if (parser.parseLess() || parser.parseType(tensor) || parser.parseComma() ||
      parser.parseKeyword("on") || parseDevice(parser, device))
    return {};
  if (succeeded(parser.parseOptionalComma())) {
    StringRef name;
    if (parser.parseKeyword("partial") || parser.parseEqual())
      return {};
    SMLoc nameLoc = parser.getCurrentLocation();
    if (parser.parseKeyword(&name))
      return {};
    std::optional<Combine> combine = symbolize<Combine>(name);
    if (!combine || *combine == Combine::None) {
      parser.emitError(nameLoc)
          << "expected sum, prod, max, min, and, or, got: " << name;
      return {};
    }
    partial = *combine;
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<ShardType>(loc, parser.getContext(), tensor, device,
                                      partial);
}

void ShardType::print(AsmPrinter &printer) const {
  printer << '<' << getTensor() << ", on ";
  printDevice(printer, getDevice());
  if (isPartial())
    printer << ", partial = " << stringify(getPartial());
  printer << '>';
}
