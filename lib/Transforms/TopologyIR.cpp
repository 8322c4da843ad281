//===- TopologyIR.cpp - Topologies as attributes --------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A soap.topology holds the contents of a topology file as a dictionary. Both
// directions go through the JSON form, which lib/CostModel reads and writes.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "soap/Transforms/StrategyIR.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/JSON.h"

using namespace mlir;

namespace soap {

static llvm::json::Value toJSONValue(Attribute attr) {
  return llvm::TypeSwitch<Attribute, llvm::json::Value>(attr)
      .Case([](BoolAttr value) { return value.getValue(); })
      .Case([](IntegerAttr value) { return value.getInt(); })
      .Case([](FloatAttr value) { return value.getValueAsDouble(); })
      .Case([](StringAttr value) { return value.getValue().str(); })
      .Case([](ArrayAttr values) {
        llvm::json::Array array;
        for (Attribute value : values)
          array.push_back(toJSONValue(value));
        return array;
      })
      .Case([](DictionaryAttr values) {
        llvm::json::Object object;
        for (NamedAttribute value : values)
          object[value.getName().strref()] = toJSONValue(value.getValue());
        return object;
      })
      .Default([](Attribute) { return nullptr; });
}

static Attribute toAttribute(Builder &builder, const llvm::json::Value &json) {
  switch (json.kind()) {
  case llvm::json::Value::Null:
    return builder.getUnitAttr();
  case llvm::json::Value::Boolean:
    return builder.getBoolAttr(*json.getAsBoolean());
  case llvm::json::Value::Number:
    if (std::optional<int64_t> integer = json.getAsInteger())
      return builder.getI64IntegerAttr(*integer);
    return builder.getF64FloatAttr(*json.getAsNumber());
  case llvm::json::Value::String:
    return builder.getStringAttr(*json.getAsString());
  case llvm::json::Value::Array: {
    SmallVector<Attribute> values;
    for (const llvm::json::Value &value : *json.getAsArray())
      values.push_back(toAttribute(builder, value));
    return builder.getArrayAttr(values);
  }
  case llvm::json::Value::Object: {
    SmallVector<NamedAttribute> values;
    for (const auto &member : *json.getAsObject())
      values.push_back(builder.getNamedAttr(
          StringRef(member.first), toAttribute(builder, member.second)));
    return builder.getDictionaryAttr(values);
  }
  }
  llvm_unreachable("unknown kind of JSON value");
}

FailureOr<Topology> readTopology(ModuleOp module) {
  ir::TopologyOp op = ir::getTopology(module);
  if (!op)
    return emitError(module.getLoc(),
                     "expected a soap.topology in the module, got "
                     "none; run soap-attach-topology");
  std::string text;
  llvm::raw_string_ostream(text) << toJSONValue(op.getDescription());
  llvm::Expected<Topology> topology = Topology::parse(text);
  if (!topology)
    return emitError(op.getLoc(), llvm::toString(topology.takeError()));
  return std::move(*topology);
}

void writeTopology(ModuleOp module, const Topology &topology) {
  if (ir::TopologyOp old = ir::getTopology(module))
    old.erase();
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(topology.toJSON());
  // Our own writer's output parses.
  llvm::json::Value value = llvm::cantFail(std::move(json));
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  builder.create<ir::TopologyOp>(
      module.getLoc(), builder.getStringAttr("machine"),
      cast<DictionaryAttr>(toAttribute(builder, value)));
}

} // namespace soap
