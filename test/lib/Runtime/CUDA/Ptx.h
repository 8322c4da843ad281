//===- Ptx.h - PTX that runs on the host ------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A parser and an interpreter of the part of PTX that LLVM writes for kernels
// over integers and floats (NVIDIA, Parallel Thread Execution ISA,
// version 9.0). Threads of a block run one after the other, each until it waits
// for others, so that results do not depend on a schedule, and a missing
// barrier shows.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TEST_LIB_RUNTIME_CUDA_PTX_H
#define SOAP_TEST_LIB_RUNTIME_CUDA_PTX_H

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace soap::ptx {

enum class Type : uint8_t { None, Pred, B, U, S, F, BF };

/// A type with its size in bytes.
struct TypeSize {
  Type type = Type::None;
  uint8_t bytes = 0;
};

struct Operand {
  enum Kind : uint8_t {
    Register, ///< `value` is its number.
    Constant, ///< `value` has its bits, as those of an f64 if `isFloat`.
    Special,  ///< `value` says which.
    Vector,   ///< `elements`.
    Memory    ///< At register `base` (-1: none) + `value`.
  };
  Kind kind = Constant;
  bool isFloat = false, isNegated = false;
  int32_t base = -1;
  uint64_t value = 0;
  std::vector<Operand> elements;
};

/// Values of Operand::Special.
enum SpecialRegister : uint64_t {
  ThreadIndex,
  BlockSize,
  BlockIndex,
  GridSize,
  LaneIndex,
  WarpSize,
  Zero,
  One
};

struct Instruction {
  std::string opcode;                 ///< "setp"
  std::vector<std::string> modifiers; ///< "lt", "f32"
  std::vector<TypeSize> types;        ///< Those among the modifiers.
  std::vector<Operand> operands;
  int32_t guard = -1; ///< The register of its predicate.
  bool isGuardNegated = false;
  uint32_t target = 0; ///< Of a branch.
  int number = 0;      ///< Line in the text, for errors.

  bool has(const char *modifier) const;
  TypeSize type(size_t i = 0) const {
    return i < types.size() ? types[i] : TypeSize();
  }
};

/// One entry of a module.
struct Function {
  std::string name;
  std::vector<std::pair<uint32_t, uint32_t>> parameters; ///< Offset, bytes.
  uint32_t parameterBytes = 0, sharedBytes = 0, localBytes = 0;
  uint32_t registers = 0;
  uint32_t requiredThreads = 0; ///< 0: any number.
  std::vector<Instruction> body;
};

/// Parses a module. Throws std::runtime_error, with the line, for what it does
/// not know.
std::map<std::string, Function> parse(const std::string &text);

/// Translates an address of a kernel's global memory; throws if so many bytes
/// are not there.
using Memory = std::function<char *(uint64_t address, uint64_t bytes)>;

/// Runs a grid. Throws std::runtime_error for an access of memory that is not
/// there, and for threads that wait for ever.
void run(const Function &function, unsigned blocks, unsigned threads,
         const std::vector<char> &parameters, const Memory &memory);

/// Calculates an instruction without a side effect: its result, as bits.
uint64_t calculate(const Instruction &instruction, const uint64_t *sources);

/// @{ Shared and local variables lie in windows of the address space.
constexpr uint64_t kSharedWindow = uint64_t{1} << 60;
constexpr uint64_t kLocalWindow = uint64_t{2} << 60;
constexpr uint64_t kParameterWindow = uint64_t{3} << 60;
/// @}

} // namespace soap::ptx

#endif // SOAP_TEST_LIB_RUNTIME_CUDA_PTX_H
