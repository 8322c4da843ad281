//===- Waits.cpp - No wait is circular --------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "soap/Dialect/SOAP/Transforms/LaunchOrder.h"
#include "llvm/ADT/DenseMap.h"
#include <deque>

using namespace mlir;
using namespace soap;
using namespace soap::soapir;

namespace {
/// A stream of a device.
using DeviceStream = std::pair<int32_t, Stream>;

/// Where an operation runs.
Stream streamOf(Operation *op) {
  auto action = dyn_cast<CommunicationOpInterface>(op);
  if (!action)
    return Stream::Compute;
  return action.getPriority() ? Stream::Priority : Stream::Communication;
}

/// The programs of all devices, each as its streams, executed as a runtime
/// would: a row runs when it is the head of its stream, its operands are there,
/// and, if it is a row of an action, all members have reached it.
class WaitProof {
public:
  WaitProof(func::FuncOp func, WaitStatistics &statistics)
      : func_(func), statistics_(statistics) {}

  LogicalResult prove() {
    for (Operation &op : func_.getBody().front().without_terminator())
      launch(&op);
    return run();
  }

private:
  static int32_t deviceOf(Value value) {
    auto shard = dyn_cast<ShardType>(value.getType());
    return shard ? shard.getDevice() : kHostDevice;
  }

  /// Appends a row of `op` to one stream per device.
  void launch(Operation *op) {
    statistics_.operands += op->getNumOperands();
    SmallVector<int32_t> devices;
    if (auto action = dyn_cast<CommunicationOpInterface>(op)) {
      devices = action.getGroup();
      ++statistics_.rendezvous;
    } else if (auto task = dyn_cast<TaskOp>(op)) {
      devices.push_back(task.getDevice());
    } else if (isa<SliceOp, AssembleOp>(op)) {
      devices.push_back(deviceOf(op->getResult(0)));
    }
    for (int32_t device : devices) {
      std::deque<Operation *> &stream = streams_[{device, streamOf(op)}];
      statistics_.streamEdges += !stream.empty();
      stream.push_back(op);
      ++statistics_.rows;
      ++missing_[op];
      for (Value operand : op->getOperands())
        if (Operation *maker = operand.getDefiningOp();
            maker && deviceOf(operand) == device)
          statistics_.events += streamOf(op) != streamOf(maker);
    }
  }

  bool isReady(Operation *op) const {
    for (Value operand : op->getOperands())
      if (Operation *maker = operand.getDefiningOp();
          maker && missing_.count(maker) && !done_.count(maker))
        return false;
    return true;
  }

  LogicalResult run() {
    // An operation is offered by every stream that it heads; it runs when all
    // of its streams do.
    llvm::DenseMap<Operation *, int64_t> heads;
    for (auto &[stream, rows] : streams_)
      ++heads[rows.front()];
    for (bool progress = true; progress;) {
      progress = false;
      for (auto &[stream, rows] : streams_) {
        while (!rows.empty()) {
          Operation *op = rows.front();
          if (!done_.count(op)) {
            if (heads[op] != missing_[op] || !isReady(op))
              break;
            done_.insert(op);
          }
          rows.pop_front();
          if (!rows.empty())
            ++heads[rows.front()];
          progress = true;
        }
      }
    }
    for (auto &[stream, rows] : streams_)
      if (!rows.empty())
        return rows.front()->emitOpError()
               << "expected an order in which all rows can run, got: device "
               << stream.first << " waits for ever at this row; change the "
               << "launch order";
    return success();
  }

  func::FuncOp func_;
  WaitStatistics &statistics_;
  std::map<DeviceStream, std::deque<Operation *>> streams_;
  llvm::DenseMap<Operation *, int64_t> missing_;
  llvm::DenseSet<Operation *> done_;
};
} // namespace

LogicalResult soapir::verifyWaits(func::FuncOp func,
                                  WaitStatistics &statistics) {
  return WaitProof(func, statistics).prove();
}
