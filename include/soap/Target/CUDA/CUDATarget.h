//===- CUDATarget.h - GPUs as devices ---------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The target `cuda`: a device is a GPU of NVIDIA of compute capability 8.0 or
// higher, its libraries are cuBLASLt and cuDNN, and native kernels are PTX.
// Nothing of CUDA is needed to compile for it.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TARGET_CUDA_CUDATARGET_H
#define SOAP_TARGET_CUDA_CUDATARGET_H

#include "soap/Target/CUDA/EmitPTX.h"
#include "soap/Target/Target.h"

namespace soap {

class CUDATarget final : public Target {
public:
  explicit CUDATarget(GPUArchitecture architecture)
      : Target("cuda"), architecture_(architecture) {}

  /// Matrix products, convolutions in one to three dims with equal pads on both
  /// sides, and their gradients, of factors of f32 (as such or as TF32), f16 or
  /// bf16, with a result of f32, and a bias of either type.
  bool isLibraryKernel(mlir::Operation *op) const override;
  mlir::LogicalResult buildLibraryKernel(mlir::Operation *op,
                                         fb::KernelT &kernel) const override;
  /// Both libraries round the sum that they make in f32 to the type of 16-bit
  /// factors: an nn.cast. The bias has to be of this type, too.
  std::optional<FollowerUse> getFollower(mlir::Operation *anchor,
                                         mlir::Operation *follower,
                                         unsigned operand,
                                         bool keepNaN) const override;
  ProductRounding getProductRounding(Precision) const override {
    return ProductRounding::SumAlone;
  }
  /// cuDNN's engines with a bias are slower than those without.
  bool separatesBias() const override { return true; }
  /// What tensor cores load at once.
  int64_t getRowAlignment() const override { return 16; }
  /// Rows that threads hold in registers are read and written once, whatever is
  /// done with them: a kernel pays if it is one launch of such rows.
  bool joinsKernels() const override { return true; }
  void buildJoinedPipeline(mlir::OpPassManager &passes) const override;
  bool paysJoined(mlir::ModuleOp kernels) const override;
  /// None fails: GPUs of compute capability 8.0 have tensor cores for all.
  llvm::Error checkPrecision(Precision precision) const override;
  /// An upper bound, from what the tables say: no GPU is asked.
  llvm::Expected<std::vector<LibraryMemory>>
  planLibraryMemory(llvm::StringRef table,
                    uint32_t coresPerDevice) const override;

  /// What cudaMalloc aligns to.
  int64_t getAlignment() const override { return 256; }
  void registerDialects(mlir::DialectRegistry &registry) const override;
  void buildKernelPipeline(mlir::OpPassManager &passes) const override;
  mlir::FailureOr<KernelCode>
  emitKernels(mlir::ModuleOp kernels) const override;
  mlir::FailureOr<KernelCode>
  planKernels(mlir::ModuleOp kernels) const override;
  /// Nothing: device code names what it runs on.
  llvm::Error addRequirements(fb::ModelT &model) const override;

  std::string getMachineName() const override;
  /// None: the compiler does not measure GPUs.
  soap_native_kernel getStreamKernel() const override { return nullptr; }
  /// Always fails: a topology of GPUs is given by file or by name.
  llvm::Expected<Topology>
  describeMachine(const MachineRequest &request) const override;

private:
  GPUArchitecture architecture_;
};

/// Registers the target `cuda`. Its processors are "sm_80", the default, and
/// those names of newer ones that LLVM knows.
void registerCUDATarget();

} // namespace soap

#endif // SOAP_TARGET_CUDA_CUDATARGET_H
