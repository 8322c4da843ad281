//===- Pipelines.h - Named pipelines ----------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The passes in their order, as soap-compile runs them and soap-opt names them.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_PIPELINES_PIPELINES_H
#define SOAP_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include <optional>
#include <string>

namespace soap {

class Target;
enum class ProductRounding : uint8_t;

/// What is chosen before a strategy.
struct NormalizeChoices {
  /// Recurrent layers become operations of so many steps (nn-unroll-rnn); 0:
  /// they stay whole.
  int64_t unrollRNN = 0;
  /// What products multiply: f32, or what nn-lower-precision takes.
  std::string precision = "f32";
  /// Products of dequantized tensors multiply integers of 8 bits
  /// (nn-integer-products), as those of quantized ones do.
  bool integerProducts = true;
  /// Biases are added behind convolutions (nn-separate-bias).
  bool separateBias = false;
  /// With a lower precision, recurrent layers may round to TF32.
  bool roundLayers = false;
  /// How results of 16-bit products are rounded (nn-narrow-activations).
  ProductRounding rounding{};
  /// Attention becomes one operation (nn-fold-attention), of f32 whatever
  /// products multiply, if its scores have at least so many bytes; nothing: its
  /// products are as all others.
  std::optional<int64_t> attentionScoreBytes;
  /// Bytes that rows of factors are to be multiples of (nn-arrange-factors); 1:
  /// factors lie as they are.
  int64_t rowAlignment = 1;
};

/// Normal form of an imported model: constants and batch norms folded,
/// parameter-only expressions in `@init`, and what is chosen.
void buildNormalizePipeline(mlir::OpPassManager &passes,
                            const NormalizeChoices &choices = {});

/// One operation of several per element (nn-fuse). Behind the normal form, and
/// behind a training step; what differentiates operations does not know it.
/// Before, attention becomes one operation (nn-fold-attention) if `attention`
/// says so.
/// `rounding`: casts that are all that the library makes behind products stay
/// apart; what it may make behind other operations is rounded in the end only.
void buildFusePipeline(mlir::OpPassManager &passes, bool attention = false,
                       ProductRounding rounding = {});

/// From a configured graph to tasks and communication in launch order:
/// soap-verify-strategy, soap-partition, soap-schedule.
void buildPartitionPipeline(mlir::OpPassManager &passes,
                            llvm::StringRef costFile = "");

/// What is chosen behind a strategy.
struct LowerChoices {
  bool layouts = true; ///< The order of elements (soaprt-assign-layouts).
  /// What the library applies (soaprt-fuse-followers), native kernels of
  /// several operations (soaprt-join-kernels), and, with layouts, what
  /// transpositions reshape (soaprt-join-reshapes).
  bool followers = true;
  bool keepNaN = false; ///< Followers of which the library hands NaN on.
};

/// From tasks to planned programs of `target`, which outlives the passes:
/// convert-soap-to-soaprt, what is chosen, soaprt-assign-streams,
/// soaprt-plan-memory.
void buildLowerPipeline(mlir::OpPassManager &passes, const Target &target,
                        const LowerChoices &choices = {});

/// Options of `soap-lower`, which ends with soaprt-verify-memory.
struct LowerOptions : mlir::PassPipelineOptions<LowerOptions> {
  Option<std::string> target{
      *this, "target",
      llvm::cl::desc("What is compiled for; empty: the first target"),
      llvm::cl::init("")};
  Option<bool> layouts{*this, "layouts",
                       llvm::cl::desc("Choose the order of elements of buffers "
                                      "(soaprt-assign-layouts), as "
                                      "soap-compile does"),
                       llvm::cl::init(false)};
  Option<bool> followers{
      *this, "followers",
      llvm::cl::desc("Let the library apply operations per element to what its "
                     "kernels make (soaprt-fuse-followers), and make one "
                     "native kernel of several where the target wants it "
                     "(soaprt-join-kernels), as soap-compile does"),
      llvm::cl::init(false)};
};

/// Options of `soap-parallelize`.
struct ParallelizeOptions : mlir::PassPipelineOptions<ParallelizeOptions> {
  Option<int64_t> unrollRNN{
      *this, "unroll-rnn",
      llvm::cl::desc("Steps per operation that recurrent layers are split "
                     "into; 0: none"),
      llvm::cl::init(0)};
  Option<std::string> precision{
      *this, "precision",
      llvm::cl::desc("What products multiply: f32, bf16 or f16"),
      llvm::cl::init("f32")};
  Option<bool> fuse{*this, "fuse",
                    llvm::cl::desc("Make one operation of several per element "
                                   "(nn-fuse), as soap-compile does"),
                    llvm::cl::init(false)};
  Option<int32_t> devices{*this, "devices",
                          llvm::cl::desc("Equal devices of this machine"),
                          llvm::cl::init(1)};
  Option<std::string> target{
      *this, "target",
      llvm::cl::desc("Whose devices this machine has; empty: the first target"),
      llvm::cl::init("")};
  Option<std::string> topology{
      *this, "topology", llvm::cl::desc("Topology file"), llvm::cl::init("")};
  Option<std::string> strategy{
      *this, "strategy",
      llvm::cl::desc(
          "A named strategy (soap-compile --help lists them), search "
          "or a strategy file"),
      llvm::cl::init("search")};
  Option<uint64_t> proposals{*this, "proposals",
                             llvm::cl::desc("Limit of the search"),
                             llvm::cl::init(0)};
  Option<uint64_t> seed{*this, "seed", llvm::cl::desc("Seed"),
                        llvm::cl::init(0)};
  Option<std::string> cost{*this, "cost",
                           llvm::cl::desc("File of measured costs"),
                           llvm::cl::init("")};
};

/// `soap-parallelize`: from an imported model through soap-schedule.
void buildParallelizePipeline(mlir::OpPassManager &passes,
                              const ParallelizeOptions &options);

/// Registers `soap-parallelize` and `soap-lower`.
void registerPipelines();

} // namespace soap

#endif // SOAP_PIPELINES_PIPELINES_H
