//===- CostModel.h - Times of kernels and communication ---------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a kernel costs on a kind of device (measured, else an analytic
// roofline), and what collectives cost on a topology. All times are integer
// nanoseconds, all functions are pure and thread-safe once the tables are
// loaded.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_COSTMODEL_COSTMODEL_H
#define SOAP_COSTMODEL_COSTMODEL_H

#include "soap/CostModel/KernelTable.h"
#include "soap/Partition/CommPlan.h"
#include "soap/Topology/Topology.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

namespace soap {

/// One local kernel. Without flops and bytes there is no kernel: the result is
/// a view.
struct KernelQuery : KernelWork {
  llvm::StringRef key; ///< KernelKey; empty: never measured.
};

/// Reads what an entry of a file of measured costs says of its kernel's factors
/// ("precision"); leaves `precision` alone if it says nothing. False if it says
/// what there is not.
bool readPrecision(const llvm::json::Object &entry, Precision &precision);

/// The algorithms that a kind of collective has; none for transfers.
llvm::ArrayRef<CollectiveAlgorithm> algorithmsOf(ActionKind kind);

/// A link resource and how long a collective keeps it.
struct LinkUse {
  int32_t resource = 0;
  int64_t ns = 0;
};

struct CollectiveCost {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::Direct;
  int64_t ns = 0;
  llvm::SmallVector<LinkUse, 8> links;
  /// How long it holds the compute stream of each member.
  int64_t occupiesNs = 0;
};

/// Boxes that are copied one after the other within a device.
struct BoxCopies {
  int64_t bytes = 0;
  int64_t runs = 0; ///< Of bytes that are contiguous on both sides.

  /// Adds `piece`, which is copied from a dense tensor that holds `from` to one
  /// that holds `to`.
  void add(llvm::ArrayRef<Range> piece, llvm::ArrayRef<Range> from,
           llvm::ArrayRef<Range> to, int64_t elementBytes);
};

/// What the members of a collective put in and get, in their order.
struct CollectiveBoxes {
  ActionKind kind;
  llvm::SmallVector<llvm::ArrayRef<Range>, 8> operands, results;
  int64_t elementBytes;
};

/// How long a member of a collective copies before it and after it.
struct MemberCopies {
  int64_t packNs = 0, unpackNs = 0;
};

class CostModel {
public:
  /// Adds measured entries: {"format": "soap-costs", "device_kind": K,
  /// "entries": [{"key": "...", "ns": N}, ...]}. Later entries win. Entries
  /// that have "flops" and "bytes", perhaps also "bytes_again", "rows",
  /// "columns" and "depth", say something about kernels that have no entry.
  llvm::Error addMeasured(llvm::StringRef json);
  llvm::Error loadMeasured(llvm::StringRef path);
  void addMeasured(llvm::StringRef kind, llvm::StringRef key, int64_t ns,
                   std::optional<KernelWork> work = std::nullopt);
  size_t numMeasured() const;
  bool isMeasured(llvm::StringRef key, const DeviceKind &kind) const;
  /// False if nothing was measured on the device, so that times do not depend
  /// on keys.
  bool wantsKeys(const DeviceKind &kind) const {
    return measured_.contains(kind.name);
  }
  /// What is known without measuring, by class; empty if nothing was measured.
  std::vector<ClassError> classErrors(const DeviceKind &kind) const;

  /// Time of one kernel: the measured one where there is one, else the analytic
  /// one times KernelTable::factor().
  int64_t kernelNs(const KernelQuery &query, const DeviceKind &kind) const;
  /// The analytic time alone: launch + max(flops / (peak * efficiency),
  /// bytes / bandwidth); 0 if there is no kernel. The first of them is at most
  /// min(rows, columns) * bytes / bandwidth. The peak is that of the work's
  /// precision.
  static int64_t analyticNs(const KernelWork &work, const DeviceKind &kind);
  /// Seconds for memory traffic of activations: what fits into caches, then
  /// the rest.
  static double trafficSeconds(double bytes, const DeviceKind &kind);
  /// Time of a local copy (pack, unpack) of `bytes`, without what its runs add.
  static int64_t copyNs(int64_t bytes, const DeviceKind &kind);
  /// What so many contiguous runs add to the time of a copy.
  static int64_t runsNs(int64_t runs, const DeviceKind &kind) {
    return roundNs(static_cast<double>(runs) * kind.boxRunSeconds * 1e9);
  }
  static int64_t copyNs(const BoxCopies &copies, const DeviceKind &kind);
  /// True if `box` lies contiguously, where a kernel can read it, in a shard
  /// that holds `shard`: it is a view then.
  static bool isView(llvm::ArrayRef<Range> box, llvm::ArrayRef<Range> shard,
                     int32_t elementBytes, const DeviceKind &kind);
  /// Time to cut `box` out of a shard that holds `shard`; none for a view.
  static int64_t cutNs(llvm::ArrayRef<Range> box, llvm::ArrayRef<Range> shard,
                       int32_t elementBytes, const DeviceKind &kind);
  /// What member number `member` of an all-to-all or an all-gather copies, on
  /// its compute stream: every piece travels as a dense buffer, so that those
  /// that are not contiguous in what a member puts in are packed, and those
  /// that are not in what it gets are unpacked. None where the rates of copies
  /// are not known, and for other collectives.
  static MemberCopies copiesOfMember(const CollectiveBoxes &boxes,
                                     size_t member, const DeviceKind &kind);

  /// Time of a collective over `group`; `bytes` per member as in Movement: of
  /// the algorithm that is cheapest on this topology. Every algorithm is played
  /// message by message, as docs/Runtime.md describes it.
  static CollectiveCost collective(ActionKind kind,
                                   llvm::ArrayRef<int32_t> group,
                                   llvm::ArrayRef<int64_t> bytes,
                                   const Topology &topology);
  /// The same by a given algorithm, one of algorithmsOf(kind).
  static CollectiveCost collective(ActionKind kind,
                                   llvm::ArrayRef<int32_t> group,
                                   llvm::ArrayRef<int64_t> bytes,
                                   CollectiveAlgorithm algorithm,
                                   const Topology &topology);

private:
  llvm::StringMap<KernelTable> measured_; ///< By kind.
};

} // namespace soap

#endif // SOAP_COSTMODEL_COSTMODEL_H
