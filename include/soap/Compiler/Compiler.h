//===- Compiler.h - From a model to a shared library ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What soap-compile does, as a library: it prints nothing, ends no process,
// handles no signals, and keeps nothing between two compilations, which any
// number of threads may make at the same time. Targets are registered before
// (soap/Target/Registration):
//
//   registerAllTargets();
//   ModelSource source;
//   source.path = "resnet50.onnx";
//   CompilerOptions options;
//   options.devices = 4;
//   options.output = "resnet50.so";
//   CompilationResult result;
//   if (llvm::Error error = compileModel(source, options, {}, result))
//     ...
//
// docs/Compiler.md describes it.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_COMPILER_COMPILER_H
#define SOAP_COMPILER_COMPILER_H

#include "soap/Compiler/Options.h"
#include "soap/Search/SearchAlgorithm.h"
#include "soap/Target/Model/Model.h"
#include "llvm/Support/JSON.h"
#include <array>
#include <functional>

namespace mlir {
class TimingScope;
} // namespace mlir

namespace soap {

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// Why there is no model.
class CompileError : public llvm::ErrorInfo<CompileError> {
public:
  enum class Kind {
    BadInput, ///< Model, options or strategy: a mistake of the user.
    Failed,   ///< The compiler or the machine: a full disk, no linker.
    Cancelled ///< As the caller asked for.
  };
  static char ID;

  CompileError(Kind kind, std::vector<std::string> messages)
      : kind(kind), messages(std::move(messages)) {}

  /// All messages, one per line.
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

  Kind kind;
  /// What was expected, what came instead, and the cure. A message may have
  /// more lines, which are indented.
  std::vector<std::string> messages;
};

//===----------------------------------------------------------------------===//
// On the way
//===----------------------------------------------------------------------===//

/// The steps of a compilation, in order. The last four of them and Search may
/// come again, if what a search found does not fit into memory.
enum class Stage {
  Import,
  Normalize,
  Calibration, ///< Measuring this machine, which happens once.
  Measure,     ///< Measuring kernels, in turn with Search.
  Search,
  Strategy, ///< Simulating what was chosen.
  Partition,
  Lower,
  LibraryMemory,
  Emit
};
inline constexpr size_t numStages = 10;
/// "import", "search", ...
llvm::StringRef stringify(Stage stage);

/// What CompilerOptions::measureCosts has done so far.
struct MeasureProgress {
  int32_t kernels = 0; ///< Measured that were not known before.
  int32_t runs = 0;    ///< Strategies that were run for them.
  double seconds = 0;
  int32_t missing = 0; ///< Kernels that are to be measured next.
};

/// Where a compilation is.
struct CompilerProgress {
  Stage stage = Stage::Import;
  /// Of a search; null elsewhere, and before its first report.
  const SearchProgress *search = nullptr;
  /// Of Stage::Measure; null at its beginning.
  const MeasureProgress *measuring = nullptr;
};

/// What is to become of a compilation.
enum class Proceed {
  Continue,
  EndSearch, ///< Take the best strategy so far: search and measure no more.
             ///< Continues elsewhere.
  Cancel     ///< Fail with CompileError::Kind::Cancelled.
};

enum class Severity { Remark, Warning };

/// All may be empty. They are called by the thread that compiles, except that
/// `progress` may be called by threads of a search, one at a time.
struct CompilerCallbacks {
  /// A line about what was found or is missing; no mistake.
  std::function<void(Severity, llvm::StringRef)> message;
  /// Called at the beginning of every stage, and now and then in a search. The
  /// other stages run to their end before they are cancelled.
  std::function<Proceed(const CompilerProgress &)> progress;
  /// Told of files beside the output that exist while it is written.
  TemporaryFileCallback temporaryFile;
  /// Measures the stages and their passes, or null.
  mlir::TimingScope *timing = nullptr;
};

//===----------------------------------------------------------------------===//
// The result
//===----------------------------------------------------------------------===//

/// What a compilation made, as far as it came: a strategy that was found is
/// here if the compilation failed afterwards, too.
struct CompilationResult {
  /// The level that was asked for: IR, a topology (JSON), or the table of
  /// Emit::Report. Empty for Emit::SharedObject.
  std::string text;
  /// Of Emit::SharedObject without CompilerOptions::output.
  ModelContents model;

  std::string strategy; ///< A strategy file; empty: the model has tasks.
  /// What a step moves, as planned, as asked for: JSON.
  std::string movements;
  /// Operation, degrees, devices, time, bytes of every operation, as asked for.
  std::string strategyTable;
  int64_t simulatedNs = 0; ///< Step time of the strategy.

  std::optional<llvm::json::Object> report; ///< Emit::Report.
  std::optional<llvm::json::Object> proof;  ///< As asked for;
  std::string proofText;                    ///< one line per proof.
  /// Of TrainingOptions::recompute: "operations", the names of what is made
  /// again, "peak_memory_bytes" of the device that needs most, "step_ns", and
  /// "peak_memory_bytes_without", "step_ns_without", both under the same
  /// strategy without recomputation; simulated.
  std::optional<llvm::json::Object> recomputation;
  /// What the last search says of itself: counts, seconds, starts.
  std::optional<llvm::json::Object> search;
  /// Of CompilerOptions::checkLocalOptimality: how many neighbours there are,
  /// and the best of them if it is better.
  std::optional<llvm::json::Object> localOptimality;
  /// Of CompilerOptions::measureCosts: "file", kernels "measured", "runs",
  /// the strategy that was the "reference" of these (or ""), "wall_seconds",
  /// kernels "known", kernels of the strategy that are
  /// "missing", "classes": what is known of kernels without measuring.
  std::optional<llvm::json::Object> costs;
  /// Of CompilerOptions::tuneSeconds: the strategies that ran, in every "round"
  /// those that took turns, each with "name", "simulated_ns", "measured_ns" and
  /// its interval "low_ns" to "high_ns" (TimeSummary), "steps", "taken".
  std::optional<llvm::json::Array> tuning;
  /// Its best step time over time, CSV: seconds, proposals, ns.
  std::string searchLog;

  /// Wall time of the stages, by Stage.
  std::array<double, numStages> seconds = {};
};

/// Compiles a model. Fails with a CompileError. A model that is written appears
/// with its weights, or neither does.
llvm::Error compileModel(const ModelSource &source,
                         const CompilerOptions &options,
                         const CompilerCallbacks &callbacks,
                         CompilationResult &result);

} // namespace soap

#endif // SOAP_COMPILER_COMPILER_H
