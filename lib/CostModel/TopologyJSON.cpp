//===- TopologyJSON.cpp - Topology files ----------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JSONReader.h"
#include "soap/CostModel/Topology.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>

using namespace soap;
namespace json = llvm::json;

DeviceKind soap::detail::readKind(JSONReader &reader, llvm::StringRef name,
                                  const json::Object &object) {
  DeviceKind kind;
  kind.name = name.str();
  std::string where = "device kind '" + kind.name + "'";
  kind.peakFlops = reader.number(object, "peak_flops", where);
  kind.memoryBandwidth =
      reader.number(object, "memory_bandwidth_bytes_per_s", where);
  kind.cacheBytes = reader.number(object, "cache_bytes", where, 0);
  kind.cacheBandwidth =
      reader.number(object, "cache_bandwidth_bytes_per_s", where, 0);
  kind.halfRows = reader.number(object, "half_rows", where, kind.halfRows);
  kind.halfColumns =
      reader.number(object, "half_columns", where, kind.halfColumns);
  kind.halfDepth = reader.number(object, "half_depth", where, kind.halfDepth);
  kind.launchNs = std::llround(
      reader.number(object, "launch_s", where, kind.launchNs * 1e-9) * 1e9);
  return kind;
}

json::Object soap::detail::writeKind(const DeviceKind &kind) {
  json::Object object{{"peak_flops", kind.peakFlops},
                      {"memory_bandwidth_bytes_per_s", kind.memoryBandwidth},
                      {"half_rows", kind.halfRows},
                      {"half_columns", kind.halfColumns},
                      {"half_depth", kind.halfDepth},
                      {"launch_s", kind.launchNs * 1e-9}};
  if (kind.cacheBytes > 0) {
    object["cache_bytes"] = kind.cacheBytes;
    object["cache_bandwidth_bytes_per_s"] = kind.cacheBandwidth;
  }
  return object;
}

namespace {
/// Reads the parts of a topology in their order; the first error stays.
class TopologyReader {
public:
  explicit TopologyReader(const json::Object &root) : root_(root) {}

  llvm::Expected<Topology> read() {
    topology_.name = root_.getString("name").value_or("topology").str();
    readKinds();
    readDevices();
    readLinks();
    if (reader_.error.empty())
      reader_.error = topology_.finish();
    if (!reader_.error.empty())
      return llvm::createStringError(reader_.error);
    return std::move(topology_);
  }

private:
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
      int64_t id = reader_.integer(*device, "id", where, index);
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
      topology_.addDevice(
          known->second,
          static_cast<int32_t>(reader_.integer(*device, "node", where, 0)),
          reader_.integer(*device, "memory_bytes", where, 0),
          static_cast<int32_t>(reader_.integer(*device, "cores", where, 0)));
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
      link.bandwidth = reader_.number(*object, "bandwidth_bytes_per_s", where);
      link.latencyNs =
          std::llround(reader_.number(*object, "latency_s", where, 0) * 1e9);
      link.shared = object->getString("shared").value_or("").str();
      llvm::StringRef occupies = object->getString("occupies").value_or("");
      if (!occupies.empty() && occupies != "receiver")
        return reader_.fail(where +
                            ": expected \"receiver\" in 'occupies', "
                            "got: \"" +
                            occupies + "\"");
      link.occupiesReceiver = !occupies.empty();
      link.copyBandwidth =
          reader_.number(*object, "copy_bandwidth_bytes_per_s", where, 0);
      if (link.copyBandwidth < 0)
        return reader_.fail(where + ": expected a copy_bandwidth_bytes_per_s "
                                    "of 0 (that of the link) or more");
      if (object->getBoolean("duplex").value_or(false))
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
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError("expected a topology file, got: '" + path +
                                   "': " + buffer.getError().message());
  llvm::Expected<Topology> topology = parse((*buffer)->getBuffer());
  if (!topology)
    return llvm::createStringError(
        "'" + path + "': " + llvm::toString(topology.takeError()));
  return topology;
}

std::string Topology::toJSON() const {
  json::Object kinds;
  for (const DeviceKind &kind : kinds_)
    kinds[kind.name] = detail::writeKind(kind);
  json::Array devices, links;
  for (const Device &device : devices_) {
    json::Object entry{{"id", device.id},
                       {"kind", kinds_[device.kind].name},
                       {"node", device.node},
                       {"memory_bytes", device.memoryBytes}};
    if (device.cores)
      entry["cores"] = device.cores;
    devices.push_back(std::move(entry));
  }
  devices.push_back(json::Object{{"id", host()}, {"kind", "host"}});
  auto end = [&](int32_t vertex) -> json::Value {
    if (vertex < host())
      return vertex;
    return vertex == host() ? std::string("host")
                            : junctions_[vertex - host() - 1];
  };
  for (const Link &link : links_) {
    json::Object entry{{"from", end(link.from)},
                       {"to", end(link.to)},
                       {"bandwidth_bytes_per_s", link.bandwidth},
                       {"latency_s", link.latencyNs * 1e-9}};
    if (!link.shared.empty())
      entry["shared"] = link.shared;
    if (link.occupiesReceiver)
      entry["occupies"] = "receiver";
    if (link.copyBandwidth > 0)
      entry["copy_bandwidth_bytes_per_s"] = link.copyBandwidth;
    links.push_back(std::move(entry));
  }
  json::Value root = json::Object{{"format", "soap-topology"},
                                  {"name", name},
                                  {"kinds", std::move(kinds)},
                                  {"devices", std::move(devices)},
                                  {"links", std::move(links)}};
  return llvm::formatv("{0:2}\n", root).str();
}
