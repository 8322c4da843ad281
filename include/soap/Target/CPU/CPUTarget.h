//===- CPUTarget.h - The cores of a host as devices -------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The target `cpu`: a device is a set of cores of the host, its library is
// oneDNN (lib/Runtime/CPU), and native kernels are machine code for the host.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TARGET_CPU_CPUTARGET_H
#define SOAP_TARGET_CPU_CPUTARGET_H

#include "soap/Target/Host/HostProcessor.h"
#include "soap/Target/Target.h"

namespace soap {

class CPUTarget : public Target {
public:
  /// `name`: that of a target that shares this one's code.
  explicit CPUTarget(HostProcessor processor, std::string name = "cpu")
      : Target(std::move(name)), processor_(std::move(processor)),
        hasByteProducts_(processor_.hasFeature("avx2")),
        multipliesBF16_(multipliesBF16(processor_)) {}

  /// Convolution, its gradients, transposed convolution, matrix product,
  /// pooling, softmax, layer normalisation and local response normalisation, of
  /// f32, as far as oneDNN has their attributes, and attention. On
  /// processors with AVX2 also products and convolutions of ui8 by i8 without a
  /// bias, and pools of bf16 on those that multiply bf16.
  bool isLibraryKernel(mlir::Operation *op) const override;
  mlir::LogicalResult buildLibraryKernel(mlir::Operation *op,
                                         fb::KernelT &kernel) const override;
  /// Where oneDNN widens factors of 16 bits.
  std::string describePrecision(Precision precision) const override;
  bool hasAttention() const override;
  /// Where products are faster, as long as scores stay in a cache.
  int64_t getAttentionScoreBytes(Precision precision) const override;
  /// Of bf16, on processors that multiply it.
  ProductRounding getProductRounding(Precision precision) const override;
  ChannelsLast getChannelsLast(mlir::Operation *op) const override;
  /// Of convolutions and matrix products of f32 or bf16: oneDNN's
  /// post-operations. It rounds what the last one makes to bf16 where products
  /// are of that.
  std::optional<FollowerUse> getFollower(mlir::Operation *anchor,
                                         mlir::Operation *follower,
                                         unsigned operand,
                                         bool keepNaN) const override;
  llvm::Expected<std::vector<LibraryMemory>>
  planLibraryMemory(llvm::StringRef table,
                    uint32_t coresPerDevice) const override;

  void registerDialects(mlir::DialectRegistry &registry) const override;
  void buildKernelPipeline(mlir::OpPassManager &passes) const override;
  mlir::FailureOr<KernelCode>
  emitKernels(mlir::ModuleOp kernels) const override;
  llvm::Error addRequirements(fb::ModelT &model) const override;

  std::string getMachineName() const override;
  soap_native_kernel getStreamKernel() const override;
  llvm::Expected<Topology>
  describeMachine(const MachineRequest &request) const override;

private:
  /// Whether oneDNN's products of bf16 are faster there than those of f32.
  static bool multipliesBF16(const HostProcessor &processor);

  HostProcessor processor_;
  /// Whether the runtime has fast ones of 8 bits: oneDNN's with AVX512_VNNI,
  /// else its own.
  bool hasByteProducts_;
  bool multipliesBF16_;
};

/// Registers the target `cpu`. Its processors are LLVM's names of this
/// machine's architecture; the default is this machine.
void registerCPUTarget();

} // namespace soap

#endif // SOAP_TARGET_CPU_CPUTARGET_H
