//===- PtxInterpreter.cpp - Runs PTX --------------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ptx.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

using namespace soap::ptx;

namespace {
struct Thread {
  enum State { Running, AtBarrier, AtShuffle, Ended };
  State state = Running;
  uint32_t at = 0;
  std::vector<uint64_t> registers;
  std::vector<char> local;
};

class Block {
public:
  Block(const Function &function, unsigned number, unsigned blocks,
        unsigned threads, const std::vector<char> &parameters,
        const Memory &memory)
      : function_(function), number_(number), blocks_(blocks),
        parameters_(parameters), memory_(memory),
        shared_(function.sharedBytes, '\xff'), threads_(threads) {
    for (Thread &thread : threads_) {
      // What is not written yet is garbage, always the same.
      thread.registers.assign(function.registers, 0xfdfdfdfdfdfdfdfd);
      thread.local.assign(function.localBytes, '\xff');
    }
  }

  void run() {
    while (true) {
      bool hasWorked = false;
      for (size_t i = 0; i != threads_.size(); ++i)
        if (threads_[i].state == Thread::Running) {
          runThread(i);
          hasWorked = true;
        }
      hasWorked = shuffle() || hasWorked;
      hasWorked = passBarrier() || hasWorked;
      if (std::all_of(threads_.begin(), threads_.end(),
                      [](const Thread &t) { return t.state == Thread::Ended; }))
        return;
      if (!hasWorked)
        throw std::runtime_error("entry " + function_.name +
                                 ": threads of a block wait for ever");
    }
  }

private:
  static constexpr size_t kWarp = 32;

  void runThread(size_t index);
  bool passBarrier();
  bool shuffle();
  void shuffleWarp(size_t first, size_t end);

  char *address(Thread &thread, uint64_t address, unsigned bytes,
                const Instruction &in);
  uint64_t addressOf(const Thread &thread, const Operand &operand) const {
    uint64_t base = operand.base < 0
                        ? 0
                        : thread.registers[static_cast<size_t>(operand.base)];
    return base + operand.value;
  }
  uint64_t read(size_t index, const Operand &operand, TypeSize type) const;
  void write(Thread &thread, const Operand &operand, uint64_t value) {
    if (operand.kind == Operand::Register)
      thread.registers[operand.value] = value;
  }
  void execute(size_t index, const Instruction &in);
  void load(Thread &thread, const Instruction &in);
  void store(size_t index, const Instruction &in);
  void update(size_t index, const Instruction &in);
  void move(size_t index, const Instruction &in);

  const Function &function_;
  unsigned number_, blocks_;
  const std::vector<char> &parameters_;
  const Memory &memory_;
  std::vector<char> shared_;
  std::vector<Thread> threads_;
};
} // namespace

//===----------------------------------------------------------------------===//
// Operands and memory
//===----------------------------------------------------------------------===//

uint64_t Block::read(size_t index, const Operand &operand,
                     TypeSize type) const {
  switch (operand.kind) {
  case Operand::Register: {
    uint64_t value = threads_[index].registers[operand.value];
    return operand.isNegated ? !value : value;
  }
  case Operand::Constant: {
    if (!operand.isFloat)
      return type.bytes == 0 || type.bytes == 8
                 ? operand.value
                 : operand.value & ((uint64_t{1} << (8 * type.bytes)) - 1);
    double number;
    std::memcpy(&number, &operand.value, sizeof(number));
    if (type.bytes == 8)
      return operand.value;
    auto single = static_cast<float>(number);
    uint32_t bits;
    std::memcpy(&bits, &single, sizeof(bits));
    return bits;
  }
  case Operand::Special:
    switch (operand.value) {
    case ThreadIndex:
      return index;
    case BlockSize:
      return threads_.size();
    case BlockIndex:
      return number_;
    case GridSize:
      return blocks_;
    case LaneIndex:
      return index % kWarp;
    case WarpSize:
      return kWarp;
    case One:
      return 1;
    default:
      return 0;
    }
  case Operand::Vector:
  case Operand::Memory:
    break;
  }
  throw std::runtime_error("an operand that has no value");
}

char *Block::address(Thread &thread, uint64_t at, unsigned bytes,
                     const Instruction &in) {
  constexpr uint64_t window = kSharedWindow;
  auto within = [&](char *data, size_t size, const char *what) -> char * {
    uint64_t offset = at % window;
    if (offset + bytes > size)
      throw std::runtime_error("line " + std::to_string(in.number) +
                               ": an access beyond " + what);
    return data + offset;
  };
  if (at % bytes)
    throw std::runtime_error("line " + std::to_string(in.number) +
                             ": an address that is no multiple of " +
                             std::to_string(bytes));
  if (at >= kParameterWindow)
    return within(const_cast<char *>(parameters_.data()), parameters_.size(),
                  "the parameters");
  if (at >= kLocalWindow)
    return within(thread.local.data(), thread.local.size(), "local memory");
  if (at >= kSharedWindow)
    return within(shared_.data(), shared_.size(), "shared memory");
  return memory_(at, bytes);
}

/// "v2" and "v4", else 1.
static unsigned vectorLength(const Instruction &in) {
  return in.has("v4") ? 4 : in.has("v2") ? 2 : 1;
}

void Block::load(Thread &thread, const Instruction &in) {
  TypeSize type = in.type();
  unsigned count = vectorLength(in);
  const char *from = address(thread, addressOf(thread, in.operands.at(1)),
                             count * type.bytes, in);
  for (unsigned i = 0; i != count; ++i) {
    uint64_t value = 0;
    std::memcpy(&value, from + i * type.bytes, type.bytes);
    // A signed value is one in the whole register.
    unsigned unused = 64 - 8 * type.bytes;
    if (type.type == Type::S && unused)
      value = static_cast<uint64_t>(static_cast<int64_t>(value << unused) >>
                                    unused);
    write(thread, count == 1 ? in.operands[0] : in.operands[0].elements.at(i),
          value);
  }
}

void Block::store(size_t index, const Instruction &in) {
  Thread &thread = threads_[index];
  TypeSize type = in.type();
  unsigned count = vectorLength(in);
  char *to = address(thread, addressOf(thread, in.operands.at(0)),
                     count * type.bytes, in);
  const Operand &source = in.operands.at(1);
  for (unsigned i = 0; i != count; ++i) {
    uint64_t value =
        read(index, count == 1 ? source : source.elements.at(i), type);
    std::memcpy(to + i * type.bytes, &value, type.bytes);
  }
}

/// atom.global.add.f32 d, [a], b and red.global.add.f32 [a], b
void Block::update(size_t index, const Instruction &in) {
  Thread &thread = threads_[index];
  bool hasResult = in.opcode == "atom";
  TypeSize type = in.type();
  char *place = address(thread, addressOf(thread, in.operands.at(hasResult)),
                        type.bytes, in);
  uint64_t before = 0;
  std::memcpy(&before, place, type.bytes);
  uint64_t operand = read(index, in.operands.at(hasResult + 1), type);
  Instruction combine = in;
  uint64_t after = operand; // exch
  for (const char *known : {"add", "min", "max", "and", "or", "xor"})
    if (in.has(known)) {
      combine.opcode = known;
      combine.modifiers.clear();
      uint64_t sources[4] = {before, operand, 0, 0};
      after = calculate(combine, sources);
    }
  if (in.has("cas"))
    after = before == operand ? read(index, in.operands.at(3), type) : before;
  std::memcpy(place, &after, type.bytes);
  if (hasResult)
    write(thread, in.operands[0], before);
}

/// Moves also take registers apart, and put them together.
void Block::move(size_t index, const Instruction &in) {
  Thread &thread = threads_[index];
  const Operand &to = in.operands.at(0), &from = in.operands.at(1);
  TypeSize type = in.type();
  if (from.kind == Operand::Vector) {
    auto bits = static_cast<unsigned>(8 * type.bytes / from.elements.size());
    uint64_t value = 0;
    for (size_t i = 0; i != from.elements.size(); ++i)
      value |= (read(index, from.elements[i], {}) & ((uint64_t{1} << bits) - 1))
               << (bits * i);
    write(thread, to, value);
    return;
  }
  uint64_t value = read(index, from, type);
  if (to.kind != Operand::Vector || to.elements.empty()) {
    write(thread, to, value);
    return;
  }
  auto bits = static_cast<unsigned>(8 * type.bytes / to.elements.size());
  for (size_t i = 0; i != to.elements.size(); ++i)
    write(thread, to.elements[i],
          value >> (bits * i) & ((uint64_t{1} << bits) - 1));
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

void Block::execute(size_t index, const Instruction &in) {
  Thread &thread = threads_[index];
  if (in.opcode == "ld")
    return load(thread, in);
  if (in.opcode == "st")
    return store(index, in);
  if (in.opcode == "atom" || in.opcode == "red")
    return update(index, in);
  if (in.opcode == "mov")
    return move(index, in);
  if (in.opcode == "membar" || in.opcode == "fence")
    return;
  uint64_t sources[4] = {};
  // A conversion names its source's type last, and a predicate or a shift has
  // one of its own: constants there are whole numbers.
  TypeSize type = in.opcode == "cvt" ? in.type(1) : in.type();
  for (size_t i = 1; i < in.operands.size() && i != 5; ++i)
    sources[i - 1] = read(index, in.operands[i], type);
  write(thread, in.operands.at(0), calculate(in, sources));
}

void Block::runThread(size_t index) {
  Thread &thread = threads_[index];
  while (true) {
    if (thread.at == function_.body.size()) {
      thread.state = Thread::Ended;
      return;
    }
    const Instruction &in = function_.body[thread.at];
    if (in.guard >= 0 && (thread.registers[static_cast<size_t>(in.guard)] !=
                          0) == in.isGuardNegated) {
      ++thread.at;
    } else if (in.opcode == "bra") {
      thread.at = in.target;
    } else if (in.opcode == "ret" || in.opcode == "exit") {
      thread.state = Thread::Ended;
      return;
    } else if (in.opcode == "bar" || in.opcode == "barrier") {
      thread.state = Thread::AtBarrier;
      return;
    } else if (in.opcode == "shfl") {
      thread.state = Thread::AtShuffle;
      return;
    } else {
      execute(index, in);
      ++thread.at;
    }
  }
}

bool Block::passBarrier() {
  for (const Thread &thread : threads_)
    if (thread.state != Thread::AtBarrier && thread.state != Thread::Ended)
      return false;
  bool hasPassed = false;
  for (Thread &thread : threads_)
    if (thread.state == Thread::AtBarrier) {
      thread.state = Thread::Running;
      ++thread.at;
      hasPassed = true;
    }
  return hasPassed;
}

bool Block::shuffle() {
  bool hasShuffled = false;
  for (size_t first = 0; first < threads_.size(); first += kWarp) {
    size_t end = std::min(first + kWarp, threads_.size());
    bool isReady = false;
    for (size_t i = first; i != end; ++i) {
      Thread::State state = threads_[i].state;
      if (state == Thread::AtShuffle)
        isReady = true;
      else if (state != Thread::Ended) {
        isReady = false;
        break;
      }
    }
    if (isReady) {
      shuffleWarp(first, end);
      hasShuffled = true;
    }
  }
  return hasShuffled;
}

/// shfl.sync.bfly.b32 d|p, a, b, c, mask: all threads of a warp that have not
/// ended take part.
void Block::shuffleWarp(size_t first, size_t end) {
  std::vector<uint64_t> values(kWarp, 0);
  for (size_t i = first; i != end; ++i) {
    if (threads_[i].state != Thread::AtShuffle)
      continue;
    const Instruction &in = function_.body[threads_[i].at];
    size_t source = in.operands.size() - 4; // Behind one or two results.
    values[i - first] = read(i, in.operands.at(source), in.type());
  }
  for (size_t i = first; i != end; ++i) {
    Thread &thread = threads_[i];
    if (thread.state != Thread::AtShuffle)
      continue;
    const Instruction &in = function_.body[thread.at];
    size_t source = in.operands.size() - 4;
    auto lane = static_cast<int64_t>(i - first);
    auto by = static_cast<int64_t>(read(i, in.operands[source + 1], in.type()));
    auto c = static_cast<int64_t>(read(i, in.operands[source + 2], in.type()));
    int64_t segment = c >> 8 & 31, clamp = c & 31;
    int64_t most = (lane & segment) | (clamp & ~segment);
    int64_t least = lane & segment, from = lane;
    bool isInside = false;
    if (in.has("bfly")) {
      from = lane ^ by;
      isInside = from <= most;
    } else if (in.has("down")) {
      from = lane + by;
      isInside = from <= most;
    } else if (in.has("up")) {
      from = lane - by;
      isInside = from >= most;
    } else {
      from = least | (by & ~segment);
      isInside = from <= most;
    }
    if (!isInside)
      from = lane;
    write(thread, in.operands[0], values[static_cast<size_t>(from)]);
    if (source == 2)
      write(thread, in.operands[1], isInside);
  }
  for (size_t i = first; i != end; ++i)
    if (threads_[i].state == Thread::AtShuffle) {
      threads_[i].state = Thread::Running;
      ++threads_[i].at;
    }
}

void soap::ptx::run(const Function &function, unsigned blocks, unsigned threads,
                    const std::vector<char> &parameters, const Memory &memory) {
  if (function.requiredThreads && function.requiredThreads != threads)
    throw std::runtime_error("entry " + function.name + " needs blocks of " +
                             std::to_string(function.requiredThreads) +
                             " threads");
  for (unsigned block = 0; block != blocks; ++block)
    Block(function, block, blocks, threads, parameters, memory).run();
}
