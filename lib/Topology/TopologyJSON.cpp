//===- TopologyJSON.cpp - Topology files ----------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Topology/JSONReader.h"
#include "soap/Topology/Topology.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"
#include <charconv>
#include <cmath>
#include <map>

using namespace soap;
namespace json = llvm::json;

/// The largest number of a machine.
static constexpr int64_t maxNode = 1000000;

DeviceKind soap::detail::readKind(JSONReader &reader, llvm::StringRef name,
                                  const json::Object &object) {
  DeviceKind kind;
  kind.name = name.str();
  std::string where = "device kind '" + kind.name + "'";
  kind.peakFlops =
      reader.number(object, "peak_flops", where, detail::rateBounds);
  auto rateOf = [&](llvm::StringRef key) {
    return object.get(key)
               ? reader.number(object, key, where, detail::rateBounds)
               : 0;
  };
  kind.tf32Flops = rateOf("tf32_flops");
  kind.bf16Flops = rateOf("bf16_flops");
  kind.f16Flops = rateOf("f16_flops");
  kind.i8Flops = rateOf("i8_flops");
  kind.memoryBandwidth = reader.number(object, "memory_bandwidth_bytes_per_s",
                                       where, bandwidthBounds);
  kind.cacheBytes = reader.number(object, "cache_bytes", where, bytesBounds, 0);
  kind.cacheBandwidth = reader.number(object, "cache_bandwidth_bytes_per_s",
                                      where, optionalBandwidthBounds, 0);
  kind.halfRows =
      reader.number(object, "half_rows", where, sizeBounds, kind.halfRows);
  kind.halfColumns = reader.number(object, "half_columns", where, sizeBounds,
                                   kind.halfColumns);
  kind.halfDepth =
      reader.number(object, "half_depth", where, sizeBounds, kind.halfDepth);
  kind.launchNs = roundNs(reader.number(object, "launch_s", where,
                                        secondsBounds, kind.launchNs * 1e-9) *
                          1e9);
  kind.boxBandwidth = reader.number(object, "box_bandwidth_bytes_per_s", where,
                                    optionalBandwidthBounds, 0);
  kind.boxRunSeconds =
      reader.number(object, "box_run_s", where, secondsBounds, 0);
  kind.boxLaunchNs = roundNs(
      reader.number(object, "box_launch_s", where, secondsBounds, 0) * 1e9);
  kind.alignment = reader.integer(object, "alignment", where, alignmentBounds,
                                  kind.alignment);
  return kind;
}

void soap::detail::writeNumber(json::OStream &json, llvm::StringRef key,
                               double value) {
  char text[32];
  char *end = std::to_chars(text, std::end(text), value).ptr;
  json.attributeBegin(key);
  json.rawValue(llvm::StringRef(text, end - text));
  json.attributeEnd();
}

void soap::detail::writeKind(json::OStream &json, const DeviceKind &kind) {
  writeNumber(json, "peak_flops", kind.peakFlops);
  for (auto [key, rate] : {std::pair("tf32_flops", kind.tf32Flops),
                           std::pair("bf16_flops", kind.bf16Flops),
                           std::pair("f16_flops", kind.f16Flops),
                           std::pair("i8_flops", kind.i8Flops)})
    if (rate > 0)
      writeNumber(json, key, rate);
  writeNumber(json, "memory_bandwidth_bytes_per_s", kind.memoryBandwidth);
  if (kind.cacheBytes > 0) {
    writeNumber(json, "cache_bytes", kind.cacheBytes);
    writeNumber(json, "cache_bandwidth_bytes_per_s", kind.cacheBandwidth);
  }
  writeNumber(json, "half_rows", kind.halfRows);
  writeNumber(json, "half_columns", kind.halfColumns);
  writeNumber(json, "half_depth", kind.halfDepth);
  writeNumber(json, "launch_s", kind.launchNs / 1e9);
  if (kind.boxBandwidth > 0) {
    writeNumber(json, "box_bandwidth_bytes_per_s", kind.boxBandwidth);
    writeNumber(json, "box_run_s", kind.boxRunSeconds);
    writeNumber(json, "box_launch_s", kind.boxLaunchNs / 1e9);
  }
  if (kind.alignment != DeviceKind().alignment)
    json.attribute("alignment", kind.alignment);
}

namespace {
/// Reads the parts of a topology in their order; the first error stays.
class TopologyReader {
public:
  explicit TopologyReader(const json::Object &root) : root_(root) {}

  llvm::Expected<Topology> read() {
    std::string name = reader_.text(root_, "name", "the topology"),
                format = reader_.text(root_, "format", "the topology");
    topology_.name = name.empty() ? "topology" : name;
    if (!format.empty() && format != "soap-topology")
      reader_.fail("the topology: expected the 'format' \"soap-topology\", "
                   "got: \"" +
                   format + "\"");
    readComments();
    topology_.priorityBytes = reader_.integer(
        root_, "priority_bytes", "the topology", {0, INT64_MAX / 4}, 0);
    readKinds();
    readDevices();
    readLinks();
    if (llvm::Error error = reader_.takeError())
      return std::move(error);
    if (llvm::Error error = topology_.finish())
      return std::move(error);
    return std::move(topology_);
  }

private:
  /// A text or a list of texts. Anything else that people write there is
  /// ignored.
  void readComments() {
    if (std::optional<llvm::StringRef> text = root_.getString("comment"))
      topology_.comments.push_back(text->str());
    if (const json::Array *list = root_.getArray("comment"))
      for (const json::Value &line : *list)
        if (std::optional<llvm::StringRef> text = line.getAsString())
          topology_.comments.push_back(text->str());
  }

  void readKinds() {
    const json::Object *kinds = root_.getObject("kinds");
    if (!kinds)
      return reader_.fail("expected an object 'kinds' that describes the kinds "
                          "of devices");
    std::vector<std::string> names;
    for (const auto &[key, value] : *kinds)
      names.push_back(std::string(key.str()));
    llvm::sort(names);
    for (const std::string &name : names) {
      const json::Object *kind = kinds->getObject(name);
      if (!kind)
        return reader_.fail("device kind '" + name + "': expected an object");
      kinds_[name] = topology_.addKind(detail::readKind(reader_, name, *kind));
    }
  }

  void readDevices() {
    const json::Array *devices = root_.getArray("devices");
    if (!devices)
      return reader_.fail("expected an array 'devices'");
    bool sawHost = false;
    for (auto [index, value] : llvm::enumerate(*devices)) {
      std::string where = "device " + std::to_string(index);
      const json::Object *device = value.getAsObject();
      if (!device)
        return reader_.fail(where + ": expected an object");
      int64_t id = reader_.integer(*device, "id", where, {0, INT32_MAX}, index);
      if (id != static_cast<int64_t>(index) || sawHost)
        return reader_.fail(
            where +
            ": expected ids 0, 1, 2, ... in order, the host last, got: " +
            std::to_string(id));
      std::string kind = device->getString("kind").value_or("").str();
      if (kind == "host") {
        sawHost = true;
        continue;
      }
      auto known = kinds_.find(kind);
      if (known == kinds_.end())
        return reader_.fail(where +
                            ": expected a kind that 'kinds' describes, "
                            "or \"host\", got: \"" +
                            kind + "\"");
      topology_.addDevice(known->second,
                          static_cast<int32_t>(reader_.integer(
                              *device, "node", where, {0, maxNode}, 0)),
                          reader_.integer(*device, "memory_bytes", where,
                                          {0, INT64_MAX / 4}, 0),
                          static_cast<int32_t>(reader_.integer(
                              *device, "cores", where, {0, 1000000}, 0)));
    }
  }

  int32_t readEnd(const json::Object &link, llvm::StringRef key,
                  const std::string &where) {
    if (std::optional<int64_t> id = link.getInteger(key)) {
      if (*id == topology_.numDevices())
        return Topology::hostVertex;
      if (*id >= 0 && *id < topology_.numDevices())
        return static_cast<int32_t>(*id);
      reader_.fail(
          where + ": expected '" + key + "' below " +
          llvm::Twine(topology_.numDevices()) +
          ", \"host\" or the name of a junction, got: " + llvm::Twine(*id));
      return 0;
    }
    std::optional<llvm::StringRef> name = link.getString(key);
    if (!name) {
      reader_.fail(where + ": expected '" + key +
                   "': a device, \"host\" or the name of a junction");
      return 0;
    }
    if (*name == "host")
      return Topology::hostVertex;
    auto [it, isNew] = junctions_.try_emplace(*name, 0);
    if (isNew)
      it->second = topology_.addJunction(*name);
    return it->second;
  }

  void readLinks() {
    const json::Array *links = root_.getArray("links");
    if (!links)
      return reader_.fail("expected an array 'links'");
    for (auto [index, value] : llvm::enumerate(*links)) {
      std::string where = "link " + std::to_string(index);
      const json::Object *object = value.getAsObject();
      if (!object)
        return reader_.fail(where + ": expected an object");
      Link link;
      link.from = readEnd(*object, "from", where);
      link.to = readEnd(*object, "to", where);
      link.bandwidth = reader_.number(*object, "bandwidth_bytes_per_s", where,
                                      detail::bandwidthBounds);
      link.latencyNs = roundNs(reader_.number(*object, "latency_s", where,
                                              detail::secondsBounds, 0) *
                               1e9);
      link.shared = reader_.text(*object, "shared", where);
      std::string occupies = reader_.text(*object, "occupies", where);
      if (!occupies.empty() && occupies != "receiver")
        return reader_.fail(where +
                            ": expected \"receiver\" in 'occupies', "
                            "got: \"" +
                            occupies + "\"");
      link.occupiesReceiver = !occupies.empty();
      link.copyBandwidth =
          reader_.number(*object, "copy_bandwidth_bytes_per_s", where,
                         detail::optionalBandwidthBounds, 0);
      link.sharesMemory = reader_.flag(*object, "shares_memory", where);
      if (reader_.flag(*object, "duplex", where))
        topology_.addDuplexLink(link);
      else
        topology_.addLink(link);
    }
  }

  const json::Object &root_;
  detail::JSONReader reader_;
  Topology topology_;
  llvm::StringMap<int32_t> kinds_, junctions_;
};
} // namespace

llvm::Expected<Topology> Topology::parse(llvm::StringRef text) {
  llvm::Expected<json::Value> value = parseJSON(text, "a topology");
  if (!value)
    return value.takeError();
  const json::Object *root = value->getAsObject();
  if (!root)
    return llvm::createStringError("expected a JSON object with 'kinds', "
                                   "'devices' and 'links'");
  return TopologyReader(*root).read();
}

llvm::Expected<Topology> Topology::load(llvm::StringRef path) {
  auto buffer = readRegularFile(path);
  if (!buffer)
    return llvm::createStringError("expected a topology file, got: '" + path +
                                   "': " + llvm::toString(buffer.takeError()));
  llvm::Expected<Topology> topology = parse((*buffer)->getBuffer());
  if (!topology)
    return llvm::createStringError(
        "'" + path + "': " + llvm::toString(topology.takeError()));
  return topology;
}

namespace {
/// Prints the parts of a topology, each device and each link on one line.
class TopologyWriter {
public:
  TopologyWriter(const Topology &topology,
                 llvm::ArrayRef<std::string> junctions, llvm::raw_ostream &os)
      : topology_(topology), junctions_(junctions),
        json_(os, /*IndentSize=*/2) {}

  void write() {
    json_.object([&] {
      json_.attribute("format", "soap-topology");
      json_.attribute("name", topology_.name);
      if (!topology_.comments.empty())
        json_.attributeArray("comment", [&] {
          for (const std::string &comment : topology_.comments)
            json_.value(comment);
        });
      if (topology_.hasPriorityStreams())
        json_.attribute("priority_bytes", topology_.priorityBytes);
      writeKinds();
      json_.attributeArray("devices", [&] { writeDevices(); });
      json_.attributeArray("links", [&] { writeLinks(); });
    });
  }

private:
  /// An object on a line of its own.
  void line(llvm::function_ref<void(json::OStream &)> fields) {
    json_.rawValue([&](llvm::raw_ostream &os) {
      json::OStream json(os);
      json.object([&] { fields(json); });
    });
  }

  void writeKinds() {
    // The order in the object means nothing; it shall not depend on the order
    // in which a file had them.
    std::map<llvm::StringRef, const DeviceKind *> kinds;
    for (const DeviceKind &kind : topology_.kinds())
      kinds[kind.name] = &kind;
    json_.attributeObject("kinds", [&] {
      for (auto [name, kind] : kinds) {
        json_.attributeBegin(name);
        line([kind = kind](json::OStream &json) {
          detail::writeKind(json, *kind);
        });
        json_.attributeEnd();
      }
    });
  }

  void writeDevices() {
    for (const Device &device : topology_.devices())
      line([&](json::OStream &json) {
        json.attribute("id", device.id);
        json.attribute("kind", topology_.kindOf(device.id).name);
        json.attribute("node", device.node);
        json.attribute("memory_bytes", device.memoryBytes);
        if (device.cores)
          json.attribute("cores", device.cores);
      });
    line([&](json::OStream &json) {
      json.attribute("id", topology_.host());
      json.attribute("kind", "host");
    });
  }

  json::Value end(int32_t vertex) const {
    if (vertex < topology_.host())
      return vertex;
    return vertex == topology_.host()
               ? "host"
               : junctions_[vertex - topology_.host() - 1];
  }

  /// Whether what addDuplexLink() made of one is two links in a row.
  static bool areDuplex(const Link &one, const Link &other) {
    return one.from == other.to && one.to == other.from &&
           one.bandwidth == other.bandwidth &&
           one.latencyNs == other.latencyNs && one.shared == other.shared &&
           one.occupiesReceiver == other.occupiesReceiver &&
           one.copyBandwidth == other.copyBandwidth &&
           one.sharesMemory == other.sharesMemory;
  }

  void writeLinks() {
    llvm::ArrayRef<Link> links = topology_.links();
    for (size_t i = 0; i < links.size(); ++i) {
      const Link &link = links[i];
      bool duplex = i + 1 < links.size() && areDuplex(link, links[i + 1]);
      line([&](json::OStream &json) {
        json.attribute("from", end(link.from));
        json.attribute("to", end(link.to));
        detail::writeNumber(json, "bandwidth_bytes_per_s", link.bandwidth);
        detail::writeNumber(json, "latency_s", link.latencyNs / 1e9);
        if (!link.shared.empty())
          json.attribute("shared", link.shared);
        if (link.occupiesReceiver)
          json.attribute("occupies", "receiver");
        if (link.copyBandwidth > 0)
          detail::writeNumber(json, "copy_bandwidth_bytes_per_s",
                              link.copyBandwidth);
        if (link.sharesMemory)
          json.attribute("shares_memory", true);
        if (duplex)
          json.attribute("duplex", true);
      });
      i += duplex;
    }
  }

  const Topology &topology_;
  llvm::ArrayRef<std::string> junctions_;
  json::OStream json_;
};
} // namespace

std::string Topology::toJSON() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  TopologyWriter(*this, junctions_, os).write();
  os << '\n';
  return text;
}
