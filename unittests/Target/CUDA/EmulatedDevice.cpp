//===- EmulatedDevice.cpp - Device code on the host -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatedDevice.h"
#include "soap/Target/CUDA/EmitPTX.h"
#include "llvm/ADT/bit.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/TargetSelect.h"
#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <ucontext.h>

using namespace llvm;
using namespace soap;
using namespace soap::test;

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

namespace {
/// One block: its threads, and which of them runs.
class EmulatedBlock {
public:
  EmulatedBlock(uint32_t threads, std::mt19937_64 &engine)
      : engine_(engine), fibers_(threads) {
    while (stacks_.size() < threads)
      stacks_.emplace_back(new char[stackBytes]);
  }

  /// False: some threads wait at a barrier that others never reach.
  bool run(void (*entry)(const uint64_t *), const uint64_t *parameters,
           uint32_t block, uint32_t blocks);

  void meet() { wait(State::AtBarrier); }

  /// What the thread has whose number differs in the bits of `by`; all threads
  /// of a warp exchange values at a time.
  uint32_t shuffle(uint32_t value, uint32_t by) {
    Fiber &fiber = fibers_[current_];
    fiber.given = value;
    fiber.from = current_ ^ by;
    wait(State::AtShuffle);
    return fiber.taken;
  }

  uint32_t current() const { return current_; }
  uint32_t block() const { return block_; }
  uint32_t blocks() const { return blocks_; }

private:
  static constexpr size_t stackBytes = 128 << 10, warpThreads = 32;
  enum class State : uint8_t { Ready, AtBarrier, AtShuffle, Done };
  struct Fiber {
    ucontext_t context;
    State state = State::Ready;
    uint32_t given = 0, from = 0, taken = 0; ///< At a shuffle.
  };
  static void start();
  void wait(State state) {
    Fiber &fiber = fibers_[current_];
    fiber.state = state;
    swapcontext(&fiber.context, &host_);
  }
  bool areAll(State state, size_t first, size_t end) const {
    return std::all_of(
        fibers_.begin() + first, fibers_.begin() + end,
        [&](const Fiber &fiber) { return fiber.state == state; });
  }
  /// Lets threads go on that wait for nobody any more. False: there are none.
  bool release();

  std::mt19937_64 &engine_;
  std::vector<Fiber> fibers_;
  /// Of all blocks of this thread, one after the other.
  static thread_local std::vector<std::unique_ptr<char[]>> stacks_;
  ucontext_t host_;
  void (*entry_)(const uint64_t *) = nullptr;
  const uint64_t *parameters_ = nullptr;
  uint32_t current_ = 0, block_ = 0, blocks_ = 0;
};

thread_local EmulatedBlock *running = nullptr;
thread_local std::vector<std::unique_ptr<char[]>> EmulatedBlock::stacks_;
} // namespace

void EmulatedBlock::start() {
  running->entry_(running->parameters_);
  running->fibers_[running->current_].state = State::Done;
  // Returns to `host_` by uc_link.
}

bool EmulatedBlock::run(void (*entry)(const uint64_t *),
                        const uint64_t *parameters, uint32_t block,
                        uint32_t blocks) {
  running = this;
  entry_ = entry;
  parameters_ = parameters;
  block_ = block;
  blocks_ = blocks;
  for (auto [fiber, stack] : zip_first(fibers_, stacks_)) {
    fiber.state = State::Ready;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = stack.get();
    fiber.context.uc_stack.ss_size = stackBytes;
    fiber.context.uc_link = &host_;
    makecontext(&fiber.context, &EmulatedBlock::start, 0);
  }
  std::vector<uint32_t> order(fibers_.size());
  std::iota(order.begin(), order.end(), 0);
  do {
    std::shuffle(order.begin(), order.end(), engine_);
    for (uint32_t thread : order) {
      if (fibers_[thread].state != State::Ready)
        continue;
      current_ = thread;
      swapcontext(&host_, &fibers_[thread].context);
    }
  } while (release());
  return areAll(State::Done, 0, fibers_.size());
}

bool EmulatedBlock::release() {
  bool hasReleased = false;
  auto releaseAll = [&](State state, size_t first, size_t end) {
    if (!areAll(state, first, end))
      return;
    if (state == State::AtShuffle)
      for (size_t i = first; i != end; ++i)
        fibers_[i].taken = fibers_[fibers_[i].from].given;
    for (size_t i = first; i != end; ++i)
      fibers_[i].state = State::Ready;
    hasReleased = true;
  };
  for (size_t first = 0; first < fibers_.size(); first += warpThreads)
    releaseAll(State::AtShuffle, first,
               std::min(first + warpThreads, fibers_.size()));
  releaseAll(State::AtBarrier, 0, fibers_.size());
  return hasReleased;
}

static uint32_t emulatedThread() { return running->current(); }
static uint32_t emulatedBlock() { return running->block(); }
static uint32_t emulatedBlocks() { return running->blocks(); }
static void emulatedBarrier() { running->meet(); }
static int32_t emulatedShuffle(int32_t, int32_t value, int32_t by, int32_t) {
  return bit_cast<int32_t>(
      running->shuffle(bit_cast<uint32_t>(value), static_cast<uint32_t>(by)));
}
static float emulatedFloatShuffle(int32_t, float value, int32_t by, int32_t) {
  return bit_cast<float>(
      running->shuffle(bit_cast<uint32_t>(value), static_cast<uint32_t>(by)));
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

/// LLVM calls it where the processor has no instruction, and not every
/// compiler's library has it: from f32 to bf16, to the nearest, of two to the
/// even one.
static __bf16 truncateToBF16(float value) {
  auto bits = bit_cast<uint32_t>(value);
  bits = value != value ? bits | 0x400000 : bits + 0x7fff + (bits >> 16 & 1);
  return bit_cast<__bf16>(static_cast<uint16_t>(bits >> 16));
}

struct Replacement {
  StringLiteral intrinsic, function;
};
static const Replacement replacements[] = {
    {"llvm.nvvm.read.ptx.sreg.tid.x", "soap_emulated_thread"},
    {"llvm.nvvm.read.ptx.sreg.ctaid.x", "soap_emulated_block"},
    {"llvm.nvvm.read.ptx.sreg.nctaid.x", "soap_emulated_blocks"},
    {"llvm.nvvm.barrier0", "soap_emulated_barrier"},
    {"llvm.nvvm.shfl.sync.bfly.i32", "soap_emulated_shuffle"},
    {"llvm.nvvm.shfl.sync.bfly.f32", "soap_emulated_float_shuffle"},
};

/// Puts functions for what a GPU has alone.
static void replaceIntrinsics(Module &module) {
  for (const Replacement &replacement : replacements) {
    Function *intrinsic = module.getFunction(replacement.intrinsic);
    if (!intrinsic)
      continue;
    Function *function = Function::Create(intrinsic->getFunctionType(),
                                          GlobalValue::ExternalLinkage,
                                          replacement.function, module);
    for (User *user : make_early_inc_range(intrinsic->users())) {
      auto *call = cast<CallInst>(user);
      IRBuilder<> builder(call);
      SmallVector<Value *> arguments(call->args());
      Value *made = builder.CreateCall(function, arguments);
      call->replaceAllUsesWith(made);
      call->eraseFromParent();
    }
    intrinsic->eraseFromParent();
  }
}

static std::string wrapperOf(StringRef entry) {
  return ("soap_emulated_" + entry).str();
}

/// Adds a function that takes the parameters of `entry` from an array.
static void addWrapper(Module &module, StringRef name) {
  Function *entry = module.getFunction(name);
  LLVMContext &context = module.getContext();
  auto *pointer = PointerType::getUnqual(context);
  auto *type = FunctionType::get(Type::getVoidTy(context), {pointer}, false);
  Function *wrapper = Function::Create(type, GlobalValue::ExternalLinkage,
                                       wrapperOf(name), module);
  IRBuilder<> builder(BasicBlock::Create(context, "", wrapper));
  SmallVector<Value *> arguments;
  for (auto [index, argument] : enumerate(entry->args())) {
    Value *address = builder.CreateConstGEP1_64(builder.getInt64Ty(),
                                                wrapper->getArg(0), index);
    arguments.push_back(builder.CreateLoad(argument.getType(), address));
  }
  builder.CreateCall(entry, arguments);
  builder.CreateRetVoid();
}

Expected<std::unique_ptr<EmulatedDevice>>
EmulatedDevice::create(mlir::ModuleOp kernels) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  auto context = std::make_unique<LLVMContext>();
  std::unique_ptr<Module> module;
  auto code = translateDeviceKernels(kernels, *context, module);
  if (failed(code))
    return createStringError("the kernels have no device code");
  std::unique_ptr<EmulatedDevice> device(new EmulatedDevice);
  device->code_ = std::move(*code);
  replaceIntrinsics(*module);
  StringMap<bool> entries;
  for (const DeviceKernel &kernel : device->code_.kernels)
    for (const DeviceLaunch &launch : kernel.launches)
      if (launch.product < 0 && entries.try_emplace(launch.entry, true).second)
        addWrapper(*module, launch.entry);
  auto linker = orc::LLJITBuilder().create();
  if (!linker)
    return linker.takeError();
  device->linker_ = std::move(*linker);
  orc::LLJIT &jit = *device->linker_;
  module->setDataLayout(jit.getDataLayout());
  module->setTargetTriple(jit.getTargetTriple().str());
  orc::SymbolMap symbols;
  auto define = [&](StringRef name, auto *function) {
    symbols[jit.mangleAndIntern(name)] = {orc::ExecutorAddr::fromPtr(function),
                                          JITSymbolFlags::Exported};
  };
  define("soap_emulated_thread", &emulatedThread);
  define("soap_emulated_block", &emulatedBlock);
  define("soap_emulated_blocks", &emulatedBlocks);
  define("soap_emulated_barrier", &emulatedBarrier);
  define("soap_emulated_shuffle", &emulatedShuffle);
  define("soap_emulated_float_shuffle", &emulatedFloatShuffle);
  define("__truncsfbf2", &truncateToBF16);
  if (Error error = jit.getMainJITDylib().define(
          orc::absoluteSymbols(std::move(symbols))))
    return std::move(error);
  auto process = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      jit.getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  jit.getMainJITDylib().addGenerator(std::move(*process));
  if (Error error = jit.addIRModule(
          orc::ThreadSafeModule(std::move(module), std::move(context))))
    return std::move(error);
  for (const auto &entry : entries) {
    auto address = jit.lookup(wrapperOf(entry.getKey()));
    if (!address)
      return address.takeError();
    device->entries_[entry.getKey()] = address->toPtr<Entry>();
  }
  return device;
}

/// What the library would compute, matrix by matrix, in the order of the sum.
static void multiply(const DeviceProduct &product, ArrayRef<uint64_t> buffers,
                     ArrayRef<int64_t> places) {
  auto at = [&](const ProductMatrix &matrix, size_t place) {
    return reinterpret_cast<float *>(buffers[matrix.buffer] + places[place]);
  };
  const float *a = at(product.a, 0), *b = at(product.b, 1);
  float *c = at(product.c, 2);
  for (int64_t i = 0; i != product.batch; ++i)
    for (int64_t row = 0; row != product.rows; ++row)
      for (int64_t column = 0; column != product.columns; ++column) {
        float sum = 0;
        for (int64_t k = 0; k != product.depth; ++k)
          sum += a[i * product.a.apart + row * product.a.row +
                   k * product.a.column] *
                 b[i * product.b.apart + k * product.b.row +
                   column * product.b.column];
        float &result = c[i * product.c.apart + row * product.c.row + column];
        result = product.adds ? result + sum : sum;
      }
}

Error EmulatedDevice::run(size_t index, ArrayRef<void *> buffers,
                          ArrayRef<int64_t> sizes, uint64_t mostBlocks,
                          uint64_t seed) {
  const DeviceKernel &kernel = code_.kernels.at(index);
  std::mt19937_64 engine(seed);
  constexpr size_t alignment = 256;
  std::vector<char> scratch(kernel.scratchBytes + alignment, '\x7f');
  for (const DeviceLaunch &launch : kernel.launches) {
    std::vector<uint64_t> parameters;
    for (void *buffer : buffers)
      parameters.push_back(reinterpret_cast<uint64_t>(buffer));
    if (kernel.scratchBytes != 0)
      parameters.push_back(
          alignTo(reinterpret_cast<uint64_t>(scratch.data()), alignment));
    if (launch.product >= 0) {
      multiply(kernel.products.at(static_cast<size_t>(launch.product)),
               parameters, launch.constants);
      continue;
    }
    parameters.insert(parameters.end(), sizes.begin(), sizes.end());
    parameters.insert(parameters.end(), launch.constants.begin(),
                      launch.constants.end());
    uint64_t blocks = launch.blocks;
    if (blocks == 0) {
      uint64_t items = 1;
      for (int64_t size : sizes)
        items *= size;
      blocks = divideCeil(items, launch.itemsPerBlock);
    }
    blocks = std::clamp<uint64_t>(blocks, 1, mostBlocks);
    EmulatedBlock block(launch.threads, engine);
    for (uint64_t i = 0; i != blocks; ++i)
      if (!block.run(entries_.lookup(launch.entry), parameters.data(), i,
                     blocks))
        return createStringError("expected all threads of a block of " +
                                 launch.entry +
                                 " at a barrier, got: some that have ended");
  }
  return Error::success();
}
