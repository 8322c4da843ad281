//===- Options.h - What the compiler is asked for ---------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_COMPILER_OPTIONS_H
#define SOAP_COMPILER_OPTIONS_H

#include "soap/Links/LinkSpeed.h"
#include "soap/Support/WrittenFiles.h"
#include "soap/Target/ONNX/Import.h"
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace soap {

/// How far a model is compiled.
enum class Emit {
  Topology, ///< No model, only the machine: JSON.
  NN,       ///< Operations on whole tensors: IR, as the next four.
  Strategy, ///< The same, each with a configuration.
  SOAP,     ///< Tasks on shards.
  SOAPRT,   ///< One program per device.
  LLVM,     ///< The same, with native kernels lowered as far as MLIR goes.
  Report,   ///< A table of strategies, simulated.
  SharedObject
};

/// As in --emit: "so", "nn", ...
llvm::StringRef stringify(Emit emit);
/// The inverse; nullopt: there is none of that name.
std::optional<Emit> parseEmit(llvm::StringRef name);

/// A model, in a file or in memory.
struct ModelSource {
  /// *.onnx or *.mlir, which is what the model's form follows from. A model in
  /// memory has a path, too: messages name it, and external data and #nn.file
  /// are looked up beside it.
  std::string path;
  /// The model in memory, which stays there until it is compiled; nullopt: it
  /// is read from `path`.
  std::optional<llvm::StringRef> contents;
  /// Files beside the model whose bytes are in memory, too, by their location
  /// relative to the model's folder: external data of an ONNX model, what
  /// #nn.file refers to. All others are read from disk.
  std::map<std::string, llvm::StringRef> files;
};

/// A training step in place of inference: the options of the pass
/// nn-build-training-step, which describes them and says what is wrong with
/// them.
struct TrainingOptions {
  std::string optimizer; ///< sgd, adam or adamw; empty: gradients alone.
  std::string loss = "softmax-cross-entropy";
  std::string output; ///< The output that the loss is of; empty: the only one.
  std::string label = "label"; ///< The input that is added for labels.
  int64_t classAxis = 1;
  std::optional<int64_t> ignoreIndex;
  double labelSmoothing = 0;
  std::string batchNorm = "global"; ///< Or "local", "frozen".
  int64_t batchNormParts = 0;       ///< Of "local"; 0: as many as devices.
  /// "two-pass" or "shifted"; empty: two passes on one device.
  std::string batchNormVariance;
  double batchNormMomentum = 0.9;
  std::string freeze;     ///< Parameters that are not trained, or empty.
  std::string tieWeights; ///< Parameters that are one, or empty.
  /// Gradients are reduced together as long as they have so many bytes at most;
  /// 0: each is reduced by itself; nullopt: what chooseBucketBytes() says.
  std::optional<int64_t> bucketBytes;
  /// What is gathered again is launched so far ahead of its reader that nodes
  /// in between read at most so many bytes of parameters; 0: one node ahead.
  int64_t prefetchBytes = int64_t(32) << 20;
  double rate = 0.01;
  std::string schedule = "constant"; ///< Or "step", "cosine", "linear".
  int64_t warmup = 0, period = 1;
  double factor = 0.1;
  double momentum = 0;
  bool nesterov = false;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weightDecay = 0;
  bool decayVectors = true;
  double clipNorm = 0;
  /// Update the slices that were looked up in a table, alone, where the others
  /// stay as they are (nn-sparse-updates).
  bool sparseUpdates = true;
  /// The first scale of the loss, which is halved in steps whose gradients are
  /// not finite, and doubled after so many others in a row; 0: none; absent:
  /// 65536 for products of f16, else none.
  std::optional<double> lossScale;
  int64_t lossScalePeriod = 2000;
  /// The model itself as a second program, "eval", over the parameters that the
  /// step writes. Of a step with an optimizer.
  bool evaluation = true;
  std::string dropout = "model"; ///< Or "none", or a ratio for all.
  uint64_t dropoutSeed = 0;
  int64_t accumulate = 1; ///< Micro-batches of a step.
  /// What the backward pass makes again in place of keeping it: as in the pass
  /// nn-recompute; "auto" alone: what memory requires; empty: nothing.
  std::vector<std::string> recompute;
};

/// Everything that decides what is compiled. checkOptions() says what is wrong
/// with it.
struct CompilerOptions {
  Emit emit = Emit::SharedObject;
  /// Of Emit::SharedObject: the library (*.so) to write, with its weights
  /// beside it; empty: both stay in memory.
  std::string output;
  /// Files that the caller writes, by their options: {"--export-strategy",
  /// PATH}. None of these, and none of the output, may be one that is read.
  std::vector<std::pair<std::string, std::string>> otherOutputs;
  ONNXImportOptions import; ///< Of a model *.onnx. `files` stays empty.
  int64_t unrollRNN = 0;    ///< Steps per part of a recurrent layer; 0: whole.
  /// What products multiply: f32, bf16, f16, or tf32 where the target has it
  /// (nn-lower-precision), and what is between them where the target rounds
  /// (nn-narrow-activations).
  std::string precision = "f32";
  /// Multiply quantized tensors where a model multiplies what they stand for
  /// (nn-integer-products).
  bool integerProducts = true;
  bool fuse = true; ///< Make one operation of several per element (nn-fuse).
  /// Make one operation of attention where all devices are of the target's own
  /// kind and it has a kernel (nn-fold-attention), unless all stays apart
  /// (`fuse`) or NaN is handed on (`keepNaN`).
  bool attention = true;
  /// Let the library apply those that follow its kernels
  /// (soaprt-fuse-followers), and make one native kernel of several where the
  /// target wants it (soaprt-join-kernels), unless all stay apart (`fuse`).
  bool followers = true;
  /// Only where NaN is handed on; in a step of training it always is.
  bool keepNaN = false;
  /// Choose the order of elements of buffers (soaprt-assign-layouts).
  bool layouts = true;
  /// Let the runtime compute convolutions and their gradients by Winograd's
  /// algorithm where that is faster: results differ from those of direct sums
  /// in the last digits.
  bool winograd = true;
  /// A step of training, of a model on the level of Emit::NN.
  std::optional<TrainingOptions> training;

  //===--------------------------------------------------------------------===//
  // Machine
  //===--------------------------------------------------------------------===//

  /// A registered target (soap/Target/TargetRegistry.h), or empty: the first.
  std::string target;
  std::string processor; ///< What code is made for; empty: its default.
  /// Equal devices of this machine; nullopt: those of the topology in an .mlir
  /// model, else as many as the strategy names, else 1.
  std::optional<int32_t> devices;
  std::string topology;       ///< A file or a name (loadTopology()), or empty.
  int32_t coresPerDevice = 0; ///< 0: an even split.
  /// Links of this speed between the devices of this machine (soap-run --link).
  std::optional<LinkSpeed> link;
  /// Rates of this machine: a file, "none" (round figures), or "auto": measured
  /// once for every number of devices and kept. For one device they are
  /// measured if `devices` says so or if simulated times are asked for; else
  /// what was kept is taken, or round figures.
  std::string calibration = "auto";
  std::string costFile; ///< Measured costs over analytic ones, or empty.
  /// Measure kernels on this machine, those of the named strategies and of what
  /// is found, within budgetSeconds. Without a topology, on devices of this
  /// machine. nullopt: with tuneSeconds, and if a strategy for several of them
  /// is searched, unless that has to be repeatable (`proposals`, `searchState`)
  /// or costs come from elsewhere (`costFile`, `calibration`, and where no
  /// calibration is kept).
  std::optional<bool> measureCosts;
  /// Run the best strategies for so long, search again with what they took, and
  /// take the fastest one. With a search, on measured costs; nullopt: what was
  /// found on measured costs and two named strategies run once in turn.
  std::optional<double> tuneSeconds;

  //===--------------------------------------------------------------------===//
  // Strategy
  //===--------------------------------------------------------------------===//

  /// A named strategy, "search", a .json file, or empty: what the model
  /// carries, else "search" for more than one device.
  std::string strategy;
  /// A launch policy, or empty: the order that the strategy has.
  std::string schedule;
  /// The algorithm, as createSearchAlgorithm() names it: one, or "best:" and
  /// several.
  std::string search = "mcmc";
  /// Algorithms that find starts for it, separated by commas, or empty.
  std::string startSearches;
  /// Limit of all searches of one compilation; one ends before if it has
  /// converged.
  double budgetSeconds = 60;
  uint64_t proposals = 0;  ///< Limit of a search; 0: none.
  uint64_t stagnation = 0; ///< As in SearchOptions.
  uint64_t seed = 0;       ///< Of the search and of random strategies.
  int32_t chains = 4;      ///< As in SearchOptions.
  /// Search from so many random strategies, and strategies with the least sum
  /// of costs, but no named ones.
  std::optional<int32_t> searchStarts;
  std::string searchState; ///< File of a search that can go on, or empty.

  //===--------------------------------------------------------------------===//
  // What is wanted beside the model
  //===--------------------------------------------------------------------===//

  bool prove = false; ///< Prove what was made; see docs/Dialects/SOAP.md.
  bool strategyTable = false; ///< CompilationResult::strategyTable.
  bool movements = false;     ///< CompilationResult::movements.
  /// Compare the strategy with all of its neighbours, within a budget of its
  /// own of budgetSeconds: CompilationResult::localOptimality.
  bool checkLocalOptimality = false;
  /// Refuse a model of tasks, which does not say what strategy it came from.
  bool needsStrategy = false;
  /// Put what soap-run --verify needs into the model.
  bool reference = true;
};

/// Fails if no file can be made at `path`, which `option` ("-o") names: its
/// folder is missing or cannot be written.
llvm::Error checkOutputFolder(llvm::StringRef option, llvm::StringRef path);

/// All files that a compilation and its caller write.
WrittenFiles writtenFiles(const CompilerOptions &options);

/// Checks all that can be without reading a file: values, names, what excludes
/// each other, and that named files exist. Errors are CompileErrors.
llvm::Error checkOptions(const ModelSource &source,
                         const CompilerOptions &options);

} // namespace soap

#endif // SOAP_COMPILER_OPTIONS_H
