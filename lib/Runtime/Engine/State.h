//===- State.h - What lasts from step to step -------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parameters that a step of training changes, the optimizer's among them, as
// whole tensors: found in the tables, read from devices and written to them.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_ENGINE_STATE_H
#define SOAP_LIB_RUNTIME_ENGINE_STATE_H

#include "Backend/StridedCopy.h"
#include <string>

namespace soap::runtime {

/// A tensor that steps change: what a load makes before the first step in a
/// buffer that a row of the step writes.
struct StateTensor {
  /// A buffer of a device, and the elements [lo, lo + size) that it holds,
  /// dense.
  struct Holder {
    uint32_t device, buffer;
    Shape lo, size;
  };

  std::string name; ///< That of the parameter.
  fb::ElementType element;
  Shape shape; ///< Of the whole.
  std::vector<Holder> holders;

  uint64_t bytes(const Holder &holder) const;
  /// @{ Between the whole tensor and a holder's elements, both dense.
  StridedCopy toHolder(const Holder &holder) const;
  StridedCopy fromHolder(const Holder &holder) const;
  /// @}
  /// One holder of every box.
  std::vector<const Holder *> distinct() const;
};

/// All of a model's, by name.
std::vector<StateTensor> findState(const fb::Model &table);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_ENGINE_STATE_H
