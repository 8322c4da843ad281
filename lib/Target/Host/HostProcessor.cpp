//===- HostProcessor.cpp - Code for the host's processor ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Target/Host/HostProcessor.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LoopUnrollPass.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include <mutex>

using namespace llvm;
using namespace soap;

/// An instruction set as LLVM names it, and its flag in /proc/cpuinfo.
struct InstructionSet {
  const char *llvm, *flag;
};

/// The instruction sets that LLVM uses by itself in code like that of kernels.
static const InstructionSet instructionSets[] = {
    {"sse3", "pni"},
    {"ssse3", "ssse3"},
    {"sse4.1", "sse4_1"},
    {"sse4.2", "sse4_2"},
    {"popcnt", "popcnt"},
    {"movbe", "movbe"},
    {"lzcnt", "abm"},
    {"bmi", "bmi1"},
    {"bmi2", "bmi2"},
    {"avx", "avx"},
    {"f16c", "f16c"},
    {"fma", "fma"},
    {"avx2", "avx2"},
    {"avx512f", "avx512f"},
    {"avx512cd", "avx512cd"},
    {"avx512bw", "avx512bw"},
    {"avx512dq", "avx512dq"},
    {"avx512vl", "avx512vl"},
    {"avx512vbmi", "avx512vbmi"},
    {"avx512ifma", "avx512ifma"},
    {"avx512vbmi2", "avx512_vbmi2"},
    {"avx512bitalg", "avx512_bitalg"},
    {"avx512vpopcntdq", "avx512_vpopcntdq"},
    {"avx512vnni", "avx512_vnni"},
    {"avx512bf16", "avx512_bf16"},
    {"avx512fp16", "avx512_fp16"},
    {"avxvnni", "avx_vnni"},
};

static void initializeTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
    InitializeNativeTargetAsmParser();
  });
}

HostProcessor HostProcessor::host() {
  HostProcessor processor;
  processor.triple = sys::getProcessTriple();
  processor.name = sys::getHostCPUName().str();
  StringMap<bool> features = sys::getHostCPUFeatures();
  SmallVector<StringRef> names(features.keys());
  sort(names);
  for (StringRef name : names) {
    if (!processor.features.empty())
      processor.features += ',';
    processor.features += (features[name] ? "+" : "-") + name.str();
  }
  return processor;
}

Expected<HostProcessor> HostProcessor::find(StringRef name) {
  if (name.empty() || name == "native")
    return host();
  HostProcessor processor;
  processor.triple = sys::getProcessTriple();
  // The features are asked of a target without one, since LLVM prints a warning
  // of its own for a name that it does not know.
  Expected<std::unique_ptr<TargetMachine>> machine =
      processor.createTargetMachine();
  if (!machine)
    return machine.takeError();
  if (!(*machine)->getMCSubtargetInfo()->isCPUStringValid(name))
    return createStringError(
        "expected a processor that LLVM knows, got: " + name +
        "; use native, x86-64-v3 or a name that `llc -mcpu=help` lists");
  processor.name = name.str();
  return processor;
}

Expected<std::unique_ptr<TargetMachine>>
HostProcessor::createTargetMachine() const {
  initializeTargets();
  std::string error;
  const Target *found = TargetRegistry::lookupTarget(triple, error);
  if (!found)
    return createStringError("expected a target that LLVM can make code for, "
                             "got: " +
                             triple + " (" + error + ")");
  TargetOptions options;
  options.AllowFPOpFusion = FPOpFusion::Fast;
  const CodeGenOptLevel levels[] = {
      CodeGenOptLevel::None, CodeGenOptLevel::Less, CodeGenOptLevel::Default,
      CodeGenOptLevel::Aggressive};
  std::string tuned = features;
  // LLVM gathers strided elements where it can. On a Zen 5 it takes twice as
  // long as loading one after the other.
  if (Triple(triple).isX86())
    tuned += (tuned.empty() ? "" : ",") +
             std::string("+prefer-no-gather,+prefer-no-scatter");
  std::unique_ptr<TargetMachine> machine(found->createTargetMachine(
      triple, name, tuned, options, Reloc::PIC_, std::nullopt,
      levels[std::clamp(optLevel, 0, 3)]));
  if (!machine)
    return createStringError("expected a processor of " + triple +
                             ", got: " + name);
  return machine;
}

Expected<std::vector<std::string>> HostProcessor::requiredFeatures() const {
  Expected<std::unique_ptr<TargetMachine>> machine = createTargetMachine();
  if (!machine)
    return machine.takeError();
  std::vector<std::string> required;
  if (!(*machine)->getTargetTriple().isX86())
    return required;
  const MCSubtargetInfo *subtarget = (*machine)->getMCSubtargetInfo();
  for (const InstructionSet &set : instructionSets)
    if (subtarget->checkFeatures(std::string("+") + set.llvm))
      required.push_back(set.flag);
  return required;
}

bool HostProcessor::hasFeature(StringRef feature) const {
  Expected<std::unique_ptr<TargetMachine>> machine = createTargetMachine();
  if (!machine) {
    consumeError(machine.takeError());
    return false;
  }
  return (*machine)->getMCSubtargetInfo()->checkFeatures("+" + feature.str());
}

namespace {
/// Vectorized loops of more than a few iterations stay loops: their bodies hold
/// several vectors already, and sixteen copies of one only take time to compile
/// and room in caches.
struct KeepVectorizedLoopsPass : PassInfoMixin<KeepVectorizedLoopsPass> {
  static constexpr unsigned fewIterations = 4;

  PreservedAnalyses run(Function &function, FunctionAnalysisManager &analyses) {
    auto &evolution = analyses.getResult<ScalarEvolutionAnalysis>(function);
    for (Loop *loop :
         analyses.getResult<LoopAnalysis>(function).getLoopsInPreorder())
      if (getBooleanLoopAttribute(loop, "llvm.loop.isvectorized") &&
          evolution.getSmallConstantTripCount(loop) > fewIterations)
        loop->setLoopAlreadyUnrolled();
    return PreservedAnalyses::all();
  }
};
} // namespace

/// LLVM would unroll every short loop whole before it looks for loops to
/// vectorize, and make scalar code of a row of 16 or 24 elements. Here, only
/// loops that are shorter than a vector are unrolled before, the others after.
static void unrollAroundVectorization(PassBuilder &builder) {
  constexpr unsigned shortLoop = 8, longLoop = 16;
  builder.registerVectorizerStartEPCallback(
      [](FunctionPassManager &passes, OptimizationLevel level) {
        passes.addPass(LoopUnrollPass(LoopUnrollOptions(level.getSpeedupLevel())
                                          .setPartial(false)
                                          .setRuntime(false)
                                          .setUpperBound(false)
                                          .setPeeling(false)
                                          .setFullUnrollMaxCount(shortLoop)));
        passes.addPass(SimplifyCFGPass());
        passes.addPass(EarlyCSEPass());
        passes.addPass(InstCombinePass());
      });
  builder.registerOptimizerLastEPCallback(
      [](ModulePassManager &passes, OptimizationLevel level) {
        FunctionPassManager last;
        last.addPass(KeepVectorizedLoopsPass());
        last.addPass(LoopUnrollPass(LoopUnrollOptions(level.getSpeedupLevel())
                                        .setFullUnrollMaxCount(longLoop)));
        last.addPass(InstCombinePass());
        last.addPass(SimplifyCFGPass());
        passes.addPass(createModuleToFunctionPassAdaptor(std::move(last)));
      });
}

static void optimize(Module &module, TargetMachine &machine, int optLevel) {
  PipelineTuningOptions tuning;
  tuning.LoopVectorization = optLevel >= 2;
  // LLVM 19's SLP vectoriser makes wrong shuffles of small unrolled kernels
  // (Structured.ConvBackwardDataOfFewChannels).
  tuning.SLPVectorization = false;
  tuning.LoopUnrolling = false; // See unrollAroundVectorization.
  PassBuilder builder(&machine, tuning);
  if (optLevel >= 2)
    unrollAroundVectorization(builder);
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager sccs;
  ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  const OptimizationLevel levels[] = {
      OptimizationLevel::O0, OptimizationLevel::O1, OptimizationLevel::O2,
      OptimizationLevel::O3};
  OptimizationLevel level = levels[std::clamp(optLevel, 0, 3)];
  ModulePassManager passes = level == OptimizationLevel::O0
                                 ? builder.buildO0DefaultPipeline(level)
                                 : builder.buildPerModuleDefaultPipeline(level);
  passes.run(module, modules);
}

/// LLVM prefers vectors of half the length where processors once ran slower
/// with whole ones. The library's kernels, beside which these run, take whole
/// ones, and half the instructions are less time wherever there are many per
/// element, as in what rounds to 8 bits.
static void preferWholeVectors(Module &module, const TargetMachine &machine) {
  if (machine.getMCSubtargetInfo()->checkFeatures("+avx512f"))
    for (Function &function : module)
      function.addFnAttr("prefer-vector-width", "512");
}

static Expected<std::string>
emit(Module &module, const HostProcessor &processor, CodeGenFileType type) {
  Expected<std::unique_ptr<TargetMachine>> machine =
      processor.createTargetMachine();
  if (!machine)
    return machine.takeError();
  module.setTargetTriple(processor.triple);
  module.setDataLayout((*machine)->createDataLayout());
  // Debian's LLVM has no assertions: broken IR must be stopped here.
  std::string broken;
  raw_string_ostream brokenStream(broken);
  if (verifyModule(module, &brokenStream))
    return createStringError("the LLVM IR of the native code is broken: " +
                             broken);
  preferWholeVectors(module, **machine);
  optimize(module, **machine, processor.optLevel);

  SmallString<0> bytes;
  raw_svector_ostream stream(bytes);
  legacy::PassManager codeGen;
  if ((*machine)->addPassesToEmitFile(codeGen, stream, nullptr, type))
    return createStringError("LLVM cannot write this kind of file for " +
                             processor.triple);
  codeGen.run(module);
  return std::string(bytes);
}

Expected<std::string> soap::emitObject(Module &module,
                                       const HostProcessor &processor) {
  return emit(module, processor, CodeGenFileType::ObjectFile);
}

Expected<std::string> soap::emitAssembly(Module &module,
                                         const HostProcessor &processor) {
  return emit(module, processor, CodeGenFileType::AssemblyFile);
}
