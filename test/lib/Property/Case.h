//===- Case.h - One graph under several strategies --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TEST_PROPERTY_CASE_H
#define SOAP_TEST_PROPERTY_CASE_H

#include "NativeCode.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "soap/Pipelines/Pipelines.h"
#include "soap/Verification/SimulatedProgram.h"
#include "llvm/Support/JSON.h"

namespace soap::property {

/// An imported model that is compiled and run under strategies, all in this
/// process: what soap-compile and soap-run do, without a shared library.
/// Functions that fail say why in an llvm::Error; diagnostics of MLIR are part
/// of it.
class Case {
public:
  /// Files that models need at run time are written to `folder`.
  Case(mlir::MLIRContext &context, NativeCode &code, std::string folder);
  ~Case();

  struct Form {
    int64_t unrollRNN = 0; ///< Steps of a recurrent operation; 0: all of them.
    /// Operations per element become one (nn-fuse), and the library applies
    /// what follows its kernels.
    bool fuse = false;
    std::string precision = "f32"; ///< What products multiply.
    /// Their biases are of this type, where results are of 16 bits.
    bool roundBias = true;
    const llvm::json::Object *train = nullptr;
  };
  /// With `train`, the model becomes a step of training by gradient descent on
  /// the mean squared error of an output: {"output": NAME, "lr": x, "momentum":
  /// x, "clip": x, "steps": n, "accumulate": n, "parts": n,
  /// "recompute": operations}; labels are the
  /// input "label", and "parts" those of the batch that batch norms have
  /// statistics of.
  llvm::Error import(llvm::StringRef model, const Form &form);

  /// Compiles and runs the model under the strategy that `request` describes:
  /// {"devices": n, "strategy": NAME or a strategy file's object, "seed": n}.
  /// With "split", one loop of a named strategy is split as aimStrategy() says.
  /// With "adapt", what a strategy file says of another graph is ignored.
  /// `inputs` holds the bytes of each input by name. Writes the outputs, one
  /// after another, to the file `output`. Returns what is known of the run:
  /// {"strategy", "coverage", "outputs": [NAME...], "movements": n}. Of
  /// training, these are the outputs of every step, and "before NAME" and
  /// "after NAME" of what lasts from step to step, then "eval NAME" of what the
  /// model makes of its inputs, with "shapes" and "types" of all.
  llvm::Expected<llvm::json::Object>
  run(const llvm::json::Object &request,
      const llvm::StringMap<std::string> &inputs, llvm::StringRef output);

private:
  llvm::Expected<Strategy> chooseStrategy(const ModuleProblem &problem,
                                          const llvm::json::Object &request,
                                          llvm::StringRef name);
  /// Partitions a program and proves it; appends what it moves.
  llvm::Error partition(mlir::ModuleOp module, const ModuleProblem &problem,
                        const Strategy &strategy, const Topology &topology,
                        std::vector<MovementList> &movements);
  llvm::Error fail(llvm::StringRef what);
  bool runPasses(mlir::ModuleOp module,
                 llvm::function_ref<void(mlir::OpPassManager &)> build);

  mlir::MLIRContext &context_;
  NativeCode &code_;
  std::string folder_, diagnostics_;
  mlir::DiagnosticEngine::HandlerID handler_;
  mlir::OwningOpRef<mlir::ModuleOp> model_;
  int64_t trainingSteps_ = 0; ///< Of a step of training.
  LowerChoices choices_;
};

} // namespace soap::property

#endif // SOAP_TEST_PROPERTY_CASE_H
