//===- Check.cpp - Checks a model's table before anything uses it ---------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model/Check.h"
#include "Backend/Backend.h"
#include "Model/Checker.h"
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
  const auto &installed = installedTargets();
  if (std::find(installed.begin(), installed.end(), target) ==
          installed.end() &&
      !hasBackend(target))
    invalid("expected a model for target ", installed[0], ", got: '", target,
            "'; compile the model with --target=", installed[0]);
  std::set<std::string> features;
  std::string missing;
  for (const auto *feature : items(model->host_features())) {
    if (features.empty())
      features = hostFeatures();
    if (!features.count(feature->str()))
      missing += (missing.empty() ? "" : ", ") + feature->str();
  }
  if (!missing.empty())
    invalid("expected a processor with ", missing,
            ", got: this machine, which lacks it; compile the model here or "
            "with --mcpu=x86-64-v3");
  return model;
}

//===----------------------------------------------------------------------===//
// Kernels, memory, loads and tiles
//===----------------------------------------------------------------------===//

void Checker::run() {
  programs();
  for (const auto *k : items(model_.kernels())) {
    where_ = text("kernel '", k->key()->str(), "'");
    kernel(k);
  }
  uint32_t index = 0;
  for (const auto *native : items(model_.natives())) {
    where_ = text("native kernel ", index++);
    if (items(native->bytes()).size() != items(native->extents()).size())
      bad(items(native->bytes()).size(), " buffers and ",
          items(native->extents()).size(), " lists of extents");
    for (uint64_t extents : items(native->extents()))
      if (native->size_count() < 64 && extents >> native->size_count())
        bad("an extent beyond its ", native->size_count(), " sizes");
    deviceLaunches(native);
  }
  where_ = "model";
  if (!toString(model_.weights_file()).empty() && !model_.weights_digest())
    bad("a weights file without a digest");
  auto devices = items(model_.devices());
  if (devices.size() == 0 || devices.size() > 4096)
    bad(devices.size(), " devices");
  for (currentId_ = 0; currentId_ != devices.size(); ++currentId_) {
    where_ = text("device ", currentId_);
    current_ = devices[currentId_];
    device(current_);
  }
  copiesOfState();
  drains();
}

void Checker::deviceLaunches(const fb::NativeKernel *native) {
  constexpr uint32_t mostThreads = 1024;
  constexpr uint64_t mostScratch = uint64_t{1} << 48;
  if (!model_.device_code() &&
      (items(native->launches()).size() != 0 || native->scratch_bytes() != 0))
    bad("launches without device code");
  if (native->scratch_bytes() > mostScratch)
    bad(native->scratch_bytes(), " bytes of scratch memory");
  if (native->workspace_bytes() > mostScratch)
    bad(native->workspace_bytes(), " bytes of scratch memory for the library");
  for (const fb::DeviceLaunch *launch : items(native->launches())) {
    if (launch->product() != -1) {
      deviceProduct(native, launch);
      continue;
    }
    if (!launch->entry() || launch->entry()->size() == 0)
      bad("a launch without an entry");
    name(launch->entry());
    if (launch->threads() == 0 || launch->threads() > mostThreads)
      bad(launch->threads(), " threads per block");
    if (launch->blocks() == 0 && launch->items_per_block() == 0)
      bad("a launch without blocks");
  }
}

/// The matrices lie in their buffers.
void Checker::deviceProduct(const fb::NativeKernel *native,
                            const fb::DeviceLaunch *launch) {
  auto products = items(native->products());
  auto index = static_cast<uint32_t>(launch->product());
  if (index >= products.size())
    bad("a launch of product ", launch->product(), " of ", products.size());
  if (items(launch->constants()).size() != 3)
    bad(items(launch->constants()).size(), " places of three matrices");
  const fb::DeviceProduct &product = *products[index];
  constexpr int64_t mostBatch = INT32_MAX;
  if (product.batch() < 1 || product.batch() > mostBatch ||
      product.rows() < 1 || product.columns() < 1 || product.depth() < 1)
    bad("a product of ", product.batch(), " x ", product.rows(), " x ",
        product.columns(), " x ", product.depth());
  auto check = [&](const fb::ProductMatrix &matrix, int64_t rows,
                   int64_t columns, int64_t offset) {
    bool isTransposed = matrix.column() != 1;
    int64_t leading = isTransposed ? matrix.column() : matrix.row();
    if ((isTransposed && matrix.row() != 1) || matrix.apart() < 0 ||
        leading < (isTransposed ? rows : columns))
      bad("a matrix of ", rows, " x ", columns, " with strides ", matrix.row(),
          " and ", matrix.column());
    auto buffers = items(native->bytes());
    uint64_t room = native->scratch_bytes();
    if (matrix.buffer() < buffers.size())
      room = items(native->extents())[matrix.buffer()] == 0
                 ? buffers[matrix.buffer()]
                 : 0;
    else if (matrix.buffer() != buffers.size())
      bad("a matrix in buffer ", matrix.buffer(), " of ", buffers.size());
    constexpr int64_t element = sizeof(float);
    int64_t last = 0, step;
    bool isLarge = false;
    for (auto [count, stride] :
         {std::pair(product.batch(), matrix.apart()),
          std::pair(rows, matrix.row()), std::pair(columns, matrix.column())})
      isLarge |= __builtin_mul_overflow(count - 1, stride, &step) ||
                 __builtin_add_overflow(last, step, &last);
    isLarge |= __builtin_add_overflow(last, 1, &last) ||
               __builtin_mul_overflow(last, element, &last) ||
               __builtin_add_overflow(last, offset, &last);
    if (isLarge || offset < 0 || offset % element != 0 ||
        static_cast<uint64_t>(last) > room)
      bad("a matrix that ends beyond the ", room, " bytes of its buffer");
  };
  check(*product.a(), product.rows(), product.depth(),
        launch->constants()->Get(0));
  check(*product.b(), product.depth(), product.columns(),
        launch->constants()->Get(1));
  check(*product.c(), product.rows(), product.columns(),
        launch->constants()->Get(2));
  if (product.c()->column() != 1)
    bad("a product whose columns do not lie side by side");
}

void Checker::programs() {
  where_ = "programs";
  auto all = items(model_.programs());
  constexpr uint32_t mostPrograms = 64;
  if (all.size() == 0 || all.size() > mostPrograms)
    bad(all.size(), " programs");
  std::set<std::string> names;
  for (const fb::Program *program : all) {
    name(program->name());
    std::string called = program->name()->str();
    if (called.empty() || !names.insert(called).second)
      bad("a program called '", called, "', a name that is empty or taken");
    where_ = text("inputs of '", called, "'");
    for (const auto *input : items(program->inputs()))
      port(input);
    where_ = text("outputs of '", called, "'");
    for (const auto *output : items(program->outputs()))
      port(output);
    for (const auto *value : items(program->values())) {
      where_ = text("value '", value->name()->str(), "'");
      name(value->name());
      tensorBytes(value->element(), toVector(value->shape()));
    }
    drained_.emplace_back(items(program->outputs()).size(), 0);
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

void Checker::name(const flatbuffers::String *name) {
  if (toString(name).find('\0') != std::string::npos)
    bad("a name with a NUL");
}

void Checker::port(const fb::Port *port) {
  name(port->name());
  tensorBytes(port->element(), toVector(port->shape()));
}

template <typename Op>
void Checker::windows(const Op *op, const Shape &x, const Shape &y,
                      const Shape &window) {
  Shape strides = toVector(op->strides()),
        dilations = toVector(op->dilations());
  Shape lo = toVector(op->pads_lo()), hi = toVector(op->pads_hi());
  size_t spatial = window.size();
  if (x.size() != spatial + 2 || y.size() != spatial + 2)
    bad("windows of ", spatial, " dimensions from ", toString(x), " to ",
        toString(y));
  for (const Shape *list : {&strides, &dilations, &lo, &hi})
    if (list->size() != spatial)
      bad("windows of ", spatial, " dimensions with lists of ", list->size());
  for (size_t d = 0; d != spatial; ++d) {
    for (int64_t number : {x[d + 2], y[d + 2], window[d], strides[d],
                           dilations[d], lo[d], hi[d]})
      if (number < -INT32_MAX || number > INT32_MAX)
        bad("a window with ", number);
    int64_t span = (window[d] - 1) * dilations[d] + 1;
    int64_t room = x[d + 2] + lo[d] + hi[d] - span;
    if (window[d] < 1 || strides[d] < 1 || dilations[d] < 1 || lo[d] < 0 ||
        hi[d] <= -strides[d] || room < 0 || room / strides[d] + 1 != y[d + 2])
      bad("windows of dimension ", d, " that do not lead from ", toString(x),
          " to ", toString(y));
  }
}

void Checker::order(fb::ElementOrder order, size_t rank) {
  kind(order, fb::ElementOrder::MAX);
  if (order == fb::ElementOrder::ChannelsLast && (rank < 3 || rank > 5))
    bad("channels last of ", rank, " dimensions");
}

void Checker::kernel(const fb::Kernel *kernel) {
  for (const auto *list : {kernel->operands(), kernel->results()})
    for (const auto *type : items(list)) {
      tensorBytes(type->element(), toVector(type->shape()));
      order(type->order(), items(type->shape()).size());
    }
  if (const auto *native = kernel->op_as_Native()) {
    uint32_t count = items(model_.natives()).size();
    if (native->symbol() >= count)
      bad("native kernel ", native->symbol(), " of ", count);
    if (items(kernel->followers()).size() != 0)
      bad("followers of native code");
    return;
  }
  if (items(kernel->operands()).size() == 0 ||
      items(kernel->results()).size() != 1)
    bad("a library kernel without operands or with other than one result");
  followers(kernel);
  Shape first = toVector(kernel->operands()->Get(0)->shape());
  Shape result = toVector(kernel->results()->Get(0)->shape()), second;
  if (kernel->operands()->size() > 1)
    second = toVector(kernel->operands()->Get(1)->shape());
  auto kernelOf = [&](const Shape &weights) {
    if (weights.size() < 3)
      bad("a convolution without weights");
    return Shape(weights.begin() + 2, weights.end());
  };
  if (const auto *conv = kernel->op_as_Conv())
    windows(conv, first, result, kernelOf(second));
  else if (const auto *pool = kernel->op_as_Pool())
    windows(pool, first, result, toVector(pool->kernel()));
  else if (const auto *back = kernel->op_as_ConvBackward())
    back->of_filter() ? windows(back, first, second, kernelOf(result))
                      : windows(back, result, first, kernelOf(second));
}

const fb::Buffer *Checker::buffer(uint32_t index) {
  if (!current_->buffers() || index >= current_->buffers()->size())
    bad("buffer ", index, " of ", items(current_->buffers()).size());
  return current_->buffers()->Get(index);
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
    uint64_t arena = b->space() == fb::Space::Activations
                         ? device->activation_bytes()
                         : device->parameter_bytes();
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
  auto all = items(device->programs());
  if (all.size() != items(model_.programs()).size())
    bad(all.size(), " programs of ", items(model_.programs()).size());
  for (programId_ = 0; programId_ != all.size(); ++programId_) {
    program_ = model_.programs()->Get(programId_);
    rows(all[programId_]);
  }
  constants(device);
  for (programId_ = 0; programId_ != all.size(); ++programId_) {
    program_ = model_.programs()->Get(programId_);
    for (const auto *t : items(all[programId_]->tiles()))
      tile(t);
  }
}

void Checker::rows(const fb::DeviceProgram *program) {
  uint32_t index = 0;
  fb::Phase phase = fb::Phase::Feed;
  for (const auto *r : items(program->rows())) {
    row(r, index++, /*init=*/false);
    if (r->phase() < phase)
      bad("phases out of order");
    phase = r->phase();
  }
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
  where_ = text("device ", currentId_, ", tiles");
  if (tile->value() >= items(program_->values()).size())
    bad("value ", tile->value(), " of ", items(program_->values()).size());
  const fb::Value *value = program_->values()->Get(tile->value());
  where_ =
      text("device ", currentId_, ", a tile of '", value->name()->str(), "'");
  Shape extents;
  box(tile->box(), toVector(value->shape()), extents);
  order(tile->order(), extents.size());
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
  int64_t rows = rowsOf(*current_, programId_).size();
  if (tile->row() < -1 || tile->row() >= rows)
    bad("row ", tile->row(), " of ", rows);
  if (tile->row() == -1 &&
      buffer(tile->data()->buffer())->space() != fb::Space::Parameters)
    bad("memory that nothing keeps after init");
}

void Checker::load(const fb::Load *load) {
  where_ = text("device ", currentId_, ", load '", toString(load->name()), "'");
  Shape shape = toVector(load->shape());
  int64_t all = tensorBytes(load->element(), shape);
  Shape extents;
  box(load->box(), shape, extents);
  extent(load->buffer(), 0,
         static_cast<uint64_t>(byteCount(load->element(), extents)));
  if (load->init_row() < -1 ||
      load->init_row() >= static_cast<int64_t>(items(current_->init()).size()))
    bad("init row ", load->init_row(), " of ", items(current_->init()).size());
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
  } else if (toString(model_.weights_file()).empty()) {
    bad("a stored tensor without a weights file");
  }
}

void runtime::checkTable(const fb::Model &model) { Checker(model).run(); }
