//===- Lanes.h - Sets of devices that work side by side ---------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations that do not depend on each other can run at the same time on
// different devices: branches of a network, and layers of a recurrent network
// on different steps. Then each has a part of the machine, a lane.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_LANES_H
#define SOAP_LIB_SEARCH_LANES_H

#include "soap/Search/Strategy.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace soap::detail {

/// Devices 0 to n-1 in disjoint sets of equal size.
class Lanes {
public:
  /// `width` devices in each, a divisor of `devices`. Lanes take turns in
  /// taking `block` devices that follow each other, a divisor of `width`: with
  /// 1, lane l of L has the devices l, l + L, l + 2 L, ...; with `width`, it
  /// has a row of devices.
  Lanes(int32_t devices, int32_t width, int32_t block);

  int32_t count() const { return count_; }
  int32_t width() const { return width_; }
  int32_t device(int32_t lane, int32_t place) const {
    return place / block_ * (block_ * count_) + lane * block_ + place % block_;
  }
  /// The lane that all `devices` are in, or -1.
  int32_t laneOf(llvm::ArrayRef<int32_t> devices) const;
  /// Puts every task that is on a device of lane `from` on the device at the
  /// same place of lane `to`.
  void move(Configuration &config, int32_t from, int32_t to) const;

private:
  int32_t count_, width_, block_;
  llvm::SmallVector<int32_t, 64> laneOf_; ///< Per device; -1: none.
};

/// List scheduling of operations on lanes: each, in launch order, goes to the
/// lane on which it is done first (the rule of HEFT; Topcuoglu, Hariri, Wu,
/// "Performance-effective and low-complexity task scheduling for heterogeneous
/// computing", 2002, section 4.1). Times are rough: an even share of an
/// operation for each tile, and for what comes from another lane one message
/// per device of a lane.
class LaneSchedule {
public:
  /// `moveFactor` scales what messages take.
  LaneSchedule(const OperatorGraph &graph, const Topology &topology,
               const Lanes &lanes, double moveFactor);

  /// Moves `config`, which a compute node will have, to the best lane; `nodeNs`
  /// is what the node takes if it is not split. Operands that were not placed
  /// before are there at the beginning, wherever `strategy` makes them. A
  /// configuration that is not within one lane is left as it is.
  void place(const Strategy &strategy, int32_t node, int64_t nodeNs,
             Configuration &config);

private:
  void findArrivals(const Strategy &strategy, int32_t node);

  const OperatorGraph &graph_;
  const Topology &topology_;
  const Lanes &lanes_;
  double moveFactor_;
  std::vector<double> freeNs_; ///< Per lane.
  std::vector<double> endNs_;  ///< Per node; 0: not placed.
  /// @{ Of the node that is placed: when all its operands are there, per lane
  /// and somewhere; and what messages of the operand at hand take.
  std::vector<double> arrivedNs_;
  double somewhereNs_ = 0;
  struct Message {
    int64_t latencyNs;
    double bandwidth, ns;
  };
  llvm::SmallVector<Message, 8> messages_;
  /// @}
  /// The list of devices that was moved last, and what it became in each lane:
  /// neighbours mostly have the same.
  TaskDevices source_;
  std::vector<TaskDevices> moved_;
};

/// Per node, whether nothing can run beside it: it leads a group of compute
/// nodes and, of all other leaders, each depends on it or it on them. Nodes
/// that prepare weights (`isPreparation`) do not count.
std::vector<bool> leadersAlone(const OperatorGraph &graph,
                               llvm::function_ref<bool(int32_t)> isPreparation);

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_LANES_H
