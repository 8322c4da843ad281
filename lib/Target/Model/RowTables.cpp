//===- RowTables.cpp - Rows of a compiled model ---------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TableVocabulary.h"
#include "Tables.h"
#include "soap/Testing/PlantedFault.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace soap;

static soaprt::BufferType typeOf(Value buffer) {
  return cast<soaprt::BufferType>(buffer.getType());
}

/// Byte strides of a port, which is row-major.
static SmallVector<int64_t> stridesOf(RankedTensorType port) {
  return soaprt::BufferType::get(port.getContext(), port.getShape(),
                                 port.getElementType(), Space::Activations)
      .getByteStrides();
}

std::unique_ptr<fb::BoxCopyT> DeviceTable::boxCopy(soaprt::BoxCopyAttr box,
                                                   Value from, Value to,
                                                   RankedTensorType portType) {
  auto copy = std::make_unique<fb::BoxCopyT>();
  int64_t bytes = typeOf(from ? from : to).getElementBytes();
  ArrayRef<int64_t> sizes = box.getSizes();
  auto strides = [&](Value value) {
    if (!value)
      return stridesOf(portType);
    soaprt::BufferType type = typeOf(value);
    if (SOAP_FAULT("copy-by-rows"))
      type = type.withOrder(soaprt::ElementOrder::RowMajor);
    return type.getByteStrides();
  };
  SmallVector<int64_t> fromStrides = strides(from), toStrides = strides(to);
  int64_t fromOffset = 0, toOffset = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    fromOffset += box.getFrom()[d] * fromStrides[d];
    toOffset += box.getTo()[d] * toStrides[d];
    fromStrides[d] *= box.getSteps()[d];
  }
  if (from) {
    fb::Extent extent = extentOf(from);
    copy->from = extent.buffer();
    fromOffset += extent.offset();
  }
  if (to) {
    fb::Extent extent = extentOf(to);
    copy->to = extent.buffer();
    toOffset += extent.offset();
  }
  copy->from_offset = fromOffset;
  copy->to_offset = toOffset;
  // Dims that are contiguous on both sides grow the run; dims of size 1 go.
  // Those that lie next to each other in the target are innermost.
  auto order = llvm::to_vector(llvm::seq<size_t>(0, sizes.size()));
  llvm::stable_sort(
      order, [&](size_t a, size_t b) { return toStrides[a] > toStrides[b]; });
  int64_t run = bytes;
  while (!order.empty()) {
    size_t d = order.back();
    if (sizes[d] != 1 && (fromStrides[d] != run || toStrides[d] != run))
      break;
    run *= sizes[d];
    order.pop_back();
  }
  copy->run = run;
  for (size_t outer : order) {
    if (sizes[outer] == 1)
      continue;
    copy->extents.push_back(sizes[outer]);
    copy->from_strides.push_back(fromStrides[outer]);
    copy->to_strides.push_back(toStrides[outer]);
  }
  return copy;
}

static auto boxesOf(ArrayAttr copies) {
  return copies.getAsRange<soaprt::BoxCopyAttr>();
}

static LogicalResult fail(Operation *op, const Twine &message) {
  return op->emitOpError(message);
}

LogicalResult DeviceTable::buffersOf(ValueRange values,
                                     std::vector<uint32_t> &list) {
  for (Value value : values) {
    FailureOr<uint32_t> buffer = bufferOf(value);
    if (failed(buffer))
      return failure();
    list.push_back(*buffer);
  }
  return success();
}

LogicalResult DeviceTable::build(soaprt::LaunchOp op, fb::RowT &table) {
  fb::LaunchT launch;
  auto kernel = index_.symbols.lookup<soaprt::KernelOp>(op.getKernel());
  assert(index_.kernels.contains(kernel) && "kernels come before rows");
  launch.kernel = index_.kernels.lookup(kernel);
  launch.sizes = kernel.getSizes();
  if (failed(buffersOf(op.getInputs(), launch.operands)) ||
      failed(buffersOf(op.getOutputs(), launch.results)))
    return failure();
  launch.constant_operands.assign(op.getConstants().begin(),
                                  op.getConstants().end());
  table.body.Set(std::move(launch));
  return success();
}

LogicalResult DeviceTable::build(soaprt::CopyOp op, fb::RowT &table) {
  fb::CopyT copy;
  if (Attribute fill = op.getFillAttr()) {
    llvm::SmallPtrSet<void *, 4> filled;
    for (Value target : op.getTargets()) {
      if (!filled.insert(target.getAsOpaquePointer()).second)
        continue;
      auto entry = std::make_unique<fb::FillT>();
      fb::Extent extent = extentOf(target);
      entry->buffer = extent.buffer();
      entry->offset = extent.offset();
      entry->bytes = extent.bytes();
      entry->pattern = elementBytes(fill);
      if (entry->pattern.empty())
        return fail(op, "expected a number to fill with");
      copy.fills.push_back(std::move(entry));
    }
  }
  // With a fill, there may be more targets than boxes.
  for (auto [box, source, target] : llvm::zip_first(
           boxesOf(op.getCopies()), op.getSources(), op.getTargets()))
    copy.copies.push_back(boxCopy(box, source, target));
  table.body.Set(std::move(copy));
  return success();
}

LogicalResult DeviceTable::build(soaprt::ExchangeOp op, fb::RowT &table) {
  fb::ExchangeT exchange;
  uint32_t tag = op.getTag();
  for (auto [value, peer] :
       llvm::zip_equal(op.getSends(), op.getDestinations()))
    exchange.sends.emplace_back(peer, tag, extentOf(value));
  for (auto [value, peer] : llvm::zip_equal(op.getReceives(), op.getOrigins()))
    exchange.receives.emplace_back(peer, tag, extentOf(value));
  table.body.Set(std::move(exchange));
  return success();
}

LogicalResult DeviceTable::build(soaprt::CollectiveOp op, fb::RowT &table) {
  fb::CollectiveT collective;
  collective.kind = toTable(op.getKind());
  collective.group.assign(op.getGroup().begin(), op.getGroup().end());
  collective.member = op.getMember();
  collective.tag = op.getTag();
  collective.combine = toTable(op.getCombine().value_or(Combine::None));
  collective.algorithm = toTable(op.getAlgorithm());
  for (Value value : op.getSends())
    collective.send.push_back(extentOf(value));
  for (Value value : op.getReceives())
    collective.receive.push_back(extentOf(value));
  Value any =
      op.getSends().empty() ? op.getReceives().front() : op.getSends().front();
  std::optional<fb::ElementType> element =
      elementType(typeOf(any).getElementType());
  if (!element)
    return fail(op, "expected elements that the runtime knows");
  collective.element = *element;
  table.body.Set(std::move(collective));
  return success();
}

LogicalResult DeviceTable::build(soaprt::FeedOp op, fb::RowT &table) {
  fb::FeedT feed;
  auto port = index_.symbols.lookup<soaprt::InputOp>(op.getInput());
  assert(index_.ports.contains(port) && "inputs come before rows");
  feed.input = index_.ports.lookup(port);
  auto type = cast<RankedTensorType>(port.getType());
  for (auto [box, target] :
       llvm::zip_equal(boxesOf(op.getCopies()), op.getTargets()))
    feed.copies.push_back(boxCopy(box, {}, target, type));
  table.phase = toTable(Phase::Feed);
  table.body.Set(std::move(feed));
  return success();
}

LogicalResult DeviceTable::build(soaprt::DrainOp op, fb::RowT &table) {
  fb::DrainT drain;
  auto port = index_.symbols.lookup<soaprt::OutputOp>(op.getOutput());
  assert(index_.ports.contains(port) && "outputs come before rows");
  drain.output = index_.ports.lookup(port);
  auto type = cast<RankedTensorType>(port.getType());
  for (auto [box, source] :
       llvm::zip_equal(boxesOf(op.getCopies()), op.getSources()))
    drain.copies.push_back(boxCopy(box, source, {}, type));
  table.phase = toTable(Phase::Drain);
  table.body.Set(std::move(drain));
  return success();
}

LogicalResult DeviceTable::buildBody(Operation *row, fb::RowT &table) {
  return TypeSwitch<Operation *, LogicalResult>(row)
      .Case<soaprt::LaunchOp, soaprt::CopyOp, soaprt::ExchangeOp,
            soaprt::CollectiveOp, soaprt::FeedOp, soaprt::DrainOp>(
          [&](auto op) { return build(op, table); })
      .Default([](Operation *other) {
        return fail(other, "expected a row of a program");
      });
}

LogicalResult
DeviceTable::buildProgram(Block &program,
                          std::vector<std::unique_ptr<fb::RowT>> &rows) {
  DenseMap<Operation *, uint32_t> positions;
  for (auto row : program.getOps<soaprt::RowOpInterface>()) {
    auto table = std::make_unique<fb::RowT>();
    table->stream = toTable(row.getStream().value_or(Stream::Compute));
    for (Value token : row.getWaits())
      table->waits.push_back(positions.lookup(token.getDefiningOp()));
    table->name = row.getNode().str();
    table->node = index_.nodes.try_emplace(row.getNode(), index_.nodes.size())
                      .first->second;
    table->task = row.getTask();
    if (failed(buildBody(row, *table)))
      return failure();
    positions[row] = rows.size();
    rows.push_back(std::move(table));
  }
  return success();
}
