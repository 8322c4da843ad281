//===- WrittenBytes.h - What programs write ---------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_MODEL_WRITTENBYTES_H
#define SOAP_LIB_RUNTIME_MODEL_WRITTENBYTES_H

#include "Types.h"
#include <map>

namespace soap::runtime {

/// The bytes of a device's parameter arena that rows of any program write, or
/// read. The buffers of these rows must exist and lie in their arenas.
class WrittenBytes {
public:
  enum class Access { Write, Read };
  explicit WrittenBytes(const fb::Device &device,
                        Access access = Access::Write);

  /// Whether a row writes (reads) a byte of a buffer of the parameter arena.
  bool overlaps(uint32_t buffer) const;

private:
  void addWritesOf(const fb::Row &row);
  void addReadsOf(const fb::Row &row);
  void add(uint32_t buffer);

  const fb::Device &device_;
  /// Ends by starts; no two meet.
  std::map<uint64_t, uint64_t> ranges_;
};

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_MODEL_WRITTENBYTES_H
