//===- MemoryPlan.h - The memory that devices need --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel library chooses its implementations on the machine where a model
// runs, and with them the sizes of scratchpads and the layouts of parameters.
// On a machine of the same kind the compiler can ask it beforehand.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TARGET_MODEL_MEMORYPLAN_H
#define SOAP_TARGET_MODEL_MEMORYPLAN_H

#include "soap/Target/Model/Model.h"

namespace soap {

/// Asks the target what the library's kernels need on this machine beside the
/// planned arenas, and rows that move data beside buffers, and writes
/// `scratchpad_bytes`, `reordered_bytes`, `peak_bytes` and
/// `soaprt.communication_bytes` of every soaprt.device. Fails with the reason,
/// and leaves the module as it is, if the programs are not planned, or if this
/// machine cannot run the model: the library is missing, or code is made for
/// another processor.
llvm::Error planLibraryMemory(mlir::ModuleOp module,
                              const ModelOptions &options);

/// One line about the device with the highest peak: "memory: …". Empty if
/// nothing was planned.
std::string describeMemory(mlir::ModuleOp module);

/// Compares the planned peak of every device with its memory
/// (`soaprt.memory_bytes`). The error names the largest buffers of every device
/// that is too small.
llvm::Error checkDeviceMemory(mlir::ModuleOp module);

/// A device whose plan is larger than its memory, in bytes.
struct MissingMemory {
  int32_t device;
  int64_t capacity, planned;
};
llvm::SmallVector<MissingMemory> missingMemory(mlir::ModuleOp module);

} // namespace soap

#endif // SOAP_TARGET_MODEL_MEMORYPLAN_H
