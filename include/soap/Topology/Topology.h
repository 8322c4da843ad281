//===- Topology.h - Devices and the links between them ----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The device topology D of Jia et al., "Beyond data and model parallelism",
// section 3: devices of possibly different kinds, and directed links with a
// bandwidth and a latency. Compute devices have the ids 0 to numDevices()-1;
// one memory-only device, `host`, holds inputs and outputs and has the id
// numDevices().
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TOPOLOGY_TOPOLOGY_H
#define SOAP_TOPOLOGY_TOPOLOGY_H

#include "soap/Links/LinkSpeed.h"
#include "soap/Partition/Vocabulary.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cassert>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace llvm::json {
class Value;
} // namespace llvm::json

namespace soap {

/// What a kind of device can do. Rates are for 32-bit floats, if nothing else
/// is said.
struct DeviceKind {
  std::string name;
  double peakFlops = 100e9; ///< Flop/s that the best kernel reaches.
  /// The same of products and convolutions that multiply TF32 or floats of 16
  /// bits, and sum in f32, or integers of 8 bits, and sum in i32. 0: no other
  /// than peakFlops is known.
  double tf32Flops = 0, bf16Flops = 0, f16Flops = 0, i8Flops = 0;
  double memoryBandwidth = 10e9; ///< Bytes/s, read plus written.
  /// The first `cacheBytes` that a kernel without weights or a copy touches
  /// pass at `cacheBandwidth`: the step before left them in a cache. 0: none.
  double cacheBytes = 0, cacheBandwidth = 0;
  /// Small tiles are inefficient: a kernel with m rows, n columns and a
  /// reduction of depth k reaches m/(m+halfRows) * n/(n+halfColumns) *
  /// k/(k+halfDepth) of the peak.
  double halfRows = 4, halfColumns = 4, halfDepth = 16;
  int64_t launchNs = 1000; ///< Fixed cost of every kernel.
  /// Copies of boxes within a device: bytes/s, read plus written; what each
  /// contiguous run of bytes adds; and the fixed cost. Without a bandwidth (0),
  /// a copy takes as long as a kernel that touches as many bytes, and what
  /// members of a collective copy before and after it is not known.
  double boxBandwidth = 0, boxRunSeconds = 0;
  int64_t boxLaunchNs = 0;
  /// What kernels read starts at multiples of this many bytes; what lies
  /// elsewhere is copied first.
  int64_t alignment = 64;

  /// Flop/s of products of this precision that are known; 0: none.
  double knownFlops(Precision precision) const {
    switch (precision) {
    case Precision::F32:
      break;
    case Precision::TF32:
      return tf32Flops;
    case Precision::BF16:
      return bf16Flops;
    case Precision::F16:
      return f16Flops;
    case Precision::I8:
      return i8Flops;
    }
    return peakFlops;
  }
  /// Flop/s that products of this precision count with.
  double flopsOf(Precision precision) const {
    double known = knownFlops(precision);
    return known > 0 ? known : peakFlops;
  }
};

/// A device that computes, or the host's memory.
struct Device {
  int32_t id = 0;
  int32_t kind = 0;        ///< Index into kinds(); ignored for the host.
  int32_t node = 0;        ///< The machine it sits in.
  int64_t memoryBytes = 0; ///< 0: unlimited.
  int32_t cores = 0;       ///< CPU cores, 0 if it is no CPU device.
};

/// How long `bytes` keep a link of `bandwidth` bytes/s, in ns, rounded to the
/// nearest, at most longestNs. Times of simulations and of what is compiled
/// agree to the bit because all of them come from here.
inline int64_t transferNs(double bytes, double bandwidth) {
  return roundNs(bytes / bandwidth * 1e9);
}

/// A directed connection. Ends are devices or junctions (switches, network
/// cards), so that what several routes share can be said.
struct Link {
  int32_t from = 0, to = 0; ///< Vertices: device ids, then junctions.
  double bandwidth = 0;     ///< Bytes/s.
  int64_t latencyNs = 0;
  /// Links of one `shared` name are one resource: they are used one at a time.
  std::string shared;
  int32_t resource = -1;         ///< Index of the resource, filled by finish().
  bool occupiesReceiver = false; ///< Transfers hold the receiver's compute.
  /// Bytes/s at which they do, where the link is slower than the copy; 0: at
  /// the link's bandwidth.
  double copyBandwidth = 0;
  /// Its ends read and write each other's memory: members of an all-reduce
  /// write what they have joined to all others as they join it.
  bool sharesMemory = false;

  /// How long `bytes` keep the link, without its latency.
  int64_t ns(double bytes) const { return transferNs(bytes, bandwidth); }
};

/// The way from one device to another. Put together by Topology::route() from
/// the topology's tables, whose `links` it refers to.
struct Route {
  llvm::ArrayRef<int32_t> links; ///< Indices into links(), in order.
  int64_t latencyNs = 0;         ///< Sum over the links.
  double bandwidth = 0;          ///< Smallest of the links, bytes/s.
  bool occupiesReceiver = false; ///< If any link says so.
  double copyBandwidth = 0;      ///< Smallest of those links, bytes/s.
  bool sharesMemory = false;     ///< If all links say so.

  /// How long `bytes` take once the first of them is there: the time on the
  /// slowest link, without latencies.
  int64_t ns(double bytes) const { return transferNs(bytes, bandwidth); }
  /// How long a transfer holds the receiver's compute stream.
  int64_t copyNs(double bytes) const {
    return occupiesReceiver ? transferNs(bytes, copyBandwidth) : 0;
  }
};

/// One of the equal devices of a machine that exchange data through shared
/// memory.
struct MachineDevice {
  DeviceKind kind;
  /// Bytes/s that one device gets while all are copying.
  double copyBandwidth = 0;
  int64_t latencyNs = 0;   ///< Of a transfer.
  int64_t memoryBytes = 0; ///< 0: unlimited.
  int32_t cores = 0;
  bool occupiesReceiver = false; ///< As in Link.
  bool sharesMemory = false;     ///< As in Link.
};

class Topology {
public:
  std::string name;
  /// What people should know about it (`comment` in files): sources and
  /// assumptions.
  std::vector<std::string> comments;
  /// Devices have a stream for the collectives of values of at most this many
  /// bytes, the whole value: they do not wait for other communication, but what
  /// comes behind it on a link waits for both. 0: they have none.
  int64_t priorityBytes = 0;

  /// @{ Construction: kinds, then devices in the order of their ids, then
  /// junctions and links, then finish().
  int32_t addKind(DeviceKind kind);
  int32_t addDevice(int32_t kind, int32_t node = 0, int64_t memoryBytes = 0,
                    int32_t cores = 0);
  /// Junctions are numbered from -1 downwards until finish().
  int32_t addJunction(llvm::StringRef name);
  /// Before finish(), the host is this vertex.
  static constexpr int32_t hostVertex = INT32_MIN;
  void addLink(Link link);
  /// A link in each direction.
  void addDuplexLink(Link link);
  /// Numbers vertices and resources and finds the routes. Returns check().
  llvm::Error finish();
  /// @}

  /// `count` equal devices of one machine.
  static Topology machine(int32_t count, const MachineDevice &device);
  /// Puts a link of this speed in place of each that joins two devices, as
  /// soap-run --link does: one in each direction of a pair, shared with no
  /// other. Receivers copy as fast as before, and what it takes to hand over
  /// adds to the latency. After finish().
  void throttle(const LinkSpeed &speed);

  /// Leaves `bytes` less of a device's memory, but at least one byte; nothing
  /// changes where it is unlimited.
  void reserveMemory(int32_t device, int64_t bytes);

  static llvm::Expected<Topology> parse(llvm::StringRef json);
  static llvm::Expected<Topology> load(llvm::StringRef path);
  /// The JSON text of the topology, in the form that parse() reads: a line per
  /// device and link. parse() of it makes an equal topology.
  std::string toJSON() const;

  /// Fails with the first mistake: no device, an unknown kind, a pair of
  /// devices without a route, a bandwidth that is not positive, and others.
  llvm::Error check() const;

  int32_t numDevices() const { return static_cast<int32_t>(devices_.size()); }
  /// The id of the memory-only device.
  int32_t host() const { return numDevices(); }
  const Device &device(int32_t id) const { return devices_[id]; }
  llvm::ArrayRef<Device> devices() const { return devices_; }
  const DeviceKind &kindOf(int32_t device) const {
    return kinds_[devices_[device].kind];
  }
  llvm::ArrayRef<DeviceKind> kinds() const { return kinds_; }
  DeviceKind &kind(int32_t index) { return kinds_[index]; }
  llvm::ArrayRef<Link> links() const { return links_; }
  int32_t numResources() const { return numResources_; }
  bool hasPriorityStreams() const { return priorityBytes > 0; }
  /// True if collectives of a value of so many bytes, or of several values
  /// together, run on the priority streams of their members.
  bool prioritizes(int64_t bytes) const {
    return hasPriorityStreams() && bytes <= priorityBytes;
  }
  /// The route between two devices, either of which may be the host. Without
  /// links from a device to itself. Simulations ask for it in their inner
  /// loops: a few loads and an addition.
  Route route(int32_t from, int32_t to) const {
    const Way &way = wayOf(from, to);
    const Rates &rates = routes_->rates[way.rates];
    return {
        llvm::ArrayRef(routes_->links.data() + way.firstLink, rates.numLinks),
        rates.latencyNs,
        rates.bandwidth,
        rates.occupiesReceiver,
        rates.copyBandwidth,
        rates.sharesMemory};
  }
  /// Relative cost of a route (ns for one mebibyte), to choose the nearest
  /// source of a transfer. 0 from a device to itself.
  int64_t routeCost(int32_t from, int32_t to) const {
    return routes_->rates[wayOf(from, to).rates].cost;
  }

private:
  /// Routes are stored for all pairs, and many of them are alike: 8 bytes for
  /// each, and 4 for each of its links. What else they say is in `rates`.
  struct Way {
    uint32_t firstLink; ///< Index into Routes::links.
    uint32_t rates;     ///< Index into Routes::rates.
  };
  struct Rates {
    uint32_t numLinks = 0;
    bool occupiesReceiver = false, sharesMemory = false;
    int64_t latencyNs = 0;
    double bandwidth = 0, copyBandwidth = 0;
    int64_t cost = 0; ///< Of a mebibyte, in ns.
  };
  struct Routes {
    std::vector<Way> ways; ///< Of from * (numDevices() + 1) + to.
    std::vector<Rates> rates;
    std::vector<int32_t> links;
  };
  class RatesTable;

  const Way &wayOf(int32_t from, int32_t to) const {
    assert(finished_ && "routes are found by finish()");
    assert(static_cast<size_t>(from) <= devices_.size() &&
           static_cast<size_t>(to) <= devices_.size() &&
           "ends are devices or the host");
    return routes_
        ->ways[static_cast<size_t>(from) * (devices_.size() + 1) + to];
  }
  void findRoutes();

  std::vector<DeviceKind> kinds_;
  std::vector<Device> devices_;
  std::vector<std::string> junctions_;
  std::vector<Link> links_;
  /// Copies of a topology share them: 30 MB for a thousand devices.
  std::shared_ptr<const Routes> routes_;
  int32_t numResources_ = 0;
  bool finished_ = false;
};

} // namespace soap

#endif // SOAP_TOPOLOGY_TOPOLOGY_H
