//===- GuardedMemory.h - Memory between guard pages -------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program that links this gives the arenas of the runtime guard pages: it
// defines `mmap` and `munmap` itself, and treats anonymous blocks without
// reserve, which arenas are, like GuardedBlock. Not under a sanitizer, which
// defines the same functions.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_UNITTESTS_RUNTIME_GUARDEDMEMORY_H
#define SOAP_UNITTESTS_RUNTIME_GUARDEDMEMORY_H

#include <cstddef>

namespace soap::test {

/// Zeroed memory between two pages that nothing may touch. One end lies at such
/// a page; what is left over at the other holds a pattern that is checked.
class GuardedBlock {
public:
  /// `atEnd`: the end lies at a guard page (as far as an alignment to 64 bytes
  /// lets it), else the begin. Ends the program if there is no memory.
  GuardedBlock(size_t bytes, bool atEnd);
  ~GuardedBlock();
  GuardedBlock(const GuardedBlock &) = delete;

  char *data() const { return begin_; }
  /// False if anything was written beside the block.
  bool isIntact() const;

private:
  size_t bytes_, whole_;
  char *mapped_, *begin_;
};

/// Blocks from now on end (else begin) at a guard page.
void guardEnds(bool atEnd);
/// Arenas so far, and those of them beside which something was written.
size_t guardedArenas();
size_t brokenArenas();

} // namespace soap::test

#endif // SOAP_UNITTESTS_RUNTIME_GUARDEDMEMORY_H
