//===- ProgramProof.h - Proofs on planned programs --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_SOAPRT_TRANSFORMS_PROGRAMPROOF_H
#define SOAP_DIALECT_SOAPRT_TRANSFORMS_PROGRAMPROOF_H

#include "soap/Dialect/SOAPRT/IR/SOAPRT.h"

namespace soap::soaprt {

/// What verifyProgram() went through, summed up over devices.
struct ProgramStatistics {
  int64_t rows = 0;          ///< Of init and main.
  int64_t waits = 0;         ///< Tokens that rows wait for.
  int64_t dependences = 0;   ///< Reads and writes behind another access.
  int64_t acrossStreams = 0; ///< Those between streams.
  int64_t reuses = 0;        ///< Writes over bytes of another buffer.
};

/// Proves that every row of a planned program reads bytes that were written
/// through the buffer that it reads, and that streams and waits alone put it
/// behind every row that it must not overtake: the one that writes what it
/// reads, those that wrote or read what it overwrites. Emits the first
/// violation as an error.
mlir::LogicalResult verifyProgram(DeviceOp device,
                                  ProgramStatistics &statistics);

/// Proves that what devices of a module receive from each other is what is
/// sent: the n-th send from one to another with a tag and the n-th receive, and
/// all buffers of a piece of a collective, are of one element type, size and
/// order, and of one shape where channels are last; and that every member of a
/// collective takes part. Emits the first violation as an error.
mlir::LogicalResult verifyMessages(mlir::ModuleOp module);

/// The attribute of a device with the memory that the topology gives it, in
/// bytes; absent or 0: unlimited.
inline llvm::StringLiteral memoryBytesAttrName() {
  return "soaprt.memory_bytes";
}

/// The memory of a device in bytes, 0: unlimited.
int64_t memoryOf(DeviceOp device);
/// What a planned device needs at its peak, in bytes: arenas, and what the
/// kernel library needs beside them where that is known.
int64_t plannedBytes(DeviceOp device);
/// The bytes of the arena of activations, from its start, that a planned
/// program uses; the device has as many as the program that uses most.
int64_t activationBytes(MainOp main);
/// The largest buffers of a device and who fills them, as indented lines that
/// follow an error.
std::string largestBuffers(DeviceOp device);

/// Checks that a planned device fits into its memory. Emits an error that names
/// the device, its need, its memory and the largest buffers.
mlir::LogicalResult verifyCapacity(DeviceOp device);

} // namespace soap::soaprt

#endif // SOAP_DIALECT_SOAPRT_TRANSFORMS_PROGRAMPROOF_H
