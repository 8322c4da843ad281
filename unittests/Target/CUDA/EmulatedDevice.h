//===- EmulatedDevice.h - Device code on the host ---------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs device code without a GPU: the LLVM IR that becomes PTX, compiled for
// the host, with a function in place of every special register, barrier and
// exchange within a warp.
// Blocks run one after the other. The threads of a block are fibers of one
// thread of the host: each runs to its next barrier, in an order that changes
// at random from barrier to barrier, so that a read that needs a barrier before
// it is likely to find the wrong value. A barrier that some threads never reach
// is an error. Not emulated: what LLVM's backend makes of the IR, the order in
// which a GPU's threads see each other's writes, and threads that run at one
// time.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_UNITTESTS_TARGET_CUDA_EMULATEDDEVICE_H
#define SOAP_UNITTESTS_TARGET_CUDA_EMULATEDDEVICE_H

#include "mlir/IR/BuiltinOps.h"
#include "soap/Target/Target.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include <memory>
#include <vector>

namespace soap::test {

class EmulatedDevice {
public:
  /// The kernels of `module @kernels`, compiled.
  static llvm::Expected<std::unique_ptr<EmulatedDevice>>
  create(mlir::ModuleOp kernels);

  /// What kernel `index` launches.
  const DeviceKernel &kernel(size_t index) const {
    return code_.kernels.at(index);
  }

  /// Runs all launches of kernel `index`, each on a grid of at most
  /// `mostBlocks` blocks. `buffers` and `sizes` as the runtime passes them.
  /// Fails if threads do not meet at a barrier.
  llvm::Error run(size_t index, llvm::ArrayRef<void *> buffers,
                  llvm::ArrayRef<int64_t> sizes, uint64_t mostBlocks,
                  uint64_t seed);

private:
  using Entry = void (*)(const uint64_t *parameters);

  KernelCode code_;
  std::unique_ptr<llvm::orc::LLJIT> linker_;
  llvm::StringMap<Entry> entries_;
};

} // namespace soap::test

#endif // SOAP_UNITTESTS_TARGET_CUDA_EMULATEDDEVICE_H
