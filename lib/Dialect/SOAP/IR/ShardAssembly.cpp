//===- ShardAssembly.cpp - Parts of the syntax ----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardAssembly.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace soap;
using namespace soap::soapir;

ParseResult soapir::parseDevice(AsmParser &parser, int32_t &device) {
  if (succeeded(parser.parseOptionalKeyword("host"))) {
    device = kHostDevice;
    return success();
  }
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseInteger(device))
    return failure();
  if (device < 0)
    return parser.emitError(loc)
           << "expected a device id of at least 0 or `host`, got: " << device;
  return success();
}

void soapir::printDevice(AsmPrinter &printer, int32_t device) {
  if (device == kHostDevice)
    printer << "host";
  else
    printer << device;
}

/// More devices than this in a run are a typing mistake, not a machine.
static constexpr int64_t maxRun = 1 << 20;

ParseResult soapir::parseDeviceList(AsmParser &parser,
                                    SmallVectorImpl<int32_t> &devices) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        SMLoc loc = parser.getCurrentLocation();
        int32_t first, last;
        if (parseDevice(parser, first))
          return failure();
        if (failed(parser.parseOptionalKeyword("to"))) {
          devices.push_back(first);
          return success();
        }
        if (parseDevice(parser, last))
          return failure();
        if (first < 0 || last < first || last - int64_t(first) >= maxRun)
          return parser.emitError(loc)
                 << "expected a run of ascending device ids, got: " << first
                 << " to " << last;
        for (int64_t device = first; device <= last; ++device)
          devices.push_back(static_cast<int32_t>(device));
        return success();
      });
}

void soapir::printDeviceList(AsmPrinter &printer, ArrayRef<int32_t> devices) {
  printer << '[';
  for (size_t i = 0; i < devices.size();) {
    if (i)
      printer << ", ";
    size_t end = i + 1;
    while (end < devices.size() && devices[i] != kHostDevice &&
           devices[end] == devices[end - 1] + 1)
      ++end;
    if (end - i < 3)
      end = i + 1;
    printDevice(printer, devices[i]);
    if (end - i > 1)
      printer << " to " << devices[end - 1];
    i = end;
  }
  printer << ']';
}

ParseResult soapir::parseRanges(AsmParser &parser,
                                SmallVectorImpl<int64_t> &bounds) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        int64_t lo, hi;
        if (parser.parseInteger(lo) || parser.parseColon() ||
            parser.parseInteger(hi))
          return failure();
        bounds.push_back(lo);
        bounds.push_back(hi);
        return success();
      });
}

void soapir::printRanges(AsmPrinter &printer, ArrayRef<int64_t> bounds) {
  printer << '[';
  for (size_t i = 0; i < bounds.size(); i += 2)
    printer << (i ? ", " : "") << bounds[i] << ':' << bounds[i + 1];
  printer << ']';
}

ParseResult soapir::parseBoxed(OpAsmParser &parser, Type &type, BoxAttr &box) {
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

ParseResult soapir::parseBoxedResults(OpAsmParser &parser,
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

void soapir::printBoxedResults(OpAsmPrinter &printer, Operation *,
                               TypeRange types, ArrayAttr boxes) {
  printer << '(';
  llvm::interleaveComma(llvm::zip(types, boxes), printer, [&](auto pair) {
    printer << std::get<0>(pair) << " as " << std::get<1>(pair);
  });
  printer << ')';
}
