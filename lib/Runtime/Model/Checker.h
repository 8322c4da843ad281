//===- Checker.h - Checks the entries of a model's table --------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_MODEL_CHECKER_H
#define SOAP_LIB_RUNTIME_MODEL_CHECKER_H

#include "Types.h"

namespace soap::runtime {

/// Checks a table whose structure is sound: every index, offset, size and kind.
/// Knows where in the table it is, for messages; throws SOAP_INVALID.
class Checker {
public:
  explicit Checker(const fb::Model &model) : model_(model) {}
  /// Checks all of it.
  void run();

private:
  template <typename... Ts>
  [[noreturn]] void bad(const Ts &...parts) {
    invalid("expected a consistent model table, got: ", where_, ": ", parts...,
            "; compile the model again");
  }
  template <typename Enum>
  void kind(Enum value, Enum last) {
    if (static_cast<unsigned>(value) > static_cast<unsigned>(last))
      bad("a kind ", static_cast<unsigned>(value), " beyond ",
          static_cast<unsigned>(last));
  }

  /// The C interface hands names out, which end at a NUL.
  void name(const flatbuffers::String *name);
  int64_t tensorBytes(fb::ElementType element, const Shape &shape);
  void port(const fb::Port *port);
  void order(fb::ElementOrder order, size_t rank);
  void kernel(const fb::Kernel *kernel);
  /// The windows of a convolution or pool of `window` elements lead from x to
  /// the result; libraries compute with less than 64 bits.
  template <typename Op>
  void windows(const Op *op, const Shape &x, const Shape &y,
               const Shape &window);
  /// All that belongs to programs and to no device.
  void programs();
  void device(const fb::Device *device);
  /// The rows of the program at hand.
  void rows(const fb::DeviceProgram *program);
  void load(const fb::Load *load);
  void box(const flatbuffers::Vector<const fb::Range *> *ranges,
           const Shape &shape, Shape &extents);
  void tile(const fb::Tile *tile);
  void row(const fb::Row *row, uint32_t index, bool init);
  /// How messages call a row.
  std::string place(const fb::Row *row, uint32_t index, bool init) const;
  void launch(const fb::Launch *launch);
  /// What the library does behind a kernel, of which all types are sound.
  void followers(const fb::Kernel *kernel);
  /// What an in-place follower of a launch overwrites is its result's memory,
  /// and no other operand's.
  void places(const fb::Launch *launch, const fb::Kernel *kernel);
  void deviceLaunches(const fb::NativeKernel *native);
  void deviceProduct(const fb::NativeKernel *native,
                     const fb::DeviceLaunch *launch);
  void nativeLaunch(const fb::Launch *launch, const fb::Kernel *kernel,
                    const fb::NativeKernel *native);
  /// No row of any program writes what a launch takes for constant. The rows
  /// are sound.
  void constants(const fb::Device *device);
  /// Of a parameter that a program writes, no device reads a copy that none
  /// does: another program would read its first value. The rows are sound.
  void copiesOfState();
  void exchange(const fb::Exchange *exchange);
  void collective(const fb::Collective *collective);
  /// `from` and `to`: bytes available on a side that is no buffer, else -1.
  /// Returns the bytes that it copies.
  uint64_t boxCopy(const fb::BoxCopy *copy, int64_t from, int64_t to);
  template <typename Row>
  void hostRow(const Row *row, const fb::Port *port, bool feeds);
  /// One side of a copy takes a box out of a tensor of `shape`.
  void portBox(const fb::BoxCopy *copy, const fb::Port *port, bool feeds);
  /// All drains together write every byte of every output once.
  void drains();
  void strided(uint64_t offset, uint64_t run, const Shape &extents,
               const Shape &strides, uint64_t bytes);
  const fb::Buffer *buffer(uint32_t index);
  void extent(const fb::Extent &extent);
  void extent(uint32_t buffer, uint64_t offset, uint64_t bytes);

  const fb::Model &model_;
  const fb::Device *current_ = nullptr;
  uint32_t currentId_ = 0;
  const fb::Program *program_ = nullptr; ///< Of the rows at hand.
  uint32_t programId_ = 0;
  std::string where_;
  /// Bytes that drain rows write, per program and output.
  std::vector<std::vector<uint64_t>> drained_;
};

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_MODEL_CHECKER_H
