//===- CommPlan.h - Who sends what to whom ----------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns the layout in which a value is produced and the needs of all its
// consumers into local reductions, collectives and transfers. The simulator's
// TaskGraph and the pass soap-partition both call planValue(); nothing else
// plans communication.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_PARTITION_COMMPLAN_H
#define SOAP_PARTITION_COMMPLAN_H

#include "soap/Partition/PartitionSpec.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace soap {

/// How a value lies on devices after its producer ran: a grid of tiles, each in
/// `parts` partial results (joined by `combine`), each in `copies` equal
/// copies.
struct Layout {
  /// Per dimension k+1 ascending cut points, from 0 to the extent.
  llvm::SmallVector<llvm::SmallVector<int64_t, 5>, 5> cuts;
  int32_t parts = 1;
  Combine combine = Combine::None; ///< None iff parts == 1.
  int32_t copies = 1;
  /// Device and producing task of [tile][part][copy]; tiles row-major over the
  /// dimensions.
  llvm::SmallVector<int32_t, 8> devices, tasks;

  int64_t numTiles() const;
  Box tileBox(int64_t tile) const;
  llvm::SmallVector<int64_t, 5> shape() const;
};

/// What the tasks of one consumer read of a value: per dimension a list of
/// ranges (they may overlap, leave gaps or be empty), a grid of needs.
struct Need {
  llvm::SmallVector<llvm::SmallVector<Range, 5>, 5> ranges;
  /// Above 1, the tasks of one tile need not read the value: it is enough that
  /// what they read adds up to it (ValueAccess::unreduced). Those of part i
  /// take part i of the value if takesParts() says so; else those of part 0
  /// take all of it, and the others nothing.
  int32_t parts = 1;
  int32_t copies = 1;
  /// Device and consuming task of [tile][part][copy]. Tasks that do not read
  /// the value (firstOnly) do not appear.
  llvm::SmallVector<int32_t, 8> devices, tasks;
  /// Plan this need on its own: gather again instead of sharing what another
  /// consumer gathered. Also for what must stay an action of its own, as the
  /// drain of an output to the host.
  bool regather = false;
  /// Of a value that lies in memory before the step (a parameter): what other
  /// consumers have gathered until now is given back, and this need and those
  /// of the consumers behind it, up to the next that starts a round, are
  /// planned together: a round. Needs in front of the first are round 0.
  bool startsRound = false;

  int64_t numTiles() const;
  Box tileBox(int64_t tile) const;
};

/// The layout of result `result` of an operation that runs with `degrees` on
/// `devices` (one per task).
Layout makeLayout(const PartitionSpec &spec, unsigned result,
                  const Degrees &degrees, llvm::ArrayRef<int32_t> devices,
                  llvm::ArrayRef<int64_t> shape);
/// The same in the memory of a layout that there is.
void makeLayout(const PartitionSpec &spec, unsigned result,
                const Degrees &degrees, llvm::ArrayRef<int32_t> devices,
                llvm::ArrayRef<int64_t> shape, Layout &layout);

/// True if the tasks of a need of several parts find them where they run: the
/// value is a sum in the same grid and in as many parts, and each part of every
/// tile lies on the devices of the tasks that take it.
bool takesParts(const Layout &producer, const Need &need);
/// Makes a need that does not take parts of a value one of the whole value, of
/// the tasks of part 0 alone. Others stay as they are.
void settleParts(const Layout &producer, Need &need);
/// The same for a value that has no parts.
void settleParts(Need &need);

/// What one action does. HaloExchange is a set of transfers between neighbours
/// in which every device keeps its own tile.
enum class ActionKind : uint8_t {
  Transfer,
  HaloExchange,
  Broadcast,
  AllGather,
  AllToAll,
  AllReduce,
  ReduceScatter
};
llvm::StringRef stringify(ActionKind kind);
/// The collective that an action is; none for transfers.
std::optional<CollectiveKind> collectiveOf(ActionKind kind);

/// Elements `box` of shard `shard`.
struct Piece {
  int32_t shard = -1;
  Box box;
};

/// One dense piece of the value on one device.
struct Shard {
  enum class Origin : uint8_t { Task, Reduction, Action };
  int32_t device = 0;
  Box box;
  /// The partial results that are summed up in this shard: -1 for a complete
  /// value, else the index of one part (after local reduction the lowest).
  int32_t part = -1;
  Origin origin = Origin::Task;
  int32_t index = 0;    ///< Producing task, or index of reduction or action.
  int32_t position = 0; ///< Output of the action.
};

/// Several parts of one tile on one device, joined locally before they move (or
/// for good, if the device has them all).
struct LocalReduction {
  Combine combine = Combine::Sum;
  llvm::SmallVector<int32_t, 4> inputs; ///< Shards, all with the same box.
  int32_t output = -1;                  ///< Shard.
};

/// What a device puts into an action: `box`, assembled from pieces of shards
/// that it has. Pieces are disjoint and cover the box.
struct Port {
  int32_t device = 0;
  Box box;
  llvm::SmallVector<Piece, 1> pieces;
};

/// One communication step: one node of the TaskGraph, one op of the soap
/// dialect, one group of the runtime. Inputs and outputs by kind:
///  - Transfer, HaloExchange: input i on its device goes to shard outputs[i] on
///    another device, same box; ordered by (source, destination, offset).
///    `group` is the sorted set of devices that take part.
///  - Broadcast: inputs[0] on group[0] goes to outputs[m-1] on group[m].
///  - AllGather: inputs[m] on group[m]; outputs[m] is the union of all inputs.
///  - AllToAll: inputs[m] on group[m]; outputs[m] is any box of their union.
///  - AllReduce: inputs[m], a partial value; outputs[m], same box, reduced.
///  - ReduceScatter: as AllReduce; outputs[m] is member m's own, disjoint box
///    (empty if the box has fewer elements than there are members).
struct Action {
  ActionKind kind = ActionKind::Transfer;
  Combine combine = Combine::None; ///< Of reductions.
  llvm::SmallVector<int32_t, 8> group;
  llvm::SmallVector<Port, 4> inputs;
  llvm::SmallVector<int32_t, 8> outputs;
  /// Transfer, HaloExchange: the device of outputs[i]. Else empty.
  llvm::SmallVector<int32_t, 4> destinations;
  /// Consumers (indices into planValue's list) that wait for this action,
  /// directly or through later actions.
  llvm::SmallVector<int32_t, 2> consumers;
  int32_t round = 0; ///< Of the consumers (Need::startsRound).
};

/// How one consuming task gets what it reads: disjoint pieces of shards on its
/// device that cover its box. A task whose box is empty has no read. One that
/// takes a part has one piece, the whole of a producing task's shard; where a
/// need of several parts takes none, only tasks of part 0 have reads.
struct Read {
  int32_t consumer = 0, task = 0, device = 0;
  Box box;
  llvm::SmallVector<Piece, 1> pieces;
};

/// The plan of one value. Actions are in an order in which each finds its
/// inputs ready. Shards of origin Task come first: shards[t] is what task t
/// produces. Reads are ordered by consumer, then as in its need.
struct ValuePlan {
  llvm::SmallVector<Shard, 8> shards;
  llvm::SmallVector<LocalReduction, 2> reductions;
  llvm::SmallVector<Action, 2> actions;
  llvm::SmallVector<Read, 8> reads;
  /// Per consumer, its round; empty: all are of round 0, as is what is planned
  /// on its own (Need::regather). Actions stand round by round.
  llvm::SmallVector<int32_t, 2> rounds;

  int32_t roundOf(int32_t consumer) const {
    return rounds.empty() ? 0 : rounds[consumer];
  }
};

/// Relative cost of the route from one device to another; chooses the nearest
/// source of a transfer. Ties go to the lowest device id.
using RouteCost = llvm::function_ref<int64_t(int32_t from, int32_t to)>;

/// No device of a plan is a memory-only host.
inline constexpr int32_t kNoHost = INT32_MIN;

/// Plans how every consumer gets what it needs of a value. Those that take
/// parts find them in place. For the others, a partial value is reduced once:
/// directly if they agree on one all-reduce or reduce-scatter, else by reduce-
/// scatter to a home layout and onwards. A device never sources what it only
/// received. Without `route` all remote devices are equally far. The memory-
/// only device `host` takes part in transfers alone. `consumers` may be empty.
ValuePlan planValue(const Layout &producer, llvm::ArrayRef<Need> consumers,
                    RouteCost route = nullptr, int32_t host = kNoHost);

/// Checks a plan against its input: every read is covered exactly once by
/// pieces on its own device; pieces lie inside their shards; every partial
/// result enters its reduction exactly once (copy 0), and that of every
/// consumer that takes parts; actions move between the devices that their kind
/// says; nothing is used before it exists, or in another round than the one
/// that it was gathered for. Fails with the first violation.
llvm::Error verify(const ValuePlan &plan, const Layout &producer,
                   llvm::ArrayRef<Need> consumers);

/// What an action moves, in the form that TaskGraph, IR and the runtime's
/// counters are compared in. A transfer counts as source, destination, bytes;
/// a collective as kind, group, bytes per member (of a member's input for
/// AllGather, AllToAll, Broadcast; of the whole reduced box for reductions; 0
/// for members that put nothing in).
struct Movement {
  ActionKind kind = ActionKind::Transfer;
  llvm::SmallVector<int32_t, 8> devices; ///< {source, destination} or group.
  llvm::SmallVector<int64_t, 8> bytes;   ///< One number, or one per member.

  bool operator==(const Movement &o) const {
    return kind == o.kind && devices == o.devices && bytes == o.bytes;
  }
};

/// The movements of an action: one per transfer, or one for a collective.
/// Transfers inside a HaloExchange count as Transfer.
llvm::SmallVector<Movement, 4> movements(const Action &action,
                                         int64_t elementBytes);
/// Bytes that an action puts on links, all members together. In a collective,
/// every member's input counts once per other member that gets it; a reduction
/// as a ring does.
int64_t linkBytes(const Action &action, int64_t elementBytes);

} // namespace soap

#endif // SOAP_PARTITION_COMMPLAN_H
