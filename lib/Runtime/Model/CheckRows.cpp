//===- CheckRows.cpp - Checks the rows of a model's table -----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model/Checker.h"
#include "Model/WrittenBytes.h"
#include <algorithm>
#include <map>
#include <set>
#include <type_traits>

using namespace soap;
using namespace soap::runtime;

std::string Checker::place(const fb::Row *row, uint32_t index,
                           bool init) const {
  std::string program = init ? "init " : "";
  // Where there is one program, its name says nothing.
  if (!init && model_.programs()->size() > 1)
    program = program_->name()->str() + ", ";
  return text("device ", currentId_, ", ", program, "row ", index, " ('",
              toString(row->name()), "')");
}

void Checker::row(const fb::Row *row, uint32_t index, bool init) {
  where_ = place(row, index, init);
  name(row->name());
  kind(row->stream(), fb::Stream::MAX);
  kind(row->phase(), fb::Phase::MAX);
  for (uint32_t wait : items(row->waits()))
    if (wait >= index)
      bad("a wait for row ", wait, ", which is no earlier one");
  bool communicates = row->body_type() == fb::RowBody::Exchange ||
                      row->body_type() == fb::RowBody::Collective;
  bool host = row->body_type() == fb::RowBody::Feed ||
              row->body_type() == fb::RowBody::Drain;
  if (init && (communicates || host || row->stream() != fb::Stream::Compute))
    bad("an init row other than a launch or a copy on the compute stream");
  if (communicates &&
      (row->stream() == fb::Stream::Compute || row->phase() != fb::Phase::Step))
    bad("communication outside of the communication streams or the step");
  if (row->stream() == fb::Stream::Priority &&
      row->body_type() != fb::RowBody::Collective)
    bad("a row other than a collective on the priority stream");
  if (row->phase() != fb::Phase::Step && row->stream() != fb::Stream::Compute)
    bad("a feed or drain row outside of the compute stream");
  switch (row->body_type()) {
  case fb::RowBody::Launch:
    return launch(row->body_as_Launch());
  case fb::RowBody::Copy: {
    const auto *copy = row->body_as_Copy();
    for (const auto *fill : items(copy->fills())) {
      extent(fill->buffer(), fill->offset(), fill->bytes());
      uint32_t size = items(fill->pattern()).size();
      if (size && fill->bytes() % size)
        bad("a fill of ", fill->bytes(), " bytes with a pattern of ", size);
    }
    for (const auto *c : items(copy->copies()))
      boxCopy(c, -1, -1);
    return;
  }
  case fb::RowBody::Exchange:
    return exchange(row->body_as_Exchange());
  case fb::RowBody::Collective:
    return collective(row->body_as_Collective());
  case fb::RowBody::Feed: {
    const auto *feed = row->body_as_Feed();
    if (row->phase() != fb::Phase::Feed)
      bad("a feed outside of its phase");
    if (feed->input() >= items(program_->inputs()).size())
      bad("input ", feed->input(), " of ", items(program_->inputs()).size());
    return hostRow(feed, program_->inputs()->Get(feed->input()),
                   /*feeds=*/true);
  }
  case fb::RowBody::Drain: {
    const auto *drain = row->body_as_Drain();
    if (row->phase() != fb::Phase::Drain)
      bad("a drain outside of its phase");
    if (drain->output() >= items(program_->outputs()).size())
      bad("output ", drain->output(), " of ",
          items(program_->outputs()).size());
    return hostRow(drain, program_->outputs()->Get(drain->output()),
                   /*feeds=*/false);
  }
  case fb::RowBody::NONE:
    break;
  }
  bad("an unknown kind of row");
}

void Checker::launch(const fb::Launch *launch) {
  if (launch->kernel() >= items(model_.kernels()).size())
    bad("kernel ", launch->kernel(), " of ", items(model_.kernels()).size());
  const auto *k = model_.kernels()->Get(launch->kernel());
  auto tensors = [&](const flatbuffers::Vector<uint32_t> *buffers,
                     const auto *types, const char *what) {
    auto list = items(buffers);
    auto declared = items(types);
    if (list.size() != declared.size())
      bad(list.size(), " ", what, " for kernel '", k->key()->str(),
          "', which has ", declared.size());
    for (uint32_t i = 0; i != list.size(); ++i)
      extent(list[i], 0,
             static_cast<uint64_t>(byteCount(declared[i]->element(),
                                             toVector(declared[i]->shape()))));
  };
  tensors(launch->operands(), k->operands(), "operands");
  tensors(launch->results(), k->results(), "results");
  if (const auto *native = k->op_as_Native())
    nativeLaunch(launch, k, model_.natives()->Get(native->symbol()));
  places(launch, k);
  for (uint32_t operand : items(launch->constant_operands())) {
    if (operand >= items(launch->operands()).size())
      bad("constant operand ", operand);
    if (buffer(launch->operands()->Get(operand))->space() !=
        fb::Space::Parameters)
      bad("constant operand ", operand, " outside of the parameters");
  }
}

void Checker::constants(const fb::Device *device) {
  WrittenBytes written(*device);
  for (programId_ = 0; programId_ != device->programs()->size(); ++programId_) {
    program_ = model_.programs()->Get(programId_);
    uint32_t index = 0;
    for (const auto *row : rowsOf(*device, programId_)) {
      where_ = place(row, index++, /*init=*/false);
      const auto *launch = row->body_as_Launch();
      if (!launch)
        continue;
      for (uint32_t operand : items(launch->constant_operands()))
        if (written.overlaps(launch->operands()->Get(operand)))
          bad("constant operand ", operand, ", which a row of the step writes");
    }
  }
}

static bool overlap(const fb::Load &a, const fb::Load &b) {
  auto boxOfA = items(a.box()), boxOfB = items(b.box());
  for (uint32_t d = 0; d != std::min(boxOfA.size(), boxOfB.size()); ++d)
    if (boxOfA[d]->lo() >= boxOfB[d]->hi() ||
        boxOfB[d]->lo() >= boxOfA[d]->hi())
      return false;
  return true;
}

void Checker::copiesOfState() {
  std::multimap<std::string, const fb::Load *> state;
  auto forEachLoad = [&](auto visit) {
    for (currentId_ = 0; currentId_ != model_.devices()->size(); ++currentId_) {
      current_ = model_.devices()->Get(currentId_);
      WrittenBytes written(*current_);
      // What no row reads, as a second copy on a device, does no harm.
      WrittenBytes read(*current_, WrittenBytes::Access::Read);
      for (const fb::Load *load : items(current_->loads())) {
        bool isWritten = written.overlaps(load->buffer());
        if (load->init_row() < 0 && buffer(load->buffer())->bytes() != 0 &&
            (isWritten || read.overlaps(load->buffer())))
          visit(load, isWritten);
      }
    }
  };
  forEachLoad([&](const fb::Load *load, bool isWritten) {
    if (isWritten)
      state.emplace(toString(load->name()), load);
  });
  forEachLoad([&](const fb::Load *load, bool isWritten) {
    if (isWritten)
      return;
    auto [begin, end] = state.equal_range(toString(load->name()));
    for (auto it = begin; it != end; ++it)
      if (overlap(*load, *it->second)) {
        where_ = text("device ", currentId_);
        bad("a copy of '", it->first,
            "' that keeps its first value, while a program writes others");
      }
  });
}

void Checker::nativeLaunch(const fb::Launch *launch, const fb::Kernel *kernel,
                           const fb::NativeKernel *native) {
  auto sizes = items(launch->sizes());
  if (sizes.size() < native->size_count())
    bad(sizes.size(), " sizes for native code that reads ",
        native->size_count());
  auto operands = items(kernel->operands()), results = items(kernel->results());
  auto bytes = items(native->bytes()), extents = items(native->extents());
  if (bytes.size() != operands.size() + results.size())
    bad(operands.size(), " operands and ", results.size(),
        " results for native code of ", bytes.size(), " buffers");
  for (uint32_t i = 0; i != bytes.size(); ++i) {
    const auto *type =
        i < operands.size() ? operands[i] : results[i - operands.size()];
    int64_t declared = byteCount(type->element(), toVector(type->shape()));
    if (bytes[i] > INT64_MAX)
      bad("a buffer of ", bytes[i], " bytes for native code");
    auto touched = static_cast<int64_t>(bytes[i]);
    for (uint32_t k = 0; k != native->size_count() && k != 64; ++k)
      if (extents[i] >> k & 1)
        touched = checkedMul(touched, sizes[k]);
    if (touched != declared)
      bad("native code that touches ", touched, " bytes of a buffer of ",
          declared);
  }
}

void Checker::strided(uint64_t offset, uint64_t run, const Shape &extents,
                      const Shape &strides, uint64_t bytes) {
  if (strides.size() != extents.size())
    bad("a copy with ", extents.size(), " extents and ", strides.size(),
        " strides");
  bool empty = run == 0;
  for (int64_t extent : extents) {
    if (extent < 0)
      bad("a copy with a negative extent");
    empty |= extent == 0;
  }
  if (empty)
    return;
  // In every step, so that sums cannot overflow.
  __int128 lowest = offset, highest = static_cast<__int128>(offset) + run;
  auto check = [&] {
    if (lowest < 0 || highest > static_cast<__int128>(bytes))
      bad("a copy outside of a buffer of ", bytes, " bytes");
  };
  check();
  for (size_t d = 0; d != extents.size(); ++d) {
    __int128 reach = static_cast<__int128>(extents[d] - 1) * strides[d];
    (reach < 0 ? lowest : highest) += reach;
    check();
  }
}

uint64_t Checker::boxCopy(const fb::BoxCopy *copy, int64_t from, int64_t to) {
  Shape extents = toVector(copy->extents());
  if (extents.size() > 12)
    bad("a copy of ", extents.size(), " dimensions");
  uint64_t source = from >= 0 ? from : buffer(copy->from())->bytes();
  uint64_t target = to >= 0 ? to : buffer(copy->to())->bytes();
  strided(copy->from_offset(), copy->run(), extents,
          toVector(copy->from_strides()), source);
  strided(copy->to_offset(), copy->run(), extents, toVector(copy->to_strides()),
          target);
  // Strides of 0 reach nowhere; still every byte has a place of its own.
  __int128 bytes = copy->run();
  for (int64_t extent : extents)
    if (extent == 0)
      bytes = 0;
  for (int64_t extent : extents) {
    bytes *= extent;
    if (bytes > static_cast<__int128>(target))
      bad("a copy of more bytes than its target has (", target, ")");
  }
  return static_cast<uint64_t>(bytes);
}

template <typename Row>
void Checker::hostRow(const Row *row, const fb::Port *port, bool feeds) {
  int64_t bytes = byteCount(port->element(), toVector(port->shape()));
  uint64_t total = 0;
  for (const fb::BoxCopy *copy : items(row->copies())) {
    if (__builtin_add_overflow(
            total, boxCopy(copy, feeds ? bytes : -1, feeds ? -1 : bytes),
            &total) ||
        total > INT64_MAX)
      bad("copies of 2^63 bytes or more");
    portBox(copy, port, feeds);
  }
  if constexpr (std::is_same_v<Row, fb::Drain>)
    if (uint64_t &drained = drained_[programId_][row->output()];
        __builtin_add_overflow(drained, total, &drained))
      bad("drains of 2^64 bytes or more");
}

void Checker::portBox(const fb::BoxCopy *copy, const fb::Port *port,
                      bool feeds) {
  Shape shape = toVector(port->shape()), extents = toVector(copy->extents());
  Shape steps = toVector(feeds ? copy->from_strides() : copy->to_strides());
  auto run = static_cast<int64_t>(copy->run());
  auto offset =
      static_cast<int64_t>(feeds ? copy->from_offset() : copy->to_offset());
  bool empty = run == 0;
  for (int64_t extent : extents)
    empty |= extent == 0;
  if (empty)
    return;
  auto noBox = [&] {
    bad("a copy that is no box of '", port->name()->str(), "', ",
        toString(shape));
  };
  // The box, from the innermost dimension: its first index, how many it takes
  // in a row, and the last index that it reaches.
  auto stride = static_cast<int64_t>(elementSize(port->element()));
  if (offset % stride || run % stride)
    noBox();
  size_t taken = 0;
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d]) {
    int64_t extent = shape[d], first = offset / stride % extent;
    int64_t count = std::min(std::max<int64_t>(run / stride, 1), extent);
    // A run that goes on beyond this dimension takes all of it.
    if (run >= stride && (run % stride || (run > stride * extent && first)))
      noBox();
    int64_t last = first + count;
    for (size_t i = 0; i != extents.size(); ++i) {
      if (extents[i] == 1 || extent == 1 || steps[i] < stride ||
          steps[i] >= stride * extent)
        continue;
      if (steps[i] % stride)
        noBox();
      ++taken;
      last += (extents[i] - 1) * (steps[i] / stride);
    }
    if (last > extent)
      noBox();
  }
  // Every dimension of the copy is one of the tensor's.
  for (int64_t extent : extents)
    taken += extent == 1;
  if (taken != extents.size())
    noBox();
}

void Checker::drains() {
  for (uint32_t p = 0; p != drained_.size(); ++p)
    for (uint32_t i = 0; i != drained_[p].size(); ++i) {
      const fb::Port *port = model_.programs()->Get(p)->outputs()->Get(i);
      where_ = text("output '", port->name()->str(), "'");
      int64_t bytes = byteCount(port->element(), toVector(port->shape()));
      if (drained_[p][i] != static_cast<uint64_t>(bytes))
        bad("drains of ", drained_[p][i], " bytes for ", bytes);
    }
}

void Checker::exchange(const fb::Exchange *exchange) {
  auto messages = [&](const flatbuffers::Vector<const fb::Message *> *list) {
    for (const fb::Message *message : items(list)) {
      if (message->peer() >= items(model_.devices()).size() ||
          message->peer() == currentId_)
        bad("a transfer with device ", message->peer());
      extent(message->data());
    }
  };
  messages(exchange->sends());
  messages(exchange->receives());
}

void Checker::collective(const fb::Collective *c) {
  kind(c->kind(), fb::CollectiveKind::MAX);
  kind(c->combine(), fb::Combine::MAX);
  kind(c->element(), fb::ElementType::MAX);
  std::vector<uint32_t> group = toVector(c->group());
  if (group.empty() || c->member() >= group.size() ||
      group[c->member()] != currentId_)
    bad("a collective in which this device is not member ", c->member());
  std::set<uint32_t> distinct(group.begin(), group.end());
  if (distinct.size() != group.size() ||
      *distinct.rbegin() >= items(model_.devices()).size())
    bad("a collective over unknown or repeated devices");
  uint32_t n = group.size(), sends = 1, receives = 1;
  switch (c->kind()) {
  case fb::CollectiveKind::Broadcast:
    sends = c->member() == 0;
    receives = c->member() != 0;
    break;
  case fb::CollectiveKind::AllGather:
    receives = n;
    break;
  case fb::CollectiveKind::AllToAll:
    sends = receives = n;
    break;
  case fb::CollectiveKind::AllReduce:
    break;
  case fb::CollectiveKind::ReduceScatter:
    sends = n;
    break;
  }
  kind(c->algorithm(), fb::Algorithm::MAX);
  bool byRing = c->kind() != fb::CollectiveKind::AllToAll,
       byTree = c->kind() == fb::CollectiveKind::AllReduce ||
                c->kind() == fb::CollectiveKind::Broadcast;
  if ((c->algorithm() == fb::Algorithm::Ring && !byRing) ||
      (c->algorithm() == fb::Algorithm::Tree && !byTree))
    bad(fb::EnumNameCollectiveKind(c->kind()), " by ",
        fb::EnumNameAlgorithm(c->algorithm()), ", which does not exist");
  if (items(c->send()).size() != sends ||
      items(c->receive()).size() != receives)
    bad("a collective with ", items(c->send()).size(), " sends and ",
        items(c->receive()).size(), " receives, not ", sends, " and ",
        receives);
  bool reduces = c->kind() == fb::CollectiveKind::AllReduce ||
                 c->kind() == fb::CollectiveKind::ReduceScatter;
  if (reduces && c->combine() == fb::Combine::None)
    bad("a reduction without a combiner");
  auto extents = [&](const flatbuffers::Vector<const fb::Extent *> *list) {
    for (const fb::Extent *e : items(list)) {
      extent(*e);
      if (reduces && (e->bytes() % elementSize(c->element()) ||
                      e->offset() % elementSize(c->element())))
        bad("a reduction of a part of an element");
    }
  };
  extents(c->send());
  extents(c->receive());
}
