//===- Check.cpp - Checks a model's table before anything uses it ---------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model/Check.h"
#include <algorithm>
#include <fstream>
#include <set>

using namespace soap;
using namespace soap::runtime;

//===----------------------------------------------------------------------===//
// Structure and host
//===----------------------------------------------------------------------===//

static std::set<std::string> hostFeatures() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("flags", 0) != 0 && line.rfind("Features", 0) != 0)
      continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    std::set<std::string> result;
    for (std::string word; words >> word;)
      result.insert(word);
    return result;
  }
  return {};
}

const fb::Model *runtime::checkedModel(const void *data, size_t size) {
  flatbuffers::Verifier verifier(static_cast<const uint8_t *>(data), size,
                                 /*max_depth=*/64,
                                 /*max_tables=*/flatbuffers::uoffset_t(1)
                                     << 30);
  if (size < 12 || !fb::ModelBufferHasIdentifier(data) ||
      !fb::VerifyModelBuffer(verifier))
    invalid("expected a model made by soap-compile, got: a damaged table; "
            "compile the model again");
  const fb::Model *model = fb::GetModel(data);
  if (model->abi() != SOAP_ABI_VERSION)
    invalid("expected a model of ABI ", SOAP_ABI_VERSION, ", got: ABI ",
            model->abi(), " (made by ",
            model->compiler() ? model->compiler()->str() : "unknown",
            "); compile the model again with this version");
  std::string target = toString(model->target());
  if (target != "cpu")
    invalid("expected a model for target cpu, got: '", target,
            "'; compile the model with --target=cpu");
  std::set<std::string> features;
  std::string missing;
  for (const auto *feature : items(model->cpu_features())) {
    if (features.empty())
      features = hostFeatures();
    if (!features.count(feature->str()))
      missing += (missing.empty() ? "" : ", ") + feature->str();
  }
  if (!missing.empty())
    invalid("expected a CPU with ", missing,
            ", got: this machine, which lacks it; compile the model here or "
            "with --mcpu=x86-64-v3");
  return model;
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

namespace {
/// Knows where in the table it is, for messages.
class Checker {
public:
  explicit Checker(const fb::Model &model) : model(model) {}
  void run();

private:
  template <typename... Ts>
  [[noreturn]] void bad(const Ts &...parts) {
    invalid("expected a consistent model table, got: ", where, ": ", parts...,
            "; compile the model again");
  }
  template <typename Enum>
  void kind(Enum value, Enum last) {
    if (static_cast<unsigned>(value) > static_cast<unsigned>(last))
      bad("a kind ", static_cast<unsigned>(value), " beyond ",
          static_cast<unsigned>(last));
  }

  int64_t tensorBytes(fb::ElementType element, const Shape &shape);
  void port(const fb::Port *port);
  void kernel(const fb::Kernel *kernel);
  void device(const fb::Device *device);
  void load(const fb::Load *load);
  void box(const flatbuffers::Vector<const fb::Range *> *ranges,
           const Shape &shape, Shape &extents);
  void tile(const fb::Tile *tile);
  void row(const fb::Row *row, uint32_t index, bool init);
  void launch(const fb::Launch *launch);
  void exchange(const fb::Exchange *exchange);
  void collective(const fb::Collective *collective);
  /// `from` and `to`: bytes available on a side that is no buffer, else -1.
  /// Returns the bytes that it copies.
  uint64_t boxCopy(const fb::BoxCopy *copy, int64_t from, int64_t to);
  template <typename Copies>
  void hostCopies(const Copies *copies, int64_t from, int64_t to);
  void strided(uint64_t offset, uint64_t run, const Shape &extents,
               const Shape &strides, uint64_t bytes);
  const fb::Buffer *buffer(uint32_t index);
  void extent(const fb::Extent &extent);
  void extent(uint32_t buffer, uint64_t offset, uint64_t bytes);

  const fb::Model &model;
  const fb::Device *current = nullptr;
  uint32_t currentId = 0;
  std::string where;
};
} // namespace

void Checker::run() {
  where = "inputs";
  for (const auto *input : items(model.inputs()))
    port(input);
  where = "outputs";
  for (const auto *output : items(model.outputs()))
    port(output);
  for (const auto *k : items(model.kernels())) {
    where = text("kernel '", k->key()->str(), "'");
    kernel(k);
  }
  for (const auto *value : items(model.values())) {
    where = text("value '", value->name()->str(), "'");
    tensorBytes(value->element(), toVector(value->shape()));
  }
  where = "model";
  auto devices = items(model.devices());
  if (devices.size() == 0 || devices.size() > 4096)
    bad(devices.size(), " devices");
  for (currentId = 0; currentId != devices.size(); ++currentId) {
    where = text("device ", currentId);
    current = devices[currentId];
    device(current);
  }
}

int64_t Checker::tensorBytes(fb::ElementType element, const Shape &shape) {
  kind(element, fb::ElementType::MAX);
  if (shape.size() > 12)
    bad("a tensor of rank ", shape.size());
  for (int64_t extent : shape)
    if (extent < 0)
      bad("a negative extent in ", toString(shape));
  return byteCount(element, shape);
}

void Checker::port(const fb::Port *port) {
  tensorBytes(port->element(), toVector(port->shape()));
}

void Checker::kernel(const fb::Kernel *kernel) {
  for (const auto *type : items(kernel->operands()))
    tensorBytes(type->element(), toVector(type->shape()));
  for (const auto *type : items(kernel->results()))
    tensorBytes(type->element(), toVector(type->shape()));
  if (const auto *native = kernel->op_as_Native()) {
    if (native->symbol() >= model.native_kernels())
      bad("native kernel ", native->symbol(), " of ", model.native_kernels());
    return;
  }
  if (items(kernel->operands()).size() == 0 ||
      items(kernel->results()).size() != 1)
    bad("a library kernel without operands or with other than one result");
}

const fb::Buffer *Checker::buffer(uint32_t index) {
  if (!current->buffers() || index >= current->buffers()->size())
    bad("buffer ", index, " of ", items(current->buffers()).size());
  return current->buffers()->Get(index);
}

void Checker::extent(uint32_t index, uint64_t offset, uint64_t bytes) {
  uint64_t size = buffer(index)->bytes();
  if (offset > size || bytes > size - offset)
    bad("bytes ", offset, " + ", bytes, " of buffer ", index, ", which has ",
        size);
}

void Checker::extent(const fb::Extent &e) {
  extent(e.buffer(), e.offset(), e.bytes());
}

void Checker::device(const fb::Device *device) {
  uint32_t index = 0;
  for (const auto *b : items(device->buffers())) {
    kind(b->space(), fb::Space::MAX);
    uint64_t arena =
        b->space() == fb::Space::Activations  ? device->activation_bytes()
        : b->space() == fb::Space::Parameters ? device->parameter_bytes()
                                              : device->scratch_bytes();
    if (b->offset() > arena || b->bytes() > arena - b->offset())
      bad("buffer ", index, " outside of its arena of ", arena, " bytes");
    if (b->offset() % 64)
      bad("buffer ", index, " at offset ", b->offset(), ", no multiple of 64");
    ++index;
  }
  for (const auto *l : items(device->loads()))
    load(l);
  index = 0;
  for (const auto *r : items(device->init()))
    row(r, index++, /*init=*/true);
  index = 0;
  fb::Phase phase = fb::Phase::Feed;
  for (const auto *r : items(device->main())) {
    row(r, index++, /*init=*/false);
    if (r->phase() < phase)
      bad("phases out of order");
    phase = r->phase();
  }
  for (const auto *t : items(device->tiles()))
    tile(t);
}

void Checker::box(const flatbuffers::Vector<const fb::Range *> *ranges,
                  const Shape &shape, Shape &extents) {
  auto box = items(ranges);
  if (box.size() != shape.size())
    bad("a box of rank ", box.size(), " of ", toString(shape));
  for (uint32_t d = 0; d != box.size(); ++d) {
    const fb::Range &range = *box[d];
    if (range.lo() < 0 || range.hi() < range.lo() || range.hi() > shape[d])
      bad("range [", range.lo(), ":", range.hi(), "] of dimension ", d, " of ",
          toString(shape));
    extents.push_back(range.hi() - range.lo());
  }
}

void Checker::tile(const fb::Tile *tile) {
  where = text("device ", currentId, ", tiles");
  if (tile->value() >= items(model.values()).size())
    bad("value ", tile->value(), " of ", items(model.values()).size());
  const fb::Value *value = model.values()->Get(tile->value());
  where =
      text("device ", currentId, ", a tile of '", value->name()->str(), "'");
  Shape extents;
  box(tile->box(), toVector(value->shape()), extents);
  if (!tile->data())
    bad("no memory");
  extent(*tile->data());
  size_t size = elementSize(value->element());
  if (static_cast<int64_t>(tile->data()->bytes()) !=
      byteCount(value->element(), extents))
    bad(tile->data()->bytes(), " bytes for ", toString(extents));
  if (tile->data()->offset() % size)
    bad("an offset of ", tile->data()->offset(), ", no multiple of ", size);
  uint32_t next = 0;
  for (uint32_t part : items(tile->parts())) {
    if (part < next || part >= tile->part_count())
      bad("part ", part, " of ", tile->part_count());
    next = part + 1;
  }
  int64_t rows = items(current->main()).size();
  if (tile->row() < -1 || tile->row() >= rows)
    bad("row ", tile->row(), " of ", rows);
  if (tile->row() == -1 &&
      buffer(tile->data()->buffer())->space() != fb::Space::Parameters)
    bad("memory that nothing keeps after init");
}

void Checker::load(const fb::Load *load) {
  where = text("device ", currentId, ", load '", toString(load->name()), "'");
  Shape shape = toVector(load->shape());
  int64_t all = tensorBytes(load->element(), shape);
  Shape extents;
  box(load->box(), shape, extents);
  extent(load->buffer(), 0,
         static_cast<uint64_t>(byteCount(load->element(), extents)));
  if (load->init_row() < -1 ||
      load->init_row() >= static_cast<int64_t>(items(current->init()).size()))
    bad("init row ", load->init_row(), " of ", items(current->init()).size());
  size_t size = elementSize(load->element());
  if (const auto *splat = load->source_as_Splat()) {
    if (splat->value()->size() != size)
      bad("a splat of ", splat->value()->size(), " bytes");
  } else if (const auto *bytes = load->source_as_Inline()) {
    if (static_cast<int64_t>(bytes->bytes()->size()) != all)
      bad(bytes->bytes()->size(), " inline bytes for ", toString(shape));
  } else if (const auto *random = load->source_as_Random()) {
    kind(random->distribution(), fb::Distribution::MAX);
    if (load->element() != fb::ElementType::F32 &&
        load->element() != fb::ElementType::F64)
      bad("random values of type ", elementName(load->element()));
  } else if (!load->source_as_Stored()) {
    bad("an unknown source");
  } else if (toString(model.weights_file()).empty()) {
    bad("a stored tensor without a weights file");
  }
}

void Checker::row(const fb::Row *row, uint32_t index, bool init) {
  where = text("device ", currentId, ", ", init ? "init " : "", "row ", index,
               " ('", toString(row->name()), "')");
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
  if (communicates && (row->stream() != fb::Stream::Communication ||
                       row->phase() != fb::Phase::Step))
    bad("communication outside of the communication stream or the step");
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
    if (feed->input() >= items(model.inputs()).size())
      bad("input ", feed->input(), " of ", items(model.inputs()).size());
    const auto *p = model.inputs()->Get(feed->input());
    return hostCopies(feed->copies(),
                      byteCount(p->element(), toVector(p->shape())), -1);
  }
  case fb::RowBody::Drain: {
    const auto *drain = row->body_as_Drain();
    if (row->phase() != fb::Phase::Drain)
      bad("a drain outside of its phase");
    if (drain->output() >= items(model.outputs()).size())
      bad("output ", drain->output(), " of ", items(model.outputs()).size());
    const auto *p = model.outputs()->Get(drain->output());
    return hostCopies(drain->copies(), -1,
                      byteCount(p->element(), toVector(p->shape())));
  }
  case fb::RowBody::NONE:
    break;
  }
  bad("an unknown kind of row");
}

void Checker::launch(const fb::Launch *launch) {
  if (launch->kernel() >= items(model.kernels()).size())
    bad("kernel ", launch->kernel(), " of ", items(model.kernels()).size());
  const auto *k = model.kernels()->Get(launch->kernel());
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
  for (uint32_t b : items(launch->scratch()))
    buffer(b);
  for (uint32_t operand : items(launch->constant_operands())) {
    if (operand >= items(launch->operands()).size())
      bad("constant operand ", operand);
    if (buffer(launch->operands()->Get(operand))->space() !=
        fb::Space::Parameters)
      bad("constant operand ", operand, " outside of the parameters");
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

template <typename Copies>
void Checker::hostCopies(const Copies *copies, int64_t from, int64_t to) {
  uint64_t total = 0;
  for (const fb::BoxCopy *copy : items(copies))
    if (__builtin_add_overflow(total, boxCopy(copy, from, to), &total) ||
        total > INT64_MAX)
      bad("copies of 2^63 bytes or more");
}

void Checker::exchange(const fb::Exchange *exchange) {
  auto messages = [&](const flatbuffers::Vector<const fb::Message *> *list) {
    for (const fb::Message *message : items(list)) {
      if (message->peer() >= items(model.devices()).size() ||
          message->peer() == currentId)
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
      group[c->member()] != currentId)
    bad("a collective in which this device is not member ", c->member());
  std::set<uint32_t> distinct(group.begin(), group.end());
  if (distinct.size() != group.size() ||
      *distinct.rbegin() >= items(model.devices()).size())
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

void runtime::checkTable(const fb::Model &model) { Checker(model).run(); }
