//===- PlanMemory.cpp - A place for every buffer --------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Greedy by size: larger buffers first, each into the tightest gap between the
// buffers already placed that are live together with it (Pisarchyk and Lee,
// "Efficient memory management for deep neural net inference", 2020, section
// 5.1, with the order of several streams in place of intervals).
//
//===----------------------------------------------------------------------===//

#include "soap/Dialect/SOAPRT/Transforms/Passes.h"
#include "soap/Dialect/SOAPRT/Transforms/ProgramOrder.h"
#include "soap/Testing/PlantedFault.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Debug.h"
#include "llvm/Support/MathExtras.h"

namespace soap::soaprt {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "soap/Dialect/SOAPRT/Transforms/Passes.h.inc"
} // namespace soap::soaprt

#define DEBUG_TYPE "soaprt-plan-memory"

using namespace mlir;
using namespace soap;
using namespace soap::soaprt;

namespace {

/// When a buffer is in use.
struct Life {
  BufferOp buffer;
  /// Position in the list of lives; breaks ties.
  int64_t index = 0;
  int64_t bytes = 0, offset = 0;
  /// Last row per stream that touches it.
  Clock last;
  /// What has ended when any of its writers starts.
  Clock born;
  bool written = false;
  /// Index of the program: 0 init, from 1 on the soaprt.main in order.
  int program = 0;
  /// Rows that touch it.
  SmallVector<RowOpInterface, 4> rows;
  /// What an all-reduce sends that writes its result here, where the result may
  /// take its place; what a launch reads whose result does; or null.
  BufferOp sent;

  /// True if all uses of this end before `next` is written.
  bool endsBefore(const Life &next) const {
    for (int stream = 0; stream < numStreams; ++stream)
      if (last.last[stream] > next.born.last[stream])
        return false;
    return true;
  }
};

} // namespace

static bool liveTogether(const Life &a, const Life &b) {
  // Programs run one at a time, and activations do not outlive them.
  return a.program == b.program && !a.endsBefore(b) && !b.endsBefore(a);
}

/// True if `row` is the last one that touches `sent` and the first one that
/// touches `received`, which it writes as a whole.
static bool takesPlace(RowOpInterface row, const Life &sent,
                       const Life &received, const ProgramOrder &order) {
  auto isBefore = [&](RowOpInterface a, RowOpInterface b) {
    return a == b || order.clock(b)[a.getStream().value_or(Stream::Compute)] >=
                         order.position(a);
  };
  return llvm::all_of(sent.rows,
                      [&](RowOpInterface r) { return isBefore(r, row); }) &&
         llvm::all_of(received.rows,
                      [&](RowOpInterface r) { return isBefore(row, r); });
}

/// Finds the results of all-reduces that may lie where what is sent does: a
/// member of an all-reduce may be given one buffer for both, as in MPI and
/// NCCL; and those of launches, which have to.
static void findInPlace(Block &block, const ProgramOrder &order,
                        llvm::MapVector<Operation *, Life> &lives) {
  for (auto row : block.getOps<RowOpInterface>()) {
    auto [from, to] = placedTogether(row);
    if (!from)
      continue;
    auto wholeLife = [&](Value value) -> Life * {
      BufferOp buffer = getStorage(value).buffer;
      auto *life = lives.find(buffer);
      bool isWhole = cast<BufferType>(value.getType()).getBytes() ==
                     buffer.getType().getBytes();
      return isWhole && life != lives.end() ? &life->second : nullptr;
    };
    Life *sent = wholeLife(from), *received = wholeLife(to);
    if (sent && received && sent != received && !received->sent &&
        sent->bytes == received->bytes &&
        takesPlace(row, *sent, *received, order))
      received->sent = sent->buffer;
  }
}

/// Lives of all activations that a program touches. `loaded`: buffers that a
/// load writes right before the first row that touches them.
static void collectLives(Block &block, int program, int64_t alignment,
                         const DenseSet<Operation *> &loaded,
                         llvm::MapVector<Operation *, Life> &lives) {
  ProgramOrder order(block);
  for (auto row : block.getOps<RowOpInterface>()) {
    Stream stream = row.getStream().value_or(Stream::Compute);
    int32_t position = order.position(row);
    enum class Access { Read, Write };
    auto touch = [&](Value value, Access access) {
      BufferOp buffer = getStorage(value).buffer;
      if (buffer.getType().getSpace() != Space::Activations)
        return;
      Life &life = lives[buffer];
      life.buffer = buffer;
      life.bytes = llvm::alignTo(buffer.getType().getBytes(), alignment);
      life.program = program;
      life.last[stream] = position;
      life.rows.push_back(row);
      bool write =
          access == Access::Write || (!life.written && loaded.contains(buffer));
      if (write && !std::exchange(life.written, true))
        life.born = order.clock(row);
      else if (write)
        life.born.meet(order.clock(row));
    };
    for (Value value : row.getReads())
      touch(value, Access::Read);
    for (Value value : row.getWrites())
      touch(value, Access::Write);
  }
  findInPlace(block, order, lives);
}

static llvm::MapVector<Operation *, Life> collectLives(DeviceOp device) {
  llvm::MapVector<Operation *, Life> lives;
  DenseSet<Operation *> loaded;
  for (auto load : device.getBlock().getOps<LoadOp>())
    loaded.insert(getStorage(load.getTarget()).buffer);
  int64_t alignment = device.getBufferAlignment();
  collectLives(device.getInit().getBlock(), 0, alignment, loaded, lives);
  for (auto [index, main] : llvm::enumerate(device.getMains()))
    collectLives(main.getBlock(), static_cast<int>(index) + 1, alignment, {},
                 lives);
  return lives;
}

/// Makes one life of all that lie in one place, that of the first of them.
/// Returns for each the one whose place it has.
static SmallVector<Life *>
joinLives(llvm::MapVector<Operation *, Life> &lives) {
  SmallVector<Life *> hosts;
  for (auto &[op, life] : lives) {
    // What is sent is touched before the result, and stands before it.
    Life *host = &life;
    while (host->sent)
      host = &lives.find(host->sent)->second;
    for (int stream = 0; stream < numStreams; ++stream)
      host->last.last[stream] =
          std::max(host->last.last[stream], life.last.last[stream]);
    hosts.push_back(host);
  }
  return hosts;
}

/// Places all lives; returns the size of the arena.
static int64_t place(llvm::MapVector<Operation *, Life> &lives) {
  SmallVector<Life *> hosts = joinLives(lives), order, placed;
  for (auto [index, entry] : llvm::enumerate(lives)) {
    entry.second.index = index;
    if (hosts[index] == &entry.second)
      order.push_back(&entry.second);
  }
  llvm::sort(order, [](Life *a, Life *b) {
    return std::tuple(-a->bytes, a->index) < std::tuple(-b->bytes, b->index);
  });
  int64_t arena = 0;
  for (Life *life : order) {
    // `placed` is sorted by offset.
    int64_t end = 0, best = -1, bestGap = 0;
    for (Life *other : placed) {
      if (!liveTogether(*life, *other))
        continue;
      if (SOAP_FAULT("memory-reused-early") &&
          (life->last.last[0] <= other->born.last[0] ||
           other->last.last[0] <= life->born.last[0]))
        continue;
      int64_t gap = other->offset - end;
      if (gap >= life->bytes && (best < 0 || gap < bestGap))
        best = end, bestGap = gap;
      end = std::max(end, other->offset + other->bytes);
    }
    life->offset = best < 0 ? end : best;
    arena = std::max(arena, life->offset + life->bytes);
    auto *at = llvm::upper_bound(
        placed, life, [](Life *a, Life *b) { return a->offset < b->offset; });
    placed.insert(at, life);
  }
  for (auto [entry, host] : llvm::zip_equal(lives, hosts))
    entry.second.offset = host->offset;
  return arena;
}

/// A load into the activations ends when init does.
static LogicalResult checkLoads(DeviceOp device) {
  llvm::DenseMap<Operation *, LoadOp> loads;
  for (auto load : device.getBlock().getOps<LoadOp>()) {
    BufferOp buffer = getStorage(load.getTarget()).buffer;
    if (buffer.getType().getSpace() == Space::Activations)
      loads.try_emplace(buffer, load);
  }
  if (loads.empty())
    return success();
  for (MainOp main : device.getMains())
    for (auto row : main.getBlock().getOps<RowOpInterface>())
      for (Value read : row.getReads())
        if (LoadOp load = loads.lookup(getStorage(read).buffer)) {
          auto diagnostic = load.emitOpError(
              "expected a parameter, got: activations that soaprt.main reads");
          diagnostic.attachNote(row.getLoc()) << "the row";
          return diagnostic;
        }
  return success();
}

/// A launch that overwrites an input has it where its output is.
static LogicalResult checkPlaces(DeviceOp device) {
  for (MainOp main : device.getMains())
    for (auto launch : main.getBlock().getOps<LaunchOp>()) {
      if (!launch.getInPlace())
        continue;
      auto [input, output] = placedTogether(launch);
      BufferOp from = getStorage(input).buffer, to = getStorage(output).buffer;
      if (from.getOffset() == to.getOffset())
        continue;
      auto diagnostic = launch.emitOpError(
          "expected its output in the place of the input that it overwrites; "
          "nothing else may read that input behind it");
      diagnostic.attachNote(from.getLoc()) << "the input";
      return diagnostic;
    }
  return success();
}

LogicalResult soap::soaprt::checkMemoryPlan(DeviceOp device) {
  for (auto buffer : device.getBlock().getOps<BufferOp>()) {
    std::optional<uint64_t> arena =
        buffer.getType().getSpace() == Space::Parameters
            ? device.getParameterBytes()
            : device.getActivationBytes();
    if (!buffer.getOffset() || !arena)
      return buffer.emitOpError("expected an offset and the size of its arena; "
                                "run soaprt-plan-memory");
    if (*buffer.getOffset() + buffer.getType().getBytes() > *arena)
      return buffer.emitOpError("expected to lie inside of its arena of ")
             << *arena << " bytes";
  }
  /// The bytes of a buffer in its arena.
  struct Range {
    int64_t begin, end;
    bool operator==(const Range &other) const {
      return begin == other.begin && end == other.end;
    }
    explicit Range(BufferOp buffer)
        : begin(*buffer.getOffset()), end(begin + buffer.getType().getBytes()) {
    }
    bool overlaps(const Range &other) const {
      return begin < other.end && other.begin < end;
    }
  };
  auto complain = [](BufferOp a, BufferOp b) {
    auto diagnostic = a.emitOpError("expected no overlap with a buffer that is "
                                    "live at the same time");
    diagnostic.attachNote(b.getLoc()) << "the other buffer";
    return diagnostic;
  };
  if (failed(checkLoads(device)))
    return failure();
  if (SOAP_FAULT("no-proof"))
    return success();
  if (failed(checkPlaces(device)))
    return failure();
  auto lives = collectLives(device).takeVector();
  auto isInPlace = [](const Life &a, const Life &b) {
    return a.sent == b.buffer || b.sent == a.buffer;
  };
  std::vector<Range> ranges;
  for (const auto &entry : lives)
    ranges.emplace_back(entry.second.buffer);
  for (size_t i = 0; i < lives.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (ranges[i].overlaps(ranges[j]) &&
          liveTogether(lives[i].second, lives[j].second) &&
          !(ranges[i] == ranges[j] &&
            isInPlace(lives[i].second, lives[j].second)))
        return complain(lives[i].second.buffer, lives[j].second.buffer);
  SmallVector<BufferOp> parameters;
  for (auto buffer : device.getBlock().getOps<BufferOp>())
    if (buffer.getType().getSpace() == Space::Parameters &&
        buffer.getType().getBytes() > 0)
      parameters.push_back(buffer);
  llvm::sort(parameters, [](BufferOp a, BufferOp b) {
    return *a.getOffset() < *b.getOffset();
  });
  for (size_t i = 1; i < parameters.size(); ++i)
    if (Range(parameters[i - 1]).overlaps(Range(parameters[i])))
      return complain(parameters[i - 1], parameters[i]);
  return success();
}

namespace {

struct PlanMemoryPass : soap::soaprt::impl::PlanMemoryPassBase<PlanMemoryPass> {
  using PlanMemoryPassBase::PlanMemoryPassBase;

  void runOnOperation() override {
    for (auto device : getOperation().getOps<DeviceOp>())
      if (failed(plan(device)))
        return signalPassFailure();
  }

private:
  LogicalResult plan(DeviceOp device);
};

} // namespace

LogicalResult PlanMemoryPass::plan(DeviceOp device) {
  for (MainOp main : device.getMains())
    for (auto row : main.getBlock().getOps<RowOpInterface>())
      if (!row.getStream())
        return row->emitOpError("expected a stream; run soaprt-assign-streams "
                                "before soaprt-plan-memory");
  auto lives = collectLives(device);
  int64_t activations = place(lives), parameters = 0;
  int64_t alignment = device.getBufferAlignment();
  for (auto buffer : device.getBlock().getOps<BufferOp>()) {
    if (buffer.getType().getSpace() == Space::Parameters) {
      buffer.setOffset(parameters);
      parameters += llvm::alignTo(buffer.getType().getBytes(), alignment);
    } else {
      // A buffer that no row touches needs no room of its own.
      auto *it = lives.find(buffer);
      buffer.setOffset(it == lives.end() ? 0 : it->second.offset);
      if (it == lives.end())
        activations = std::max<int64_t>(
            activations, llvm::alignTo(buffer.getType().getBytes(), alignment));
      else
        activationBytes += it->second.bytes;
    }
  }
  LLVM_DEBUG({
    llvm::dbgs() << "device " << device.getId() << ": " << lives.size()
                 << " buffers in " << activations
                 << " bytes of activations, parameters in " << parameters
                 << "\n";
    for (const auto &[op, life] : lives)
      llvm::dbgs() << "  " << life.bytes << " bytes at " << life.offset << ": "
                   << *op << "\n";
  });
  device.setActivationBytes(activations);
  device.setParameterBytes(parameters);
  peakActivationBytes.updateMax(activations);
  peakParameterBytes.updateMax(parameters);
  return checkMemoryPlan(device);
}
