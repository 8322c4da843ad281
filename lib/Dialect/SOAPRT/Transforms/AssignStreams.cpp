//===- AssignStreams.cpp - Streams and waits ------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Dialect/SOAPRT/Transforms/Passes.h"
#include "soap/Dialect/SOAPRT/Transforms/ProgramOrder.h"
#include "soap/Testing/PlantedFault.h"
#include "llvm/Support/Debug.h"
#include <array>

namespace soap::soaprt {
#define GEN_PASS_DEF_ASSIGNSTREAMSPASS
#include "soap/Dialect/SOAPRT/Transforms/Passes.h.inc"
} // namespace soap::soaprt

#define DEBUG_TYPE "soaprt-assign-streams"

using namespace mlir;
using namespace soap;
using namespace soap::soaprt;

namespace {

using LastRows = std::array<RowOpInterface, numStreams>;

/// The last rows, per stream, that wrote and that read a buffer.
struct Accesses {
  LastRows writer, reader;
};

struct AssignStreamsPass
    : soap::soaprt::impl::AssignStreamsPassBase<AssignStreamsPass> {
  using AssignStreamsPassBase::AssignStreamsPassBase;

  void runOnOperation() override {
    for (auto device : getOperation().getOps<DeviceOp>()) {
      assign(device.getInit().getBlock());
      for (MainOp main : device.getMains())
        assign(main.getBlock());
    }
  }

private:
  void assign(Block &program);
};

} // namespace

static Stream streamOf(RowOpInterface row) {
  if (!row.communicates())
    return Stream::Compute;
  return isa<CollectiveOp>(*row) && row->hasAttr(priorityAttrName)
             ? Stream::Priority
             : Stream::Communication;
}

void AssignStreamsPass::assign(Block &program) {
  ProgramOrder order;
  DenseMap<Operation *, Accesses> accesses;
  LastRows lastOf;
  for (auto row : program.getOps<RowOpInterface>()) {
    Stream stream = streamOf(row);
    int own = static_cast<int>(stream);
    row.setStream(stream);
    // The last row of each stream that this one must not overtake. Its own
    // stream is in order.
    LastRows last;
    auto needRow = [&](RowOpInterface earlier) {
      if (!earlier)
        return;
      RowOpInterface &latest = last[static_cast<int>(*earlier.getStream())];
      if (!latest || order.position(earlier) > order.position(latest))
        latest = earlier;
    };
    auto need = [&](const LastRows &earlier) {
      llvm::for_each(earlier, needRow);
    };
    for (Value read : row.getReads())
      need(accesses[getStorage(read).buffer].writer);
    for (Value write : row.getWrites()) {
      Accesses &a = accesses[getStorage(write).buffer];
      need(a.writer);
      need(a.reader);
    }
    // What stands in front has ended and given its memory back.
    if (row->hasAttr(heldAttrName))
      needRow(lastOf[static_cast<int>(Stream::Compute)]);
    if (SOAP_FAULT("wait-missing"))
      last = {};
    // The latest rows first: what they know need not be waited for.
    llvm::sort(last, [&](RowOpInterface a, RowOpInterface b) {
      return (a ? order.position(a) : -1) > (b ? order.position(b) : -1);
    });
    for (RowOpInterface earlier : last) {
      if (!earlier || *earlier.getStream() == stream ||
          order.position(earlier) <=
              order.clockOfNext(row)[*earlier.getStream()])
        continue;
      row.getWaitsMutable().append(earlier->getResult(0));
      ++numWaits;
      LLVM_DEBUG(llvm::dbgs()
                 << "'" << row.getNode() << "' on the " << stringify(stream)
                 << " stream waits for '" << earlier.getNode() << "'\n");
    }
    order.append(row);
    lastOf[own] = row;
    for (Value read : row.getReads())
      accesses[getStorage(read).buffer].reader[own] = row;
    for (Value write : row.getWrites())
      accesses[getStorage(write).buffer].writer[own] = row;
  }
}
