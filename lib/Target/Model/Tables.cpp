//===- Tables.cpp - The tables of a compiled model ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tables.h"
#include "TableVocabulary.h"
#include "soap/Conversion/NNToKernels/NativeKernels.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/SOAPRT/Transforms/Passes.h"
#include "soap/Runtime/RandomRecipe.h"
#include "soap/Runtime/Runtime.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace soap;

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

std::optional<fb::ElementType> soap::elementType(Type type) {
  using E = fb::ElementType;
  if (type.isF32())
    return E::F32;
  if (type.isF64())
    return E::F64;
  if (type.isF16())
    return E::F16;
  if (type.isBF16())
    return E::BF16;
  if (type.isFloat8E4M3FN())
    return E::F8E4M3FN;
  if (type.isFloat8E5M2())
    return E::F8E5M2;
  if (type.isFloat8E4M3FNUZ())
    return E::F8E4M3FNUZ;
  if (type.isFloat8E5M2FNUZ())
    return E::F8E5M2FNUZ;
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return std::nullopt;
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 1:
    return E::Bool;
  case 4:
    return isUnsigned ? E::U4 : E::I4;
  case 8:
    return isUnsigned ? E::U8 : E::I8;
  case 16:
    return isUnsigned ? E::U16 : E::I16;
  case 32:
    return isUnsigned ? E::U32 : E::I32;
  case 64:
    return isUnsigned ? E::U64 : E::I64;
  default:
    return std::nullopt;
  }
}

/// Little-endian; an integer of 4 bits is extended by its sign.
static void appendBytes(APInt bits, bool isSigned,
                        std::vector<uint8_t> &bytes) {
  if (bits.getBitWidth() < 8)
    bits = isSigned ? bits.sext(8) : bits.zext(8);
  for (unsigned bit = 0; bit < bits.getBitWidth(); bit += 8)
    bytes.push_back(bits.extractBitsAsZExtValue(8, bit));
}

std::vector<uint8_t> soap::elementBytes(Attribute value) {
  std::vector<uint8_t> bytes;
  if (auto number = dyn_cast<FloatAttr>(value))
    appendBytes(number.getValue().bitcastToAPInt(), /*isSigned=*/false, bytes);
  else if (auto number = dyn_cast<IntegerAttr>(value))
    appendBytes(number.getValue(), !nn::isUnsigned(number.getType()), bytes);
  return bytes;
}

//===----------------------------------------------------------------------===//
// Buffers and loads
//===----------------------------------------------------------------------===//

FailureOr<uint32_t> DeviceTable::bufferOf(Value value) {
  soaprt::Storage storage = soaprt::getStorage(value);
  auto type = cast<soaprt::BufferType>(value.getType());
  if (storage.byteOffset == 0 &&
      storage.buffer.getType().getBytes() == type.getBytes())
    return buffers_.lookup(storage.buffer);
  if (int64_t alignment = op_.getBufferAlignment();
      storage.byteOffset % alignment != 0)
    return value.getDefiningOp()->emitOpError(
               "expected a view that a kernel reads to start at a multiple of ")
           << alignment << " bytes, got: " << storage.byteOffset
           << "; copy it instead";
  auto [it, isNew] = views_.try_emplace(value, device_->buffers.size());
  if (isNew)
    device_->buffers.emplace_back(
        toTable(type.getSpace()),
        *storage.buffer.getOffset() + storage.byteOffset, type.getBytes());
  return it->second;
}

fb::Extent DeviceTable::extentOf(Value value) {
  soaprt::Storage storage = soaprt::getStorage(value);
  return fb::Extent(buffers_.lookup(storage.buffer), storage.byteOffset,
                    cast<soaprt::BufferType>(value.getType()).getBytes());
}

/// The init row before which a load runs: what is an activation has its place
/// only from the first row that reads it.
static int32_t initRow(soaprt::LoadOp load) {
  soaprt::BufferOp buffer = soaprt::getStorage(load.getTarget()).buffer;
  if (buffer.getType().getSpace() != Space::Activations)
    return -1;
  auto device = load->getParentOfType<soaprt::DeviceOp>();
  int32_t index = 0;
  for (auto row :
       device.getInit().getBlock().getOps<soaprt::RowOpInterface>()) {
    if (llvm::any_of(row.getReads(), [&](Value read) {
          return soaprt::getStorage(read).buffer == buffer;
        }))
      return index;
    ++index;
  }
  return -1;
}

LogicalResult DeviceTable::buildLoad(soaprt::LoadOp op, fb::DeviceT &table) {
  auto load = std::make_unique<fb::LoadT>();
  auto type = cast<RankedTensorType>(op.getType());
  std::optional<fb::ElementType> element = elementType(type.getElementType());
  if (!element)
    return op.emitOpError("expected elements that the runtime knows, got: ")
           << type.getElementType();
  load->name = op.getNode().str();
  load->buffer = buffers_.lookup(soaprt::getStorage(op.getTarget()).buffer);
  load->init_row = initRow(op);
  load->element = *element;
  load->shape = type.getShape();
  for (auto [lo, size] :
       llvm::zip_equal(op.getLo(), op.getTarget().getType().getShape()))
    load->box.emplace_back(lo, lo + size);
  LogicalResult result =
      TypeSwitch<Attribute, LogicalResult>(op.getSource())
          .Case([&](nn::FileAttr file) {
            fb::StoredT stored;
            stored.tensor = weights_.add(op.getNode(), type, file.getPath(),
                                         file.getOffset(), file.getLength());
            load->source.Set(std::move(stored));
            return success();
          })
          .Case([&](nn::SplatAttr splat) {
            fb::SplatT table;
            table.value = elementBytes(splat.getValue());
            load->source.Set(std::move(table));
            return success();
          })
          .Case([&](nn::RandomAttr random) {
            fb::RandomT table;
            table.seed = random.getSeed();
            table.name_hash = recipe::hashName(random.getName().data(),
                                               random.getName().size());
            table.distribution =
                random.getDistribution() == nn::Distribution::Normal
                    ? fb::Distribution::Normal
                    : fb::Distribution::Uniform;
            table.a = random.getA().convertToDouble();
            table.b = random.getB().convertToDouble();
            load->source.Set(table);
            return success();
          })
          .Case([&](DenseElementsAttr elements) {
            if (elements.isSplat() && elements.getNumElements() > 1) {
              fb::SplatT table;
              table.value = elementBytes(elements.getSplatValue<Attribute>());
              load->source.Set(std::move(table));
              return success();
            }
            fb::InlineT table;
            if (isa<FloatType>(type.getElementType()))
              for (const APFloat &value : elements.getValues<APFloat>())
                appendBytes(value.bitcastToAPInt(), /*isSigned=*/false,
                            table.bytes);
            else
              for (const APInt &value : elements.getValues<APInt>())
                appendBytes(value, !nn::isUnsigned(type.getElementType()),
                            table.bytes);
            load->source.Set(std::move(table));
            return success();
          })
          .Default([&](Attribute other) {
            return op.emitOpError("expected a file, a splat, a recipe or "
                                  "elements, got: ")
                   << other;
          });
  table.loads.push_back(std::move(load));
  return result;
}

uint64_t soap::communicationBytes(soaprt::DeviceOp device) {
  auto bytes = device->getAttrOfType<IntegerAttr>(communicationBytesAttrName());
  return bytes ? static_cast<uint64_t>(bytes.getInt()) : 0;
}

LogicalResult DeviceTable::build(fb::DeviceT &table) {
  device_ = &table;
  if (failed(soaprt::checkMemoryPlan(op_)))
    return failure();
  table.activation_bytes = *op_.getActivationBytes();
  table.parameter_bytes = *op_.getParameterBytes();
  table.scratchpad_bytes = op_.getScratchpadBytes().value_or(0);
  table.reordered_bytes = op_.getReorderedBytes().value_or(0);
  table.peak_bytes = op_.getPeakBytes().value_or(0);
  table.communication_bytes = communicationBytes(op_);
  for (auto buffer : op_.getBlock().getOps<soaprt::BufferOp>()) {
    buffers_[buffer] = table.buffers.size();
    table.buffers.emplace_back(toTable(buffer.getType().getSpace()),
                               *buffer.getOffset(),
                               buffer.getType().getBytes());
  }
  for (auto load : op_.getBlock().getOps<soaprt::LoadOp>())
    if (failed(buildLoad(load, table)))
      return failure();
  if (failed(buildProgram(op_.getInit().getBlock(), table.init)))
    return failure();
  for (soaprt::MainOp main : op_.getMains()) {
    table.programs.push_back(std::make_unique<fb::DeviceProgramT>());
    if (failed(buildProgram(main.getBlock(), table.programs.back()->rows)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

template <typename OpT>
static LogicalResult buildPort(OpT op, ModelIndex &index,
                               std::vector<std::unique_ptr<fb::PortT>> &ports) {
  auto type = cast<RankedTensorType>(op.getType());
  std::optional<fb::ElementType> element = elementType(type.getElementType());
  if (!element)
    return op.emitOpError("expected elements that the runtime knows, got: ")
           << type.getElementType();
  auto port = std::make_unique<fb::PortT>();
  port->name = op.getPortName().str();
  port->element = *element;
  port->shape = type.getShape();
  if constexpr (std::is_same_v<OpT, soaprt::InputOp>)
    port->index_bound = op.getIndexBound().value_or(0);
  index.ports[op] = ports.size();
  ports.push_back(std::move(port));
  return success();
}

/// The programs are those of the first device.
static LogicalResult buildPrograms(ModuleOp module, const ModelOptions &options,
                                   ModelIndex &index, fb::ModelT &model) {
  auto devices = module.getOps<soaprt::DeviceOp>();
  if (devices.empty())
    return module.emitError("expected a soaprt.device, got: none");
  for (soaprt::MainOp main : (*devices.begin()).getMains()) {
    auto program = std::make_unique<fb::ProgramT>();
    program->name = main.getProgram().str();
    size_t number = model.programs.size();
    if (number < options.simulatedNs.size())
      program->simulated_ns = options.simulatedNs[number];
    if (number == 0)
      for (const fb::SimulatedTaskT &task : options.simulated)
        program->simulated.push_back(
            std::make_unique<fb::SimulatedTaskT>(task));
    for (auto op : module.getOps<soaprt::InputOp>())
      if (op.getProgram() == main.getProgram() &&
          failed(buildPort(op, index, program->inputs)))
        return failure();
    for (auto op : module.getOps<soaprt::OutputOp>())
      if (op.getProgram() == main.getProgram() &&
          failed(buildPort(op, index, program->outputs)))
        return failure();
    model.programs.push_back(std::move(program));
  }
  return success();
}

static LogicalResult buildDevice(soaprt::DeviceOp op,
                                 const ModelOptions &options, ModelIndex &index,
                                 WeightsFile &weights, fb::ModelT &model) {
  auto mains = op.getMains();
  bool same = mains.size() == model.programs.size();
  for (auto [main, program] : llvm::zip(mains, model.programs))
    same &= main.getProgram() == program->name;
  if (!same)
    return op.emitOpError("expected the programs of the first device");
  fb::DeviceT &device = *model.devices.back();
  DeviceTable table(op, index, weights);
  if (failed(table.build(device)))
    return failure();
  for (auto [main, part, program] :
       llvm::zip(mains, device.programs, model.programs))
    if (options.tiles && failed(table.buildTiles(main, *part, *program)))
      return failure();
  return success();
}

/// What the target says about a kernel's code on the device.
static void addLaunches(const DeviceKernel &kernel, fb::NativeKernelT &table) {
  table.scratch_bytes = kernel.scratchBytes;
  table.workspace_bytes = kernel.workspaceBytes;
  for (const DeviceProduct &product : kernel.products) {
    auto row = std::make_unique<fb::DeviceProductT>();
    auto matrix = [](const ProductMatrix &m) {
      return std::make_unique<fb::ProductMatrix>(m.buffer, m.apart, m.row,
                                                 m.column);
    };
    row->batch = product.batch;
    row->rows = product.rows;
    row->columns = product.columns;
    row->depth = product.depth;
    row->a = matrix(product.a);
    row->b = matrix(product.b);
    row->c = matrix(product.c);
    row->adds = product.adds;
    row->tf32 = product.tf32;
    table.products.push_back(std::move(row));
  }
  for (const DeviceLaunch &launch : kernel.launches) {
    auto row = std::make_unique<fb::DeviceLaunchT>();
    row->product = launch.product;
    row->entry = launch.entry;
    row->threads = launch.threads;
    row->blocks = launch.blocks;
    row->items_per_block = launch.itemsPerBlock;
    row->constants = launch.constants;
    table.launches.push_back(std::move(row));
  }
}

/// Describes the native kernels up to the last one that is launched.
static LogicalResult buildNatives(ModuleOp module, const KernelCode &code,
                                  fb::ModelT &model) {
  uint32_t count = 0;
  for (auto op : module.getOps<soaprt::KernelOp>())
    if (op.getNative())
      count = std::max(count, op.getIndex() + 1);
  if (count == 0)
    return success();
  NativeKernels natives(module);
  if (count > natives.size())
    return module.emitError("expected ")
           << count << " native kernels in the module, got: " << natives.size();
  auto kernels = nativeKernelExtents(natives.getModule());
  if (failed(kernels))
    return failure();
  if (!code.deviceText.empty()) {
    model.device_code = std::make_unique<fb::DeviceCodeT>();
    model.device_code->text = code.deviceText;
    model.device_code->architecture = code.architecture;
  }
  for (auto [index, kernel] : llvm::enumerate(
           ArrayRef<NativeKernelExtents>(*kernels).take_front(count))) {
    auto table = std::make_unique<fb::NativeKernelT>();
    for (const NativeKernelExtents::Buffer &buffer : kernel.buffers) {
      table->bytes.push_back(buffer.bytes);
      table->extents.push_back(buffer.extents);
    }
    table->size_count = kernel.sizeCount;
    if (!code.kernels.empty())
      addLaunches(code.kernels[index], *table);
    model.natives.push_back(std::move(table));
  }
  return success();
}

void soap::setWeightsDigest(std::string &table,
                            const fb::WeightsDigest &digest) {
  auto *model = flatbuffers::GetMutableRoot<fb::Model>(table.data());
  if (const fb::WeightsDigest *place = model->weights_digest())
    *const_cast<fb::WeightsDigest *>(place) = digest;
}

FailureOr<std::string> soap::emitTables(ModuleOp module,
                                        const ModelOptions &options,
                                        WeightsFile &weights,
                                        StringRef weightsName,
                                        const KernelCode &code) {
  fb::ModelT model;
  model.abi = SOAP_ABI_VERSION;
  model.compiler = "soap-compile " SOAP_VERSION;
  model.name = options.name;
  model.fingerprint = options.fingerprint;
  model.target = options.target->getName().str();
  model.cores_per_device = options.coresPerDevice;
  model.machine_devices = options.machineDevices;
  model.strategy = options.strategy;
  model.training = options.training;

  ModelIndex index(module);
  if (failed(buildPrograms(module, options, index, model)))
    return failure();
  for (auto op : module.getOps<soaprt::KernelOp>()) {
    auto kernel = kernelTable(op, *options.target);
    if (failed(kernel))
      return failure();
    if (fb::ConvT *conv = (*kernel)->op.AsConv())
      conv->winograd = options.winograd;
    if (fb::ConvBackwardT *back = (*kernel)->op.AsConvBackward())
      back->winograd = options.winograd;
    index.kernels[op] = model.kernels.size();
    model.kernels.push_back(std::move(*kernel));
  }
  if (failed(buildNatives(module, code, model)))
    return failure();
  if (!model.natives.empty())
    if (llvm::Error error = options.target->addRequirements(model))
      return module.emitError(llvm::toString(std::move(error)));
  for (auto op : module.getOps<soaprt::DeviceOp>()) {
    if (static_cast<size_t>(op.getId()) != model.devices.size())
      return op.emitOpError("expected devices in the order of their ids");
    model.devices.push_back(std::make_unique<fb::DeviceT>());
    if (failed(buildDevice(op, options, index, weights, model)))
      return failure();
  }
  if (!weights.empty()) {
    model.weights_file = weightsName.str();
    model.weights_digest = std::make_unique<fb::WeightsDigest>();
  }

  flatbuffers::FlatBufferBuilder builder(1 << 20);
  fb::FinishModelBuffer(builder, fb::Model::Pack(builder, &model));
  return std::string(reinterpret_cast<const char *>(builder.GetBufferPointer()),
                     builder.GetSize());
}
