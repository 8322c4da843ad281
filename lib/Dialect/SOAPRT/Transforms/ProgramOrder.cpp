//===- ProgramOrder.cpp - Which rows end before which ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Dialect/SOAPRT/Transforms/ProgramOrder.h"

using namespace mlir;
using namespace soap;
using namespace soap::soaprt;

void Clock::join(const Clock &other) {
  for (int s = 0; s < numStreams; ++s)
    last[s] = std::max(last[s], other.last[s]);
}

void Clock::meet(const Clock &other) {
  for (int s = 0; s < numStreams; ++s)
    last[s] = std::min(last[s], other.last[s]);
}

ProgramOrder::ProgramOrder(Block &program) {
  for (auto row : program.getOps<RowOpInterface>())
    append(row);
}

static Stream streamOf(RowOpInterface row) {
  return row.getStream().value_or(Stream::Compute);
}

Clock ProgramOrder::clockOfNext(RowOpInterface row) const {
  Clock clock = streams_[static_cast<int>(streamOf(row))];
  // Drains run after the end barrier of the step: all rows have ended.
  if (isa<DrainOp>(row))
    for (const Clock &stream : streams_)
      clock.join(stream);
  for (Value token : row.getWaits()) {
    auto other = cast<RowOpInterface>(token.getDefiningOp());
    int32_t index = position(other);
    clock.join(clocks_[index]);
    clock[streamOf(other)] = std::max(clock[streamOf(other)], index);
  }
  return clock;
}

void ProgramOrder::append(RowOpInterface row) {
  Clock clock = clockOfNext(row);
  int32_t index = clocks_.size();
  positions_[row] = index;
  clocks_.push_back(clock);
  clock[streamOf(row)] = index;
  // Feeds run before the start barrier: all streams know that they ended.
  if (isa<FeedOp>(row))
    for (Clock &stream : streams_)
      stream.join(clock);
  else
    streams_[static_cast<int>(streamOf(row))] = clock;
}

std::pair<Value, Value> soap::soaprt::placedTogether(RowOpInterface row) {
  if (auto reduce = dyn_cast<CollectiveOp>(*row);
      reduce && reduce.getKind() == CollectiveKind::AllReduce)
    return {reduce.getSends().front(), reduce.getReceives().front()};
  if (auto launch = dyn_cast<LaunchOp>(*row); launch && launch.getInPlace())
    return {launch.getInputs()[*launch.getInPlace()], launch.getOutputs()[0]};
  return {};
}
