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

#include "soap/Dialect/NN/IR/Files.h"
#include "soap/Dialect/SOAPRT/IR/SOAPRT.h"
#include "soap/Runtime/Model.fbs.h"
#include "soap/Target/Model/SharedObject.h"
#include "soap/Target/Target.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <string>

namespace soap {

/// What a compiled model says about itself, beyond its programs.
struct ModelOptions {
  std::string name;        ///< Of the model: "light_resnet50".
  std::string fingerprint; ///< Of its operator graph.
  std::string strategy;    ///< A strategy file, JSON.
  std::string training;    ///< How a step was made, JSON; empty: none.
  /// Simulated step times of the programs, in order; absent or 0: unknown.
  llvm::SmallVector<uint64_t, 2> simulatedNs;
  /// The simulated step, in launch order: of the first program.
  std::vector<fb::SimulatedTaskT> simulated;
  uint32_t coresPerDevice = 0; ///< 0: split the allowed cores evenly,
  /// among so many devices, of which the programs may use but some; 0: among
  /// those of the programs.
  uint32_t machineDevices = 0;
  bool tiles = true; ///< Say what buffers hold, for soap-run --verify.
  /// Whether convolutions may be computed by Winograd's algorithm.
  bool winograd = true;
  const Target *target = nullptr; ///< What the programs were lowered for.
  nn::Files files;                ///< What parameters refer to.
  /// Told of files beside the outputs that exist while these are written.
  TemporaryFileCallback temporaryFile;
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
  explicit WeightsFile(nn::Files files = {}) : files_(std::move(files)) {}

  /// Adds `length` bytes at `offset` of file `path` (absolute or relative to
  /// the working directory, as in #nn.file): a tensor that is called `name`, or
  /// like another name if this one is taken by other bytes or by the format.
  /// Returns the tensor's name in the file.
  std::string add(llvm::StringRef name, mlir::RankedTensorType type,
                  llvm::StringRef path, int64_t offset, int64_t length);

  bool empty() const { return tensors_.empty(); }

  /// Where the weights of a library lie.
  static std::string pathBeside(llvm::StringRef library);
  /// Fails if there is a file which no compilation wrote, without a library
  /// that it belongs to: weights of someone else, which must not be lost.
  static llvm::Error checkReplaced(llvm::StringRef library);

  /// Copies all bytes to the safetensors file `outputPath`, streaming. A file
  /// that cannot be finished is removed. Returns the digest that belongs into
  /// the tables of the model (setWeightsDigest).
  llvm::Expected<fb::WeightsDigest> write(llvm::StringRef outputPath) const;
  /// The same, to the end of `contents`.
  llvm::Expected<fb::WeightsDigest> append(std::string &contents) const;

private:
  /// Name, dtype, shape and byte range of every tensor.
  std::string header() const;
  /// `failed` says that going on is of no use.
  llvm::Error writeTo(llvm::raw_ostream &os,
                      llvm::function_ref<bool()> failed) const;

  struct Source {
    std::string path;
    int64_t offset, length;
    mlir::RankedTensorType type;
  };
  nn::Files files_;
  std::map<std::string, Source> tensors_;
  std::map<std::tuple<std::string, int64_t, int64_t, const void *>, std::string>
      names_;
};

/// The finished FlatBuffers table of a module of planned soaprt programs. Adds
/// the weights that are loaded from files to `weights`, which will be called
/// `weightsName`. A table with weights loads only once their digest is set.
/// `code` is that of the native kernels, as far as it is known: tables describe
/// device code, code of the host goes elsewhere. Emits an error if the programs
/// are not planned.
mlir::FailureOr<std::string> emitTables(mlir::ModuleOp module,
                                        const ModelOptions &options,
                                        WeightsFile &weights,
                                        llvm::StringRef weightsName,
                                        const KernelCode &code = {});

/// Says in a finished table which weights file it goes with. Does nothing to a
/// table without weights.
void setWeightsDigest(std::string &table, const fb::WeightsDigest &digest);

/// The same model on one device, to travel inside a compiled model.
struct ReferenceBuild {
  /// Planned soaprt programs. Its `module @kernels` starts with the kernels of
  /// the model that it travels in, so that one list serves both.
  mlir::ModuleOp module;
  ModelOptions options;
};

/// A compiled model in memory.
struct ModelContents {
  std::string library;     ///< Of the shared library.
  std::string weights;     ///< Of the safetensors file; empty: none.
  std::string weightsName; ///< What the library calls it, beside itself.
};

/// Makes what emitModel() with the output `name` (`m.so`) writes.
mlir::FailureOr<ModelContents>
emitModelContents(mlir::ModuleOp module, const ModelOptions &options,
                  llvm::StringRef name,
                  const ReferenceBuild *reference = nullptr);

/// Writes the compiled model `outputPath` and, if any parameter is loaded from
/// a file, its weights beside it (`m.so`: `m.safetensors`). Both appear, or old
/// files stay as they were. `reference`, if not null, goes in too.
mlir::LogicalResult emitModel(mlir::ModuleOp module,
                              const ModelOptions &options,
                              llvm::StringRef outputPath,
                              const ReferenceBuild *reference = nullptr);

} // namespace soap

#endif // SOAP_TARGET_MODEL_MODEL_H
