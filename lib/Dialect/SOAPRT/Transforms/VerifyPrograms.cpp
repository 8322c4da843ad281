//===- VerifyPrograms.cpp - Every byte is read after it is written --------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The proof knows nothing of the rules by which streams, waits and offsets were
// chosen. It goes through a program row by row and remembers, for every byte of
// an arena, which buffer it belongs to and which rows touched it last. A row
// may rely only on those rows of which streams and waits say that they have
// ended.
//
//===----------------------------------------------------------------------===//

#include "soap/Dialect/SOAPRT/Transforms/Passes.h"
#include "soap/Dialect/SOAPRT/Transforms/ProgramOrder.h"
#include "soap/Dialect/SOAPRT/Transforms/ProgramProof.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include <map>

namespace soap::soaprt {
#define GEN_PASS_DEF_VERIFYPROGRAMSPASS
#include "soap/Dialect/SOAPRT/Transforms/Passes.h.inc"
} // namespace soap::soaprt

using namespace mlir;
using namespace soap;
using namespace soap::soaprt;

namespace {

/// What is known of a run of bytes.
struct Cell {
  BufferOp buffer; ///< Through which it was written last; null: never.
  /// Last rows that wrote and read it, per stream; -1: none in this program.
  using Rows = std::array<int32_t, numStreams>;
  static constexpr Rows none = {-1, -1, -1};
  Rows writer = none, reader = none;
};

/// The bytes of one arena.
class Arena {
public:
  /// Calls `visit` for the cells that make up [lo, hi).
  template <typename Visit>
  LogicalResult forEach(int64_t lo, int64_t hi, Visit visit) {
    split(lo);
    split(hi);
    for (auto it = cells_.find(lo); it != cells_.end() && it->first < hi; ++it)
      if (failed(visit(it->second)))
        return failure();
    return success();
  }

  /// A new program: all rows of the one before have ended.
  void forgetRows() {
    for (auto &[start, cell] : cells_)
      cell.writer = cell.reader = Cell::none;
  }

private:
  /// Makes `at` the start of a cell.
  void split(int64_t at) {
    auto after = cells_.upper_bound(at);
    if (after == cells_.begin()) {
      cells_[at] = Cell();
      return;
    }
    auto before = std::prev(after);
    if (before->first != at)
      cells_[at] = before->second;
  }

  /// By first byte; a cell ends where the next one starts.
  std::map<int64_t, Cell> cells_ = {{0, Cell()}};
};

class ProgramProof {
public:
  ProgramProof(DeviceOp device, ProgramStatistics &statistics)
      : device_(device), statistics_(statistics) {}

  LogicalResult prove() {
    for (auto load : device_.getBlock().getOps<LoadOp>()) {
      BufferOp buffer = getStorage(load.getTarget()).buffer;
      if (buffer.getType().getSpace() == Space::Activations)
        lateLoads_[buffer] = load;
      else if (failed(
                   write(load, load.getTarget(), -1, Stream::Compute, nullptr)))
        return failure();
    }
    if (failed(prove(device_.getInit().getBlock())))
      return failure();
    lateLoads_.clear();
    for (MainOp main : device_.getMains()) {
      // Activations do not outlive the program that makes them. Parameters have
      // one buffer each, so that the order of programs says nothing.
      arenas_[0] = Arena();
      arenas_[1].forgetRows();
      if (failed(prove(main.getBlock())))
        return failure();
    }
    return failure(failed(proveConstants()) || failed(proveState()));
  }

private:
  LogicalResult prove(Block &program) {
    ProgramOrder order(program);
    rows_.clear();
    for (auto row : program.getOps<RowOpInterface>()) {
      ++statistics_.rows;
      statistics_.waits += row.getWaits().size();
      rows_.push_back(row);
      int32_t position = order.position(row);
      Stream stream = row.getStream().value_or(Stream::Compute);
      const Clock &clock = order.clock(row);
      for (Value value : row.getReads())
        if (failed(loadLate(value, position, stream, clock)) ||
            failed(read(row, value, position, stream, clock)))
          return failure();
      for (Value value : row.getWrites())
        if (failed(write(row, value, position, stream, &clock)))
          return failure();
    }
    return success();
  }

  /// Bytes of the parameters that a row of a program writes.
  struct Written {
    int64_t lo, hi;
    Operation *row;
  };
  FailureOr<SmallVector<Written>> writtenBytes() {
    SmallVector<Written> written;
    for (MainOp main : device_.getMains())
      for (auto row : main.getBlock().getOps<RowOpInterface>())
        for (Value value : row.getWrites()) {
          if (cast<BufferType>(value.getType()).getSpace() != Space::Parameters)
            continue;
          FailureOr<std::pair<int64_t, int64_t>> bytes = bytesOf(value);
          if (failed(bytes))
            return failure();
          written.push_back({bytes->first, bytes->second, row});
        }
    return written;
  }
  /// The first of `written` that overlaps a value of the parameters, or null.
  static const Written *findWrite(ArrayRef<Written> written, Value value) {
    FailureOr<std::pair<int64_t, int64_t>> bytes = bytesOf(value);
    const auto *found = llvm::find_if(written, [&](const Written &range) {
      return succeeded(bytes) && range.lo < bytes->second &&
             bytes->first < range.hi;
    });
    return found == written.end() ? nullptr : found;
  }

  /// No row of any program writes what a launch takes for constant: the library
  /// may keep another copy of it.
  LogicalResult proveConstants() {
    auto written = writtenBytes();
    if (failed(written))
      return failure();
    for (MainOp main : device_.getMains())
      for (auto launch : main.getBlock().getOps<LaunchOp>())
        for (int64_t index : launch.getConstants()) {
          const Written *found = findWrite(*written, launch.getInputs()[index]);
          if (!found)
            continue;
          InFlightDiagnostic diagnostic =
              launch.emitOpError("expected constant input ")
              << index << " to be written by no row of the step";
          diagnostic.attachNote(found->row->getLoc())
              << "the row that writes it";
          return diagnostic;
        }
    return success();
  }

  /// Of a parameter that a program writes, there is no copy that none does, nor
  /// is one made of it before the first step: another program would go on
  /// reading its first value.
  LogicalResult proveState() {
    auto written = writtenBytes();
    if (failed(written))
      return failure();
    for (auto row : device_.getInit().getBlock().getOps<RowOpInterface>())
      for (Value value : row.getReads()) {
        if (cast<BufferType>(value.getType()).getSpace() != Space::Parameters)
          continue;
        const Written *found = findWrite(*written, value);
        if (!found)
          continue;
        InFlightDiagnostic diagnostic = row->emitOpError(
            "expected soaprt.init to read no parameter that a program writes");
        diagnostic.attachNote(found->row->getLoc()) << "the row that writes it";
        return diagnostic;
      }
    SmallVector<std::pair<LoadOp, Operation *>> state;
    SmallVector<LoadOp> others;
    for (auto load : device_.getBlock().getOps<LoadOp>()) {
      BufferType type = getStorage(load.getTarget()).buffer.getType();
      if (type.getSpace() != Space::Parameters || type.getBytes() == 0)
        continue;
      // What no row reads, as a second copy on a device, does no harm.
      if (const Written *found = findWrite(*written, load.getTarget()))
        state.emplace_back(load, found->row);
      else if (isRead(getStorage(load.getTarget()).buffer))
        others.push_back(load);
    }
    llvm::StringSet<> names;
    for (auto [load, row] : state)
      names.insert(load.getNode());
    for (LoadOp load : others) {
      if (!names.contains(load.getNode()))
        continue;
      for (auto [other, row] : state) {
        if (load.getNode() != other.getNode() || !overlap(load, other))
          continue;
        InFlightDiagnostic diagnostic =
            load.emitOpError("expected no copy of parameter '")
            << load.getNode() << "' that no row writes, as others are";
        diagnostic.attachNote(row->getLoc())
            << "the row that writes another one";
        return diagnostic;
      }
    }
    return success();
  }

  /// Whether a row of a program reads a buffer.
  bool isRead(BufferOp buffer) {
    for (MainOp main : device_.getMains())
      for (auto row : main.getBlock().getOps<RowOpInterface>())
        for (Value value : row.getReads())
          if (getStorage(value).buffer == buffer)
            return true;
    return false;
  }

  /// Whether two loads have elements of a tensor in common.
  static bool overlap(LoadOp a, LoadOp b) {
    for (auto [loOfA, sizeOfA, loOfB, sizeOfB] :
         llvm::zip(a.getLo(), a.getTarget().getType().getShape(), b.getLo(),
                   b.getTarget().getType().getShape()))
      if (loOfA >= loOfB + sizeOfB || loOfB >= loOfA + sizeOfA)
        return false;
    return true;
  }

  /// What is loaded into the activations is loaded right before the first row
  /// that reads it.
  LogicalResult loadLate(Value value, int32_t position, Stream stream,
                         const Clock &clock) {
    auto load = lateLoads_.find(getStorage(value).buffer);
    if (load == lateLoads_.end())
      return success();
    LoadOp op = load->second;
    lateLoads_.erase(load);
    return write(op, op.getTarget(), position, stream, &clock);
  }

  Arena &arenaOf(BufferOp buffer) {
    return arenas_[buffer.getType().getSpace() == Space::Parameters];
  }

  /// The bytes of a value in its arena.
  static FailureOr<std::pair<int64_t, int64_t>> bytesOf(Value value) {
    Storage storage = getStorage(value);
    if (!storage.buffer.getOffset())
      return storage.buffer.emitOpError("expected an offset; run "
                                        "soaprt-plan-memory");
    int64_t lo = *storage.buffer.getOffset() + storage.byteOffset;
    return std::pair(lo, lo + cast<BufferType>(value.getType()).getBytes());
  }

  /// Calls `visit` for the cells under a value.
  template <typename Visit>
  LogicalResult forEachCell(Value value, Visit visit) {
    FailureOr<std::pair<int64_t, int64_t>> bytes = bytesOf(value);
    if (failed(bytes))
      return failure();
    return arenaOf(getStorage(value).buffer)
        .forEach(bytes->first, bytes->second, visit);
  }

  LogicalResult hasEnded(Operation *row, int32_t position, const Clock &clock,
                         const Cell::Rows &earlier, StringRef why) {
    for (int stream = 0; stream < numStreams; ++stream) {
      int32_t other = earlier[stream];
      if (other < 0 || other == position)
        continue;
      ++statistics_.dependences;
      statistics_.acrossStreams +=
          streamOf(rows_[other]) != streamOf(rows_[position]);
      if (clock.last[stream] >= other)
        continue;
      InFlightDiagnostic diagnostic =
          row->emitOpError("expected to start after the row that ");
      diagnostic << why
                 << ", got no wait that says so; add its token to "
                    "'waits'";
      diagnostic.attachNote(rows_[other]->getLoc()) << "the row: " << why;
      return diagnostic;
    }
    return success();
  }

  /// Whether a row that reads bytes of `buffer` may overwrite them: an
  /// all-reduce of one run of bytes, and a launch in the place of this input.
  static bool mayOverwrite(Operation *op, BufferOp buffer) {
    auto row = dyn_cast<RowOpInterface>(op);
    auto [from, to] = row ? placedTogether(row) : std::pair<Value, Value>();
    if (!from || (isa<LaunchOp>(op) && getStorage(from).buffer != buffer))
      return false;
    auto read = bytesOf(from), written = bytesOf(to);
    return succeeded(read) && succeeded(written) && *read == *written;
  }

  static Stream streamOf(RowOpInterface row) {
    return row.getStream().value_or(Stream::Compute);
  }

  LogicalResult read(Operation *row, Value value, int32_t position,
                     Stream stream, const Clock &clock) {
    BufferOp buffer = getStorage(value).buffer;
    return forEachCell(value, [&](Cell &cell) -> LogicalResult {
      if (!cell.buffer) {
        InFlightDiagnostic diagnostic = row->emitOpError(
            "expected to read what an earlier row has written, got bytes "
            "that none has");
        diagnostic.attachNote(buffer.getLoc()) << "of this buffer";
        return diagnostic;
      }
      if (cell.buffer != buffer) {
        InFlightDiagnostic diagnostic = row->emitOpError(
            "expected to read bytes of its buffer, got: bytes that belong "
            "to another one by now; keep the two apart");
        diagnostic.attachNote(cell.buffer.getLoc()) << "the other buffer";
        return diagnostic;
      }
      if (failed(hasEnded(row, position, clock, cell.writer,
                          "writes what it reads")))
        return failure();
      cell.reader[static_cast<int>(stream)] = position;
      return success();
    });
  }

  /// A load has no clock, since it runs before all rows.
  LogicalResult write(Operation *row, Value value, int32_t position,
                      Stream stream, const Clock *clock) {
    BufferOp buffer = getStorage(value).buffer;
    return forEachCell(value, [&](Cell &cell) -> LogicalResult {
      if (clock && (failed(hasEnded(row, position, *clock, cell.writer,
                                    "wrote these bytes before")) ||
                    failed(hasEnded(row, position, *clock, cell.reader,
                                    "still reads these bytes"))))
        return failure();
      bool isReused = cell.buffer && cell.buffer != buffer;
      if (clock && isReused &&
          cell.reader[static_cast<int>(stream)] == position &&
          !mayOverwrite(row, cell.buffer))
        return row->emitOpError("expected to write no bytes that it reads "
                                "through another buffer, which only an "
                                "all-reduce of the whole buffer may, and a "
                                "launch in place");
      statistics_.reuses += isReused;
      cell.buffer = buffer;
      cell.writer = cell.reader = Cell::none;
      cell.writer[static_cast<int>(stream)] = position;
      return success();
    });
  }

  DeviceOp device_;
  ProgramStatistics &statistics_;
  Arena arenas_[2]; ///< Activations, parameters.
  SmallVector<RowOpInterface> rows_;
  llvm::DenseMap<Operation *, LoadOp> lateLoads_; ///< By buffer.
};

} // namespace

LogicalResult soap::soaprt::verifyProgram(DeviceOp device,
                                          ProgramStatistics &statistics) {
  return ProgramProof(device, statistics).prove();
}

namespace {

struct VerifyProgramsPass
    : soap::soaprt::impl::VerifyProgramsPassBase<VerifyProgramsPass> {
  using VerifyProgramsPassBase::VerifyProgramsPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    ProgramStatistics statistics;
    for (auto device : getOperation().getOps<DeviceOp>())
      if (failed(verifyProgram(device, statistics)))
        return signalPassFailure();
    if (failed(verifyMessages(getOperation())))
      return signalPassFailure();
    if (report)
      emitRemark(getOperation().getLoc())
          << "programs: " << statistics.rows << " rows, " << statistics.waits
          << " waits, " << statistics.dependences << " dependences ("
          << statistics.acrossStreams << " between streams), "
          << statistics.reuses << " reuses of memory, all in order";
  }
};

} // namespace
