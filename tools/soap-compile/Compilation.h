//===- Compilation.h - One run of soap-compile ------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TOOLS_SOAPCOMPILE_COMPILATION_H
#define SOAP_TOOLS_SOAPCOMPILE_COMPILATION_H

#include "CommandLine.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "soap/Pipelines/Proof.h"
#include "soap/Pipelines/SimulatedProgram.h"
#include "soap/Target/Model/Model.h"
#include "soap/Transforms/StrategyIR.h"

namespace soap {

/// From a model to what the command line asks for.
class Compilation {
public:
  Compilation(const CommandLine &line, mlir::MLIRContext &context);

  /// Runs all steps; prints errors. Returns the exit code.
  int run();

private:
  /// Bad input (2) up to the strategy, a failure of ours (1) behind it.
  enum Exit { Fine = 0, Failed = 1, BadInput = 2 };

  /// How far a model has been decided on before it came here.
  enum class Level {
    Graph,      ///< nn operations.
    Configured, ///< nn operations, all that compute with a configuration.
    Tasks       ///< What soap-partition made, perhaps edited.
  };

  /// run(), but for files that could be opened and not be written.
  int runSteps();
  bool import();
  /// The level of an .mlir model.
  static Level levelOf(mlir::ModuleOp module);
  /// From a graph to tasks: topology, strategy, partition. Fine and `done` if
  /// the level to print came before.
  int makeTasks(bool &done);
  /// The part of it that begins with the strategy.
  int makeConfiguredTasks(bool &done);
  /// The strategy to take: a name, a file, or empty: what the model carries.
  /// The module must have a topology.
  std::string strategyName() const;
  /// Checks tasks that the user wrote.
  int checkTasks();
  /// The machine that the command line describes.
  llvm::Expected<Topology> describeTopology();
  bool attachTopology();
  int printTopology();
  /// The file with the rates of this machine; empty: round figures. Measures
  /// first if it must.
  std::string findCalibration(int32_t devices);
  /// Configures all operations, by name, file or search, or as they are.
  bool chooseStrategy();
  /// The number of devices that the strategy names.
  llvm::Expected<int32_t> devicesOfStrategy();
  /// The strategy that was asked for; prints what is wrong.
  std::optional<Strategy> decideStrategy(const ModuleProblem &problem);
  llvm::Expected<Strategy> importStrategy(const ModuleProblem &problem);
  llvm::Expected<Strategy> searchStrategy(const ModuleProblem &problem);
  /// The table of strategies: the experts' and the search's.
  bool report();
  bool runPasses(llvm::function_ref<void(mlir::OpPassManager &)> build,
                 llvm::StringRef what);
  /// Adds what the kernel library needs to the memory plan and compares it with
  /// what the devices have.
  /// `again`: the strategy was searched, does not fit, and a search with less
  /// memory may find another.
  int planMemory(bool &again);
  /// Prints the module to the output file or standard output.
  int print();
  /// From planned programs to the level that was asked for.
  int emitPrograms();
  int emitSharedObject();
  /// What --prove and --json ask for, beside what --emit prints.
  void printResults();
  bool writeText(llvm::StringRef path, llvm::StringRef text);
  /// A file was opened and could not be written: no mistake of the command.
  bool writeFailed = false;

  const CommandLine &line;
  mlir::MLIRContext &context;
  mlir::DefaultTimingManager timing;
  mlir::TimingScope timer;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// The model as it was before a strategy was chosen; null if not needed.
  mlir::OwningOpRef<mlir::ModuleOp> normalized;
  /// The same with its topology, for a search that is repeated; null if the
  /// strategy is not searched.
  mlir::OwningOpRef<mlir::ModuleOp> unconfigured;
  /// @{ Searches so far, and the bytes that they must leave of a device.
  static constexpr int maxSearches = 4;
  int searches = 0;
  std::map<int32_t, int64_t> reserved;
  /// @}
  ModelOptions model;
  Level level = Level::Graph;
  /// What the strategy's simulation promises; set by chooseStrategy().
  std::unique_ptr<SimulatedProgram> simulated;
  MovementList movements; ///< What the program moves, as planned.
  Proof proof;
  /// What a search says of itself, for --json.
  std::optional<llvm::json::Object> searchReport;
};

} // namespace soap

#endif // SOAP_TOOLS_SOAPCOMPILE_COMPILATION_H
