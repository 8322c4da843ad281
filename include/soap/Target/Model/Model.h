//===- Model.h - Write compiled models --------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From soaprt to a file that runs: tables (include/soap/Runtime/Model.fbs),
// object code of the model's own kernels, and weights.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TARGET_MODEL_MODEL_H
#define SOAP_TARGET_MODEL_MODEL_H

#include "soap/Dialect/SOAPRT/IR/SOAPRT.h"
#include "soap/Target/Target.h"
#include <map>
#include <string>

namespace soap {

/// What a compiled model says about itself, beyond its programs.
struct ModelOptions {
  std::string name;        ///< Of the model: "light_resnet50".
  std::string fingerprint; ///< Of its operator graph.
  std::string strategy;    ///< A strategy file, JSON.
  uint64_t simulatedNs = 0;
  uint32_t coresPerDevice = 0; ///< 0: split the allowed cores evenly.
  bool tiles = true; ///< Say what buffers hold, for soap-run --verify.
  const Target *target = nullptr; ///< What the programs were lowered for.
};

/// The attribute of a soaprt.device with what its rows that move data need
/// beside buffers, in bytes, in whatever processes the devices are.
inline llvm::StringLiteral communicationBytesAttrName() {
  return "soaprt.communication_bytes";
}
/// 0: not planned.
uint64_t communicationBytes(soaprt::DeviceOp device);

/// The weights of a compiled model: a safetensors file beside it
/// (github.com/huggingface/safetensors, README, "Format").
class WeightsFile {
public:
  /// Adds `length` bytes at `offset` of file `path` (absolute or relative to
  /// the working directory, as in #nn.file): a tensor that is called `name`, or
  /// like another name if this one is taken by other bytes. Returns the
  /// tensor's name in the file.
  std::string add(llvm::StringRef name, mlir::RankedTensorType type,
                  llvm::StringRef path, int64_t offset, int64_t length);

  bool empty() const { return tensors.empty(); }

  /// Copies all bytes to the safetensors file `outputPath`, streaming; the file
  /// appears whole or not at all.
  llvm::Error write(llvm::StringRef outputPath) const;

private:
  struct Source {
    std::string path;
    int64_t offset, length;
    mlir::RankedTensorType type;
  };
  std::map<std::string, Source> tensors;
  std::map<std::tuple<std::string, int64_t, int64_t, const void *>, std::string>
      names;
};

/// The finished FlatBuffers table of a module of planned soaprt programs. Adds
/// the weights that are loaded from files to `weights`, which will be called
/// `weightsName`. Emits an error if the programs are not planned.
mlir::FailureOr<std::string> emitTables(mlir::ModuleOp module,
                                        const ModelOptions &options,
                                        WeightsFile &weights,
                                        llvm::StringRef weightsName);

/// The same model on one device, to travel inside a compiled model.
struct ReferenceBuild {
  /// Planned soaprt programs. Its `module @kernels` starts with the kernels of
  /// the model that it travels in, so that one list serves both.
  mlir::ModuleOp module;
  ModelOptions options;
};

/// Writes the compiled model `outputPath` and, if any parameter is loaded from
/// a file, its weights beside it (`m.so`: `m.safetensors`). Both appear whole
/// or not at all. `reference`, if not null, goes in too.
mlir::LogicalResult emitModel(mlir::ModuleOp module,
                              const ModelOptions &options,
                              llvm::StringRef outputPath,
                              const ReferenceBuild *reference = nullptr);

} // namespace soap

#endif // SOAP_TARGET_MODEL_MODEL_H
