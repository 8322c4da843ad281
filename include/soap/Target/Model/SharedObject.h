//===- SharedObject.h - Link a compiled model -------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes the shared library of a compiled model. It exports what
// include/soap/Runtime/Model.fbs says: `soap_model_data`,
// `soap_reference_data` if there is a reference, and `soap_native_kernels` if
// an object defines it. Functions of the C library and
// libm that kernels call are resolved when the library is loaded.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TARGET_MODEL_SHAREDOBJECT_H
#define SOAP_TARGET_MODEL_SHAREDOBJECT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <string>

namespace soap {

/// The linker that linkSharedObject calls: `ld` or `ld.lld` in PATH, or the
/// ld.lld of the LLVM that SOAP was built with. Fails with the places it looked
/// at.
llvm::Expected<std::string> findLinker();

/// Called with the path of a file before it is made (`exists`), and when it is
/// gone or has come to stay. A program that a signal may end can remove such
/// files then: libraries handle no signals.
using TemporaryFileCallback =
    std::function<void(llvm::StringRef path, bool exists)>;

/// Finished FlatBuffers tables.
struct ModelTables {
  std::string model;     ///< Becomes `soap_model_data`.
  std::string reference; ///< Becomes `soap_reference_data`; empty: none.
};

/// Links `objects` (contents of object files of the host, from
/// Target::emitKernels; may be none) and `tables` (aligned to 64 bytes) to the
/// shared library `outputPath`. The file appears whole or not at all, an old
/// one is replaced, and no temporary file stays. `soname` is the library's own
/// name, by default that of the file.
llvm::Error linkSharedObject(llvm::ArrayRef<std::string> objects,
                             const ModelTables &tables,
                             llvm::StringRef outputPath,
                             llvm::StringRef soname = "",
                             const TemporaryFileCallback &temporaryFile = {});

} // namespace soap

#endif // SOAP_TARGET_MODEL_SHAREDOBJECT_H
