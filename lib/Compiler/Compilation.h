//===- Compilation.h - One compilation --------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_COMPILER_COMPILATION_H
#define SOAP_LIB_COMPILER_COMPILATION_H

#include "KernelMeasurer.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "soap/Compiler/Compiler.h"
#include "soap/Search/BucketSizes.h"
#include "soap/Transforms/StrategyChoice.h"
#include "soap/Verification/Proof.h"
#include "soap/Verification/SimulatedProgram.h"
#include "llvm/ADT/StringSet.h"
#include <chrono>

namespace soap {

/// A step of training that makes values again, with a strategy.
struct RepeatedStep {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< With its topology.
  /// Without; null if none is needed.
  mlir::OwningOpRef<mlir::ModuleOp> normalized;
  std::unique_ptr<ModuleProblem> problem; ///< Of `module`.
  Strategy strategy;
  int64_t stepNs = 0; ///< Simulated.
};

/// What recomputation saves and takes, simulated.
struct RecomputationReport {
  std::vector<int32_t> nodes; ///< That are made again.
  /// Of the device that needs most, and of a step; with recomputation, and the
  /// same strategy without.
  int64_t peakBytes = 0, peakBytesBefore = 0, stepNs = 0, stepNsBefore = 0;
};

/// A strategy that may be taken.
struct Candidate {
  std::string name; ///< For messages.
  Strategy strategy;
  int64_t stepNs = 0; ///< Simulated.
  bool fits = true;
  int32_t missing = 0; ///< Kernels without a measured time.
};

/// A strategy that is run.
struct Trial {
  Candidate candidate;
  std::unique_ptr<TimedModel> model; ///< Null once it has lost.
  std::vector<int64_t> times;        ///< Of steps of its last round, in ns.
  /// What it took, in rounds 1, 2, ...: those of one round ran in turn.
  std::vector<std::pair<int, TimeSummary>> rounds;
};

/// What one call of compileModel() knows while it goes from the model to what
/// was asked for.
class Compilation {
public:
  /// The arguments of compileModel().
  struct Request {
    const ModelSource &source;
    const CompilerOptions &options;
    const CompilerCallbacks &callbacks;
  };

  /// `files`: what the model refers to. All arguments outlive this object, and
  /// so does what `request` refers to.
  Compilation(const Request &request, const nn::Files &files,
              const Target &target, mlir::MLIRContext &context,
              CompilationResult &result);

  /// Goes through all stages.
  llvm::Error run();

private:
  using Kind = CompileError::Kind;

  /// How far a model has been decided on before it came here.
  enum class Level {
    Graph,      ///< nn operations.
    Configured, ///< nn operations, some that compute with a configuration.
    Tasks       ///< What soap-partition made, perhaps edited.
  };

  //===--------------------------------------------------------------------===//
  // Steps: Compilation.cpp
  //===--------------------------------------------------------------------===//

  llvm::Error importModel();
  /// No file that was or will be read of it is one that is written.
  llvm::Error checkFilesOfModel();
  llvm::Error parseModule();
  /// Normal form, and a topology.
  llvm::Error buildTrainingStep(const TrainingOptions &training);
  llvm::Error prepareGraph();
  /// Whether all devices will be of the target's own kind, asked before they
  /// are attached.
  bool willKnowLibraries();
  ProductRounding productRounding();
  bool foldsAttention() const;
  llvm::Error normalize();
  llvm::Error fuse();
  /// From the strategy to tasks in launch order.
  llvm::Error makeTasks();
  /// Whether lower() is part of what was asked for.
  bool makesPrograms() const {
    return options_.emit == Emit::SOAPRT || options_.emit == Emit::LLVM ||
           options_.emit == Emit::SharedObject;
  }
  /// From tasks to planned programs. `again`: the strategy was searched, does
  /// not fit, and a search with less memory may find another.
  llvm::Error lower(bool &again);

  LowerChoices lowerChoices() const;
  /// Marks what the library of this machine's devices will apply behind its
  /// kernels; removes all marks where that is not known or not wanted.
  llvm::Error markFollowers();

  /// Ends the stage before. Fails if the caller cancels.
  llvm::Error begin(Stage stage);
  /// Asks the caller; remembers a wish to cancel.
  Proceed ask(const CompilerProgress &progress);
  void endStage();

  /// Whether the target multiplies what the products of the module multiply;
  /// warns where they are not as fast as their name says.
  llvm::Error checkPrecisions();

  /// On the module, and with `evaluation` on the evaluation program in it, too.
  llvm::Error runPasses(llvm::function_ref<void(mlir::OpPassManager &)> build,
                        llvm::StringRef what, Kind kind,
                        bool evaluation = false);
  /// The module of the evaluation program, or null.
  mlir::ModuleOp evaluation();
  mlir::TimingScope nest(llvm::StringRef what);
  void remark(const llvm::Twine &text) const { tell(Severity::Remark, text); }
  void warn(const llvm::Twine &text) const { tell(Severity::Warning, text); }
  void tell(Severity severity, const llvm::Twine &text) const;

  //===--------------------------------------------------------------------===//
  // The machine: Machine.cpp
  //===--------------------------------------------------------------------===//

  /// What the options describe.
  llvm::Expected<int32_t> countDevices();
  llvm::Expected<Topology> describeTopology();
  llvm::Error attachTopology();
  /// Warns of kinds of devices in a topology that was asked for which have no
  /// rate for what the products multiply.
  llvm::Error checkRates();
  /// The file with the rates of this machine; empty: round figures. Measures
  /// first if it must.
  std::string findCalibration(int32_t devices);
  /// The number of devices that the strategy names.
  llvm::Expected<int32_t> devicesOfStrategy();

  //===--------------------------------------------------------------------===//
  // Models that were decided on before: Levels.cpp
  //===--------------------------------------------------------------------===//

  static Level levelOf(mlir::ModuleOp module);
  /// Checks tasks that the user wrote.
  llvm::Error checkTasks();
  llvm::Error checkTasks(mlir::ModuleOp program, MovementList &movements);

  //===--------------------------------------------------------------------===//
  // The strategy: Strategy.cpp
  //===--------------------------------------------------------------------===//

  /// The strategy to take: a name, a file, or empty: what the model carries.
  /// The module must have a topology.
  std::string strategyName() const;
  /// May make values again (recomputeAsNeeded()): then module_ and `problem`
  /// are those of another step.
  llvm::Expected<Strategy> decideStrategy(ModuleProblem &problem);
  StrategyRequest requestOf(const std::string &name);
  void recordSearch(const SearchResult &search);
  /// Whether gradients may be reduced in buckets of any size.
  bool choosesBuckets() const;
  /// Lets `problem`, and all that is read from now on, have the buckets that a
  /// strategy asks for or, if it asks for none and they may be of any size,
  /// those with which its step is shortest.
  void chooseBuckets(ModuleProblem &problem, const Strategy &strategy);
  /// If that is asked for, says whether a neighbour of the strategy is better.
  void checkNeighbours(const ModuleProblem &problem, const Strategy &strategy);
  /// Configures all operations, by name, file or search, or as they are.
  llvm::Error configure();
  /// Lets the evaluation program follow the strategy of the step.
  llvm::Error configureEvaluation();
  /// What the evaluation program takes under a strategy of the step; simulated,
  /// in ns.
  int64_t evaluationNs(const ModuleProblem &step, const Strategy &strategy,
                       const ModuleProblem &evaluation) const;
  /// Says where a strategy leaves devices without work, and why.
  void explainIdleDevices(const ModuleProblem &problem,
                          const Strategy &strategy);
  /// Warns if the user's file of costs has no kernel that the strategy
  /// launches.
  void checkCosts(const ModuleProblem &problem, const Strategy &strategy);
  /// What a strategy is, moves and takes, for files and tables.
  void describeStrategy(const ModuleProblem &problem, const Strategy &strategy);
  /// The random strategy of a large machine is left out of the table unless it
  /// is asked for.
  bool isOptionalRow(llvm::StringRef name) const;
  /// Adds a row to the table of strategies. `inner`: the evaluation program, or
  /// null.
  llvm::Error addRow(mlir::SmallVectorImpl<StrategyReport> &rows,
                     llvm::StringRef name, const ModuleProblem &problem,
                     const Strategy &strategy, const ModuleProblem *inner);
  /// The table of strategies: the experts' and the search's.
  llvm::Error report();

  //===--------------------------------------------------------------------===//
  // Measured costs: MeasuredSearch.cpp
  //===--------------------------------------------------------------------===//

  /// Whether kernels are measured: CompilerOptions::measureCosts.
  bool measuresCosts(const ModuleProblem &problem) const;
  /// If so, measures the kernels of the named strategies, and of those that
  /// searches find on what was measured so far: measuredChoice_ is the result.
  /// The costs of `problem` are the measured ones then.
  llvm::Error measureCosts(ModuleProblem &problem);
  llvm::Error openMeasurer(const ModuleProblem &problem);
  /// Lets `problem`, and all that is read from now on, have the costs that the
  /// measurer knows.
  llvm::Error takeMeasuredCosts(ModuleProblem &problem);
  double searchSeconds() const;
  /// Fills in what a simulation says of a candidate.
  void simulate(const ModuleProblem &problem, Candidate &candidate) const;
  std::vector<Candidate> namedCandidates(const ModuleProblem &problem) const;
  /// What a step under a strategy takes of all devices' memory, and what they
  /// have, in bytes; 0: no limit is known.
  static std::pair<double, double> memoryOf(const ModuleProblem &problem,
                                            const Strategy &strategy);
  /// True if a strategy takes so little of it that others fit beside it.
  static bool canBeReference(const ModuleProblem &problem,
                             const Strategy &strategy);
  /// Lets the fastest named strategy whose kernels are all known be the
  /// reference of what is measured, if there is one.
  void loadReference(const ModuleProblem &problem);
  void setReference(const Candidate &candidate,
                    std::unique_ptr<TimedModel> model);
  /// Measures the kernels of the candidates that fit, the fastest first, until
  /// searchSeconds() is `untilSeconds`.
  llvm::Error measureAll(ModuleProblem &problem,
                         std::vector<Candidate> &candidates,
                         double untilSeconds);
  /// chooseStrategy(), without diagnostics if there is another way.
  mlir::FailureOr<ChosenStrategy> searchAgain(const ModuleProblem &problem,
                                              const StrategyRequest &request);
  llvm::Error searchMeasured(ModuleProblem &problem,
                             std::vector<Candidate> &named);
  void describeMeasuring(const ModuleProblem &problem,
                         llvm::ArrayRef<Candidate> candidates);

  //===--------------------------------------------------------------------===//
  // Strategies that are run: Tuning.cpp
  //===--------------------------------------------------------------------===//

  /// Runs measuredChoice_ and the candidates in turn, and lets measuredChoice_
  /// be what ran fastest. With CompilerOptions::tuneSeconds it feeds back what
  /// their kernels take, searches again, and goes on with what that finds.
  llvm::Error tune(ModuleProblem &problem, const std::vector<Candidate> &named);
  /// Which of the named ones run beside measuredChoice_, that one first.
  std::vector<Candidate> firstTrials(const ModuleProblem &problem,
                                     const std::vector<Candidate> &named) const;
  /// Loads the model of a trial; with CompilerOptions::tuneSeconds, what its
  /// kernels take is measured once more.
  llvm::Error load(const ModuleProblem &problem, Trial &trial);
  /// Loads a candidate and adds it to the trials; one that cannot be run is
  /// left out.
  llvm::Error tryCandidate(const ModuleProblem &problem, Candidate candidate,
                           std::vector<Trial> &trials);
  /// Takes steps of all trials in turn, in an order that is shuffled again and
  /// again.
  llvm::Error runInTurn(std::vector<Trial *> trials, double seconds);
  /// A strategy that is none of the trials'; nullopt: none is better.
  llvm::Expected<std::optional<Candidate>>
  searchAfterTrials(ModuleProblem &problem, const std::vector<Trial> &trials,
                    int round);
  void describeTrials(std::vector<Trial> &trials);

  //===--------------------------------------------------------------------===//
  // Values that are made again: Recompute.cpp
  //===--------------------------------------------------------------------===//

  /// --recompute=auto, of a step of training.
  bool recomputesAsNeeded() const;
  /// The step, normalized, in which the operations called so are made again.
  llvm::Expected<std::unique_ptr<RepeatedStep>>
  makeStep(const llvm::StringSet<> &names, const Topology &topology);
  /// The machine without what is set aside.
  Topology usableMachine(const Topology &topology) const;
  /// Makes values again until `strategy`, which does not fit into memory, fits.
  /// Null: it never does.
  llvm::Expected<std::unique_ptr<RepeatedStep>>
  fitByRecomputation(const ModuleProblem &problem, const Strategy &strategy);
  /// The fastest of the named strategies that fit only so, if its step takes
  /// less than `limitNs`; else null.
  llvm::Expected<std::unique_ptr<RepeatedStep>>
  fitNamedStrategies(const ModuleProblem &problem, int64_t limitNs);
  /// Searches a strategy for a step that makes values again, from the one that
  /// it has.
  llvm::Expected<std::unique_ptr<RepeatedStep>>
  searchRepeated(const ModuleProblem &problem,
                 std::unique_ptr<RepeatedStep> start);
  /// Makes values again if the strategy that was `chosen` does not fit into
  /// memory, or if none was found (failure). If it was searched, and fits, then
  /// if another one is faster so. module_, `problem` and `chosen` are those of
  /// the step that results.
  llvm::Error recomputeAsNeeded(ModuleProblem &problem,
                                mlir::FailureOr<Strategy> &chosen,
                                bool searches);
  llvm::Expected<RecomputationReport>
  compareRecomputation(const ModuleProblem &problem, const Strategy &strategy);
  /// Says what is made again, and what that saves and takes.
  llvm::Error describeRecomputation(const ModuleProblem &problem,
                                    const Strategy &strategy);

  //===--------------------------------------------------------------------===//
  // Planned programs: Programs.cpp
  //===--------------------------------------------------------------------===//

  /// Adds what the kernel library needs to the memory plan and compares it with
  /// what the devices have. `again` as in lower().
  llvm::Error planMemory(bool &again);
  llvm::Error emitPrograms();
  llvm::Error emitSharedObject();

  const ModelSource &source_;
  const CompilerOptions &options_;
  const CompilerCallbacks &callbacks_;
  const nn::Files &files_;
  const Target &target_;
  mlir::MLIRContext &context_;
  CompilationResult &result_;

  Stage stage_ = Stage::Import;
  std::chrono::steady_clock::time_point stageBegun_;
  bool cancelled_ = false;
  /// The caller wants no more searches and measurements.
  bool searchEnded_ = false;

  mlir::OwningOpRef<mlir::ModuleOp> module_;
  Level level_ = Level::Graph;
  /// The model as it was before a strategy was chosen; null if not needed.
  mlir::OwningOpRef<mlir::ModuleOp> normalized_;
  /// The same with its topology, for a search, or a choice of what is made
  /// again, that is repeated; null if there is neither.
  mlir::OwningOpRef<mlir::ModuleOp> unconfigured_;
  /// The step of training before its normal form, in which nothing is made
  /// again; null without --recompute.
  mlir::OwningOpRef<mlir::ModuleOp> step_;
  /// @{ Searches so far, choices of what is made again counted like them, and
  /// the bytes that they must leave of a device.
  static constexpr int maxSearches = 4;
  int searches_ = 0;
  std::map<int32_t, int64_t> reserved_;
  /// @}
  /// The devices are those of this machine, whose rates were measured.
  bool isCalibrated_ = false;
  /// A file of measured costs, or empty: the caller's, or what the measurer
  /// knew when it was asked last.
  std::string costFile_;
  std::unique_ptr<KernelMeasurer> measurer_; ///< Null: nothing is measured.
  std::string referenceName_;                ///< The strategy of its reference.
  /// What a search on measured costs has found, until it is taken.
  std::optional<ChosenStrategy> measuredChoice_;
  /// Why the state of a search could not be kept, or empty.
  std::string stateError_;
  ModelOptions model_;
  /// What the strategy's simulation promises; set by configure().
  std::unique_ptr<SimulatedProgram> simulated_;
  MovementList movements_; ///< What the program moves, as planned.
  Proof proof_;
  /// @{ The same of the evaluation program, if there is one.
  std::unique_ptr<SimulatedProgram> simulatedEvaluation_;
  MovementList evaluationMovements_;
  Proof evaluationProof_;
  /// @}
};

} // namespace soap

#endif // SOAP_LIB_COMPILER_COMPILATION_H
