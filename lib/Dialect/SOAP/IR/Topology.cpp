//===- Topology.cpp - Devices and links in IR -------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace soap;
using namespace soap::soapir;
namespace json = llvm::json;

TopologyOp soapir::getTopology(ModuleOp module) {
  for (auto topology : module.getOps<TopologyOp>())
    return topology;
  return nullptr;
}

static bool isHost(Attribute device) {
  auto entry = dyn_cast<DictionaryAttr>(device);
  auto kind = entry ? entry.getAs<StringAttr>("kind") : nullptr;
  return kind && kind.getValue() == "host";
}

int32_t TopologyOp::getNumDevices() {
  auto devices = getDescription().getAs<ArrayAttr>("devices");
  return devices
             ? llvm::count_if(devices,
                              [](Attribute device) { return !isHost(device); })
             : 0;
}

//===----------------------------------------------------------------------===//
// Between attributes and JSON
//===----------------------------------------------------------------------===//

static json::Value toJSON(Attribute attr) {
  if (auto dictionary = dyn_cast<DictionaryAttr>(attr)) {
    json::Object object;
    for (NamedAttribute entry : dictionary)
      object[entry.getName().strref()] = toJSON(entry.getValue());
    return object;
  }
  if (auto array = dyn_cast<ArrayAttr>(attr)) {
    json::Array list;
    for (Attribute item : array)
      list.push_back(toJSON(item));
    return list;
  }
  if (auto flag = dyn_cast<BoolAttr>(attr))
    return flag.getValue();
  if (auto integer = dyn_cast<IntegerAttr>(attr))
    return integer.getValue().getSExtValue();
  if (auto number = dyn_cast<FloatAttr>(attr))
    return number.getValueAsDouble();
  if (auto text = dyn_cast<StringAttr>(attr))
    return text.getValue();
  return nullptr;
}

static Attribute fromJSON(Builder &builder, const json::Value &value) {
  if (const json::Object *object = value.getAsObject()) {
    NamedAttrList entries;
    for (const auto &[key, item] : *object)
      entries.set(StringRef(key), fromJSON(builder, item));
    return entries.getDictionary(builder.getContext());
  }
  if (const json::Array *list = value.getAsArray()) {
    SmallVector<Attribute> items;
    for (const json::Value &item : *list)
      items.push_back(fromJSON(builder, item));
    return builder.getArrayAttr(items);
  }
  if (std::optional<bool> flag = value.getAsBoolean())
    return builder.getBoolAttr(*flag);
  // What is written with a fraction stays a number with a fraction.
  if (value.kind() == json::Value::Number) {
    std::optional<int64_t> integer = value.getAsInteger();
    return integer ? Attribute(builder.getI64IntegerAttr(*integer))
                   : Attribute(builder.getF64FloatAttr(*value.getAsNumber()));
  }
  return builder.getStringAttr(value.getAsString().value_or(""));
}

llvm::Expected<Topology> SOAPDialect::getTopology(DictionaryAttr description) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (description == lastDescription_)
    return *lastTopology_;
  std::string text;
  llvm::raw_string_ostream(text) << toJSON(description);
  llvm::Expected<Topology> topology = Topology::parse(text);
  if (topology) {
    lastDescription_ = description;
    lastTopology_ = std::make_shared<const Topology>(*topology);
  }
  return topology;
}

llvm::Expected<Topology> TopologyOp::getTopology() {
  return getContext()->getLoadedDialect<SOAPDialect>()->getTopology(
      getDescription());
}

DictionaryAttr TopologyOp::describe(MLIRContext *context,
                                    const Topology &topology) {
  Builder builder(context);
  return cast<DictionaryAttr>(
      fromJSON(builder, llvm::cantFail(json::parse(topology.toJSON()))));
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

LogicalResult TopologyOp::verify() {
  auto devices = getDescription().getAs<ArrayAttr>("devices");
  if (!devices || devices.empty())
    return emitOpError() << "expected a list of at least one device, `devices "
                            "= [{id = 0, ...}, ...]`, got: "
                         << getDescription();
  for (auto [i, device] : llvm::enumerate(devices)) {
    auto entry = dyn_cast<DictionaryAttr>(device);
    auto id = entry ? entry.getAs<IntegerAttr>("id") : nullptr;
    if (!id || id.getValue().getSExtValue() != static_cast<int64_t>(i))
      return emitOpError() << "expected device " << i << " to have the id " << i
                           << ", got: " << device
                           << "; devices stand in the order of their ids";
  }
  llvm::Expected<Topology> topology = getTopology();
  if (!topology)
    return emitOpError() << llvm::toString(topology.takeError());
  TopologyOp first =
      soapir::getTopology(cast<ModuleOp>((*this)->getParentOp()));
  if (first != *this) {
    InFlightDiagnostic diag =
        emitOpError() << "expected at most one topology in a module, got: a "
                         "second one; remove it";
    diag.attachNote(first.getLoc()) << "the first";
    return diag;
  }
  return success();
}
