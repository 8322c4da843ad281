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

namespace soap::soaprt {
#define GEN_PASS_DEF_ASSIGNSTREAMSPASS
#include "soap/Dialect/SOAPRT/Transforms/Passes.h.inc"
} // namespace soap::soaprt

#define DEBUG_TYPE "soaprt-assign-streams"

using namespace mlir;
using namespace soap;
using namespace soap::soaprt;

namespace {

/// The last rows, per stream, that wrote and that read a buffer.
struct Accesses {
  RowOpInterface writer[2], reader[2];
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

void AssignStreamsPass::assign(Block &program) {
  ProgramOrder order;
  DenseMap<Operation *, Accesses> accesses;
  RowOpInterface lastOf[2]; // Per stream.
  for (auto row : program.getOps<RowOpInterface>()) {
    Stream stream =
        row.communicates() ? Stream::Communication : Stream::Compute;
    int own = static_cast<int>(stream), other = 1 - own;
    row.setStream(stream);
    // The last row of the other stream that this one must not overtake. Its own
    // stream is in order.
    RowOpInterface last;
    auto need = [&](RowOpInterface earlier) {
      if (earlier && (!last || order.position(earlier) > order.position(last)))
        last = earlier;
    };
    for (Value read : row.getReads())
      need(accesses[getStorage(read).buffer].writer[other]);
    for (Value write : row.getWrites()) {
      Accesses &a = accesses[getStorage(write).buffer];
      need(a.writer[other]);
      need(a.reader[other]);
    }
    // What stands in front has ended and given its memory back.
    if (row->hasAttr(heldAttrName))
      need(lastOf[other]);
    if (SOAP_FAULT("wait-missing"))
      last = {};
    if (last && order.position(last) >
                    order.clockOfNext(row)[static_cast<Stream>(other)]) {
      row.getWaitsMutable().append(last->getResult(0));
      ++numWaits;
      LLVM_DEBUG(llvm::dbgs()
                 << "'" << row.getNode() << "' on the " << stringify(stream)
                 << " stream waits for '" << last.getNode() << "'\n");
    }
    order.append(row);
    lastOf[own] = row;
    for (Value read : row.getReads())
      accesses[getStorage(read).buffer].reader[own] = row;
    for (Value write : row.getWrites())
      accesses[getStorage(write).buffer].writer[own] = row;
  }
}
