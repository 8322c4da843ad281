//===- RowGroups.cpp - Parts of a kernel that keep to their rows ----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowGroups.h"
#include "Distribution.h"
#include "KernelBuffers.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Transforms/RegionUtils.h"
#include "soap/Conversion/NNToKernels/KernelAttributes.h"
#include "soap/Target/CUDA/Passes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace soap;
using namespace soap::cuda;

int64_t RowGroup::rowsPerBlock() const {
  return threadsPerBlock / threadsPerRow;
}

int64_t RowGroup::heldPerThread() const {
  return llvm::divideCeil(static_cast<uint64_t>(heldGroups()),
                          static_cast<uint64_t>(threadsPerRow));
}

//===----------------------------------------------------------------------===//
// One part
//===----------------------------------------------------------------------===//

/// An operation of which the group's threads may each do a share: it writes its
/// outputs alone, and joins partial results in any order.
static bool canShare(linalg::LinalgOp op) {
  if (op.hasDynamicShape() || llvm::is_contained(op.getStaticLoopRanges(), 0))
    return false;
  WalkResult walk = op.getBlock()->walk([](Operation *inner) {
    bool isPlain = isMemoryEffectFree(inner) || isa<memref::LoadOp>(inner);
    return isPlain ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (walk.wasInterrupted())
    return false;
  if (op.getNumReductionLoops() == 0)
    return true;
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  for (unsigned i = 0, count = op.getNumDpsInits(); i != count; ++i) {
    AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(i));
    if (!combinerOf(op, i))
      return false;
    for (auto [loop, kind] : llvm::enumerate(kinds))
      if (kind != utils::IteratorType::parallel && map.isFunctionOfDim(loop))
        return false;
  }
  return true;
}

/// True if the innermost loop of a reduction, and none over its results, goes
/// along memory.
static bool readsAlongMemory(linalg::LinalgOp op) {
  SmallVector<unsigned> reduced, kept;
  op.getReductionDims(reduced);
  op.getParallelDims(kept);
  return llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    if (map.getNumResults() == 0)
      return false;
    AffineExpr last = map.getResults().back();
    return last.isFunctionOfDim(reduced.back()) &&
           llvm::none_of(
               kept, [&](unsigned loop) { return last.isFunctionOfDim(loop); });
  });
}

//===----------------------------------------------------------------------===//
// Parts together
//===----------------------------------------------------------------------===//

namespace {
/// Whether certain operations are one group.
class GroupFinder {
public:
  explicit GroupFinder(ArrayRef<linalg::LinalgOp> ops);

  std::optional<RowGroup> find();

private:
  struct Member {
    RowPart part;
    bool isDivided = false; ///< Its loops, into rows and elements.
    SmallVector<std::optional<BufferAccess>> accesses; ///< By operand.
  };

  bool beginWithReductions();
  bool divideByWhatIsShared();
  bool divide(Member &member);
  bool keepsToRows(const Member &member);
  bool isAlone(const Member &member);
  bool pays() const;
  void chooseThreads();
  bool canHold();
  int64_t alignedTogether() const;
  bool chooseHeld();
  void chooseTiles();
  bool isInside(Value buffer) const;

  std::vector<Member> members_;
  DenseSet<Value> written_;
  /// Of written buffers, and of others that all parts see alike.
  llvm::MapVector<Value, RowLayout> layouts_;
  DenseSet<Value> unlike_; ///< Others that parts do not see alike.
  RowGroup group_;
};
} // namespace

GroupFinder::GroupFinder(ArrayRef<linalg::LinalgOp> ops) {
  for (linalg::LinalgOp op : ops) {
    Member &member = members_.emplace_back();
    member.part.op = op;
    member.part.extents = op.getStaticLoopRanges();
    for (OpOperand &operand : op->getOpOperands())
      member.accesses.push_back(accessOf(operand));
    for (Value output : op.getDpsInits())
      written_.insert(bufferOf(output));
  }
}

/// The rows are what reductions have results for.
bool GroupFinder::beginWithReductions() {
  bool hasReduction = false;
  for (Member &member : members_) {
    if (!member.part.isReduction())
      continue;
    SmallVector<unsigned> loops;
    member.part.op.getParallelDims(loops);
    member.part.rowLoops = loops;
    loops.clear();
    member.part.op.getReductionDims(loops);
    member.part.elementLoops = loops;
    int64_t rows = 1;
    for (unsigned loop : member.part.rowLoops)
      rows *= member.part.extents[loop];
    bool alongRows = rows > 1 && !readsAlongMemory(member.part.op);
    if (hasReduction && (rows != group_.rows || alongRows != group_.alongRows))
      return false;
    hasReduction = member.isDivided = true;
    group_.rows = rows;
    group_.alongRows = alongRows;
    if (!keepsToRows(member))
      return false;
  }
  return hasReduction;
}

/// Notes where the rows of a part lie. False if it writes them elsewhere than
/// another one, or reads what another one writes elsewhere.
bool GroupFinder::keepsToRows(const Member &member) {
  linalg::LinalgOp op = member.part.op;
  for (auto [operand, access] :
       llvm::zip_equal(op->getOpOperands(), member.accesses)) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    Value buffer = bufferOf(operand.get());
    std::optional<RowLayout> layout;
    if (access)
      layout = layoutOf(member.part, *access);
    if (layout && layout->rowCount() != group_.rows)
      layout.reset();
    if (layout && op.isDpsInit(&operand)) {
      // Every element is written once.
      int64_t elements =
          member.part.isReduction() ? 1 : member.part.elementsPerRow();
      if (layout->elementsPerRow() != elements)
        return false;
    }
    auto known = layouts_.find(buffer);
    bool isLike =
        layout && (known == layouts_.end() || known->second == *layout);
    if (isLike)
      layouts_.insert({buffer, *layout});
    else if (written_.contains(buffer))
      return false;
    else
      unlike_.insert(buffer);
  }
  return true;
}

bool GroupFinder::divide(Member &member) {
  for (std::optional<BufferAccess> &access : member.accesses) {
    if (!access || !written_.contains(access->buffer))
      continue;
    auto known = layouts_.find(access->buffer);
    if (known != layouts_.end() &&
        divideLoops(member.part, *access, known->second))
      return true;
  }
  return false;
}

/// Parts without reductions share buffers with those that are divided already.
bool GroupFinder::divideByWhatIsShared() {
  for (size_t left = members_.size(), before = left + 1; left != before;) {
    before = left;
    left = 0;
    for (Member &member : members_) {
      if (member.isDivided)
        continue;
      member.isDivided = divide(member);
      if (member.isDivided && !keepsToRows(member))
        return false;
      left += !member.isDivided;
    }
    if (left == 0)
      return true;
  }
  return false;
}

/// True if the body reads by itself no buffer that the group writes, and no
/// operand of the kernel may overlap another one.
bool GroupFinder::isAlone(const Member &member) {
  SetVector<Value> above;
  getUsedValuesDefinedAbove(member.part.op->getRegions(), above);
  for (Value value : above)
    if (isa<MemRefType>(value.getType()) && written_.contains(bufferOf(value)))
      return false;
  for (Value operand : member.part.op->getOperands()) {
    if (!isa<MemRefType>(operand.getType()))
      continue;
    auto argument = dyn_cast<BlockArgument>(bufferOf(operand));
    auto kernel = member.part.op->getParentOfType<func::FuncOp>();
    if (argument && argument.getOwner() == &kernel.getBody().front() &&
        !kernel.getArgAttr(argument.getArgNumber(), native::noaliasAttr))
      return false;
  }
  return true;
}

/// A thread gets four elements of a row where there are enough of them for all
/// threads of a GPU, else one.
void GroupFinder::chooseThreads() {
  constexpr int64_t manyElements = 1 << 20, few = 4;
  constexpr int64_t warp = 32, sector = 8, manyRows = 2048, allRows = 16384;
  for (const Member &member : members_)
    group_.mostElements =
        std::max(group_.mostElements, member.part.elementsPerRow());
  int64_t each = group_.rows * group_.mostElements >= manyElements ? few : 1;
  int64_t most = threadsPerBlock;
  // Threads that follow one another read rows that do: each its own, or 32 of
  // them, or a sector of memory, 8, where there are not many. Windows of pools,
  // of which no buffer holds one as a row, lie so, too: neighbours overlap.
  bool areWindows = llvm::none_of(layouts_, [](const auto &entry) {
    return entry.second.elementsPerRow() > 1;
  });
  if ((group_.alongRows || areWindows) && group_.rows >= allRows &&
      group_.mostElements <= 64)
    most = 1;
  else if (group_.alongRows)
    most /= group_.rows >= manyRows ? warp : sector;
  int64_t wanted = llvm::PowerOf2Ceil(
      llvm::divideCeil(uint64_t(group_.mostElements), uint64_t(each)));
  group_.threadsPerRow = std::clamp<int64_t>(wanted, 1, most);
}

/// True if all parts go through a row alike, so that a thread that has an
/// element of it in one part has it in all, in registers.
bool GroupFinder::canHold() {
  if (group_.alongRows || group_.threadsPerRow == 1)
    return false;
  DenseSet<Value> made;
  for (const Member &member : members_) {
    const RowPart &part = member.part;
    int64_t elements = part.elementsPerRow();
    if (elements != group_.mostElements &&
        (elements != 1 || part.isReduction()))
      return false;
    linalg::LinalgOp op = part.op;
    for (auto [operand, access] :
         llvm::zip_equal(op->getOpOperands(), member.accesses)) {
      if (!isa<MemRefType>(operand.get().getType()))
        continue;
      if (!access)
        return false;
      if (!written_.contains(access->buffer))
        continue;
      bool isLike = op.isDpsInit(&operand) && part.isReduction()
                        ? isRowScalar(part, *access)
                        : isDense(part, *access) || isRowScalar(part, *access);
      // One thread writes what there is one of per row. All have read it by
      // then only if none has to look into memory.
      bool isRead =
          !op.getMatchingBlockArgument(&operand).use_empty() &&
          !(part.isReduction() && op.isDpsInit(&operand) && fillBefore(op));
      if (!isLike || (isRead && isRowScalar(part, *access) &&
                      !made.contains(access->buffer)))
        return false;
    }
    for (Value output : op.getDpsInits())
      made.insert(bufferOf(output));
  }
  return true;
}

/// Elements of a row that lie side by side, at multiples of their bytes, in
/// every buffer that has more than one for it; at most 16 bytes of the widest.
int64_t GroupFinder::alignedTogether() const {
  constexpr int64_t vectorBits = 128, most = 8;
  int64_t together = most;
  auto allow = [&](int64_t multiple) {
    while (multiple % together != 0)
      together /= 2;
  };
  allow(group_.mostElements);
  for (const Member &member : members_) {
    const RowPart &part = member.part;
    if (part.elementsPerRow() == 1)
      continue;
    linalg::LinalgOp op = part.op;
    for (auto [operand, access] :
         llvm::zip_equal(op->getOpOperands(), member.accesses)) {
      if (!access || isRowScalar(part, *access))
        continue;
      // Threads that follow one another read elements that do.
      if (!isDense(part, *access))
        return 1;
      Type type = cast<MemRefType>(access->buffer.getType()).getElementType();
      if (!isVectorElement(type))
        return 1;
      together = std::min<int64_t>(together,
                                   vectorBits / type.getIntOrFloatBitWidth());
      allow(access->offset);
      for (unsigned loop : part.rowLoops)
        if (part.extents[loop] != 1)
          allow(access->strides[loop]);
    }
  }
  return together;
}

/// As few threads on a row as can hold it, if there are enough of them for a
/// GPU then; eight, so that they read 128 bytes of f32 at a time, unless a row
/// has fewer groups.
bool GroupFinder::chooseHeld() {
  constexpr int64_t mostPerThread = 32, manyThreads = 1 << 17, fewest = 8;
  if (!canHold())
    return false;
  group_.heldTogether = alignedTogether();
  int64_t groups = group_.heldGroups(), threads = fewest;
  int64_t most = std::min<int64_t>(
      threadsPerBlock, llvm::PowerOf2Ceil(static_cast<uint64_t>(groups)));
  while (threads < most &&
         (groups * group_.heldTogether > threads * mostPerThread ||
          group_.rows * threads < manyThreads))
    threads *= 2;
  threads = std::min(threads, most);
  if (groups * group_.heldTogether > threads * mostPerThread) {
    group_.heldTogether = 0;
    return false;
  }
  group_.threadsPerRow = threads;
  for (Value buffer : written_)
    if (isInside(buffer))
      group_.unstored.insert(buffer);
  for (const auto &[buffer, layout] : layouts_)
    if (!written_.contains(buffer) && !unlike_.contains(buffer))
      group_.alike.insert(buffer);
  return true;
}

/// Few long rows are better shared by the whole grid, part by part.
bool GroupFinder::pays() const {
  constexpr int64_t longRow = 16384, fewRows = 128, longShare = 512;
  if (group_.rows >= fewRows * group_.rowsPerBlock())
    return true;
  return llvm::all_of(members_, [&](const Member &member) {
    int64_t elements = member.part.elementsPerRow();
    return member.part.isReduction() && !group_.alongRows
               ? true
               : elements <= longRow &&
                     elements <= longShare * group_.threadsPerRow;
  });
}

/// True if only the group's operations use a buffer of the kernel's own.
bool GroupFinder::isInside(Value buffer) const {
  if (!buffer.getDefiningOp<memref::AllocOp>())
    return false;
  SmallVector<Value> views = {buffer};
  while (!views.empty()) {
    for (Operation *user : views.pop_back_val().getUsers()) {
      if (isa<ViewLikeOpInterface>(user))
        views.push_back(user->getResult(0));
      else if (!isTakenUp(*user) &&
               llvm::none_of(members_, [&](const Member &member) {
                 return member.part.op == user;
               }))
        return false;
    }
  }
  return true;
}

/// What goes to shared memory: first what then need not be anywhere else, then
/// what is written, then what is read several times.
void GroupFinder::chooseTiles() {
  constexpr int64_t mostBytes = 40 << 10;
  struct Candidate {
    Value buffer;
    int rank;
  };
  SmallVector<Candidate> candidates;
  for (auto &[buffer, layout] : layouts_) {
    unsigned users = 0;
    bool writesFirst = false;
    for (const Member &member : members_) {
      unsigned reads = 0;
      linalg::LinalgOp op = member.part.op;
      unsigned touches = 0;
      for (OpOperand &operand : op->getOpOperands()) {
        if (bufferOf(operand.get()) != buffer)
          continue;
        ++touches;
        reads += op.getMatchingBlockArgument(&operand).use_empty() ? 0 : 1;
      }
      bool isFilled = op.getNumDpsInits() == 1 && fillBefore(op) &&
                      bufferOf(op.getDpsInits()[0]) == buffer;
      if (touches && users++ == 0)
        writesFirst = isFilled || reads == 0;
    }
    Type type = cast<MemRefType>(buffer.getType()).getElementType();
    if (users < 2 || unlike_.contains(buffer) || !isVectorElement(type))
      continue;
    bool isUnstored = writesFirst && isInside(buffer);
    candidates.push_back({buffer, isUnstored                  ? 0
                                  : written_.contains(buffer) ? 1
                                                              : 2});
  }
  llvm::stable_sort(candidates, [](const Candidate &a, const Candidate &b) {
    return a.rank < b.rank;
  });
  int64_t bytes = 0;
  for (auto [buffer, rank] : candidates) {
    const RowLayout &layout = layouts_[buffer];
    int64_t width =
        cast<MemRefType>(buffer.getType()).getElementTypeBitWidth() / 8;
    int64_t more = width * layout.elementsPerRow() * group_.rowsPerBlock();
    if (bytes + more > mostBytes)
      continue;
    bytes += more;
    group_.tiles.insert({buffer, layout});
    if (rank == 0)
      group_.unstored.insert(buffer);
  }
}

std::optional<RowGroup> GroupFinder::find() {
  if (!beginWithReductions() || !divideByWhatIsShared() ||
      !llvm::all_of(members_,
                    [&](const Member &member) { return isAlone(member); }))
    return std::nullopt;
  chooseThreads();
  if (!pays())
    return std::nullopt;
  if (!chooseHeld())
    chooseTiles();
  for (Member &member : members_)
    group_.parts.push_back(std::move(member.part));
  return std::move(group_);
}

std::optional<RowGroup> cuda::findRowGroup(ArrayRef<linalg::LinalgOp> ops) {
  constexpr size_t mostParts = 16;
  std::optional<RowGroup> best;
  for (size_t count = 1, end = std::min(ops.size(), mostParts);
       count <= end && canShare(ops[count - 1]); ++count)
    if (count > 1)
      if (auto found = GroupFinder(ops.take_front(count)).find())
        best = std::move(found);
  return best;
}
