//===- Passes.td - Passes over strategies ------------------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TRANSFORMS_PASSES_TD
#define SOAP_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttachTopologyPass : Pass<"soap-attach-topology", "::mlir::ModuleOp"> {
  let summary = "Adds a soap.topology to the module";
  let description = [{
    Describes the machine that the model is to run on: a file (`file=`), a
    published machine by its name (`name=dgx-h100:nodes=2`), or `devices=` equal
    devices of this machine. The rates of this machine come from the calibration
    in `calibration=`, which `soap-compile` measures and keeps; without one, from
    round figures of the target. An existing topology is replaced.

    Before: a module with `@main` of nn operations. After: the same module with
    one `soap.topology`.
  }];
  let options = [
    Option<"file", "file", "std::string", "\"\"",
           "Topology file (JSON); overrides `devices`">,
    Option<"name", "name", "std::string", "\"\"",
           "Name of a published machine, as dgx-h100:nodes=2; overrides "
           "`devices`">,
    Option<"devices", "devices", "int32_t", "1",
           "Number of equal devices of this machine">,
    Option<"coresPerDevice", "cores-per-device", "int32_t", "0",
           "Cores of a device; 0 splits the allowed cores evenly">,
    Option<"calibration", "calibration", "std::string", "\"\"",
           "File with the calibration of this machine">,
    Option<"target", "target", "std::string", "\"\"",
           "Whose devices this machine has; empty: the first target of "
           "soap-compile --help">,
  ];
  let dependentDialects = ["::soap::soapir::SOAPDialect"];
}

def MarkFollowersPass : Pass<"soap-mark-followers", "::mlir::ModuleOp"> {
  let summary = "Marks what the library will apply behind its kernels";
  let description = [{
    `soaprt-fuse-followers` makes one launch of a kernel of the library and what
    works per element behind it, where one device has both. This pass says before
    there is a strategy which operations may become part of another one's kernel
    so: each gets `soap.follows`, the number of the operand behind whose producer
    the library applies it (`Target::getFollower`). Simulations count no time
    for a task of such an operation that reads a whole tile which was made on its
    device, and as much as for a kernel of its own elsewhere.

    An operation follows one that the library computes, or another follower, if
    nothing else reads what lies between, and its other operands are computed
    before the library's operation. Marks that are there are replaced. Needs no
    topology; belongs before strategies are searched or costs are measured.

    Before:
    ```mlir
    %0 = nn.conv %x, %w … : … -> tensor<1x8x4x4xf32>
    %1 = nn.relu %0 {nn.name = "relu"} : tensor<1x8x4x4xf32>
    ```
    After:
    ```mlir
    %0 = nn.conv %x, %w … : … -> tensor<1x8x4x4xf32>
    %1 = nn.relu %0 {nn.name = "relu", soap.follows = 0 : i64} : tensor<1x8x4x4xf32>
    ```
  }];
  let dependentDialects = ["::soap::soapir::SOAPDialect"];
  let options = [
    Option<"target", "target", "std::string", "\"\"",
           "What is compiled for; empty: the first target of soap-compile "
           "--help">,
    Option<"keepNaN", "keep-nan", "bool", "false",
           "Mark only followers of which the library hands NaN on">
  ];
  let statistics = [
    Statistic<"numMarked", "num-marked", "Operations that follow another one">
  ];
}

def InitStrategyPass : Pass<"soap-init-strategy", "::mlir::ModuleOp"> {
  let summary = "Configures every operation by an expert strategy";
  let description = [{
    Sets `soap.config` on every nn operation of `@main`. Strategies: those of
    `soap::namedStrategies()`, among them `single` (everything on device 0),
    `data-parallel` (sample loops, degree min(P, batch)), `model-parallel`
    (consecutive operations in one block per device, the longest as short as it
    can be), `tensor-parallel`, `spatial`, `owt`, `expert-rnn` and `random`.
    Inputs and outputs live on the host, parameters where they are used. An
    unknown name is an error that lists them all.

    Needs a `soap.topology`. Does not touch the order of operations.
  }];
  let options = [
    Option<"strategy", "strategy", "std::string", "\"single\"",
           "A named strategy (soap-compile --help lists them)">,
    Option<"seed", "seed", "uint64_t", "0", "Seed of random ones">,
  ];
  let dependentDialects = ["::soap::soapir::SOAPDialect"];
}

def ImportStrategyPass : Pass<"soap-import-strategy", "::mlir::ModuleOp"> {
  let summary = "Configures operations as a strategy file says";
  let description = [{
    Reads a strategy file (JSON, keyed by node name or regular expression) and
    sets `soap.config` on every nn operation; a launch order in the file becomes
    block order. Errors: a fingerprint of another model, unknown operations,
    loops or devices, operations that no entry names.
  }];
  let options = [Option<"file", "file", "std::string", "\"\"", "Strategy file">];
  let dependentDialects = ["::soap::soapir::SOAPDialect"];
}

def ExportStrategyPass : Pass<"soap-export-strategy", "::mlir::ModuleOp"> {
  let summary = "Writes the module's strategy to a file";
  let description = [{
    The inverse of soap-import-strategy. The file holds the model's
    fingerprint, the topology's name and the simulated step time.
  }];
  let options = [Option<"file", "file", "std::string", "\"\"",
                        "Strategy file to write; `-` is standard output">];
}

def VerifyStrategyPass : Pass<"soap-verify-strategy", "::mlir::ModuleOp"> {
  let summary = "Checks that the module's strategy can run on its topology";
  let description = [{
    Every nn operation that computes needs a configuration that fits its loops
    and the topology's devices; inputs and outputs are on the host, nothing else
    is; a launch order (`soap.order`) names every node that computes, operands
    first. What every device has to hold at once must fit into its memory: an
    upper bound by liveness in launch order. The error names every device that is
    too small, what it needs, what it has, when it needs most and the values that
    fill it. `soaprt-verify-memory` checks the plan, exactly. Changes nothing.
  }];
  let options = [Option<"cost", "cost", "std::string", "\"\"",
                        "File of measured costs">];
}

def SearchPass : Pass<"soap-search", "::mlir::ModuleOp"> {
  let summary = "Searches a strategy";
  let description = [{
    Chooses a configuration for every operation so that the simulated step time
    becomes small, memory permitting, and sets `soap.config` accordingly.
    Configurations that the operations already have are one more start. Never
    worse than its best start. With a limit on proposals alone, the result
    depends on nothing but module, options and seed.

    `mcmc`: Markov chain Monte Carlo (Jia et al., "Beyond data and model
    parallelism for deep neural networks", section 6). `exhaustive`: every
    strategy, for tiny models. `optcnn`: the least sum of the costs of operations
    and of pairs of operations (Jia et al., "Exploring hidden dimensions in
    parallelizing convolutional neural networks", section 5), over a restricted
    set of configurations; an error if the graph is too tangled for that.
    `dpos` and `os-dpos`: list scheduling, and splits of what is on the critical
    path (Yi et al., "Fast training of deep learning models over multiple GPUs",
    Algorithms 1 and 2). `local`: steepest descent over all neighbours. `exact`:
    depth-first search with lower bounds, which proves the optimum of a
    restricted space; `exact-layers`: the same, light operations staying with
    what they read. `placement-cross-entropy` and `placement-policy-gradient`:
    whole operations on devices, learned from simulated steps. `best:` and names
    separated by commas: several of them in one budget.
  }];
  let options = [
    Option<"algorithm", "algorithm", "std::string", "\"mcmc\"",
           "mcmc, exhaustive, optcnn, dpos, os-dpos, local, exact, "
           "exact-layers, placement-cross-entropy or "
           "placement-policy-gradient; or best: and several of them">,
    Option<"budget", "budget", "double", "60", "Limit in seconds">,
    Option<"proposals", "proposals", "uint64_t", "0",
           "Limit in proposals; 0 follows from the size of the graph">,
    Option<"seed", "seed", "uint64_t", "0", "Seed">,
    Option<"chains", "chains", "int32_t", "4", "Markov chains of mcmc">,
    Option<"cost", "cost", "std::string", "\"\"", "File of measured costs">,
  ];
  let statistics = [
    Statistic<"numProposals", "proposals", "Proposals simulated">,
    Statistic<"numAccepted", "accepted", "Proposals accepted">,
  ];
  let dependentDialects = ["::soap::soapir::SOAPDialect"];
}

def PartitionPass : Pass<"soap-partition", "::mlir::ModuleOp"> {
  let summary = "Cut a strategy into tasks, copies and communication";
  let description = [{
    Before: `@main` holds `nn` operations with a `soap.config` each. After:
    `@main` holds one `soap.task` per task, and the slices, assemblies, transfers
    and collectives that the communication plans of the values ask for, in launch
    order: block order of the nodes; pack and move of an action right after the
    producer (for parameters, constants and inputs: one node before the first
    consumer), unpack right before the first consumer.

    Inputs and outputs run on the host; transfers from there are of phase feed,
    transfers to there of phase drain. Parameters and constants become tasks of
    phase init. A parameter that is a result of `@init` becomes a task whose
    region computes exactly the box that the device needs, from the files on;
    `@init` is erased. What the strategy makes and nobody reads is kept by
    `soap.discard`.

    At the end the pass proves on the IR that it made what
    `soap-verify-partition` proves.

    With `devices` only what runs on the listed devices, or exchanges data with
    them, is kept: a projection to look at.

    The pass does not choose anything: no configuration, no order, no algorithm
    other than the one the topology suggests.

    Preconditions: `@main` has one block of `nn` operations; all but inputs and
    outputs have a `soap.config`.
  }];
  let dependentDialects = ["::soap::soapir::SOAPDialect"];
  let options = [
    ListOption<"devices", "devices", "int32_t",
               "Keep only what touches these devices (default: all)">];
  let statistics = [
    Statistic<"numTasks", "tasks", "Tasks of the step">,
    Statistic<"numInitTasks", "init tasks", "Tasks of phase init">,
    Statistic<"numReductions", "reductions", "Local reductions">,
    Statistic<"numCopies", "copies", "Slices and assemblies">,
    Statistic<"numActions", "actions", "Transfers and collectives">,
    Statistic<"numReads", "reads proved", "Reads that are covered exactly">,
    Statistic<"numElements", "elements proved", "Elements of these reads">];
}

def SimulatePass : Pass<"soap-simulate", "::mlir::ModuleOp"> {
  let summary = "Simulates the module's strategy and reports what it costs";
  let description = [{
    Builds the task graph of the strategy and simulates one step in launch
    order. Sets `soap.simulated_ns` on `@main` and, with `times`, an array of
    `[device, start, end]` in nanoseconds (`soap.times`) on every operation.
    `report` prints the table of operations: degrees, devices, time, bytes.

    Of a partitioned `@main`, it simulates the operations in the order of their
    block: costs of tasks follow from the operations in their regions. `times`
    then sets `soap.start` and `soap.end` on tasks, copies and actions, which
    `soap-schedule{policy=simulated}` reads.

    All numbers are simulated.
  }];
  let options = [
    Option<"times", "times", "bool", "true", "Write times on the operations">,
    Option<"report", "report", "bool", "false", "Print the table">,
    Option<"cost", "cost", "std::string", "\"\"", "File of measured costs">,
  ];
  let dependentDialects = ["::soap::soapir::SOAPDialect"];
}

def SchedulePass : Pass<"soap-schedule", "::mlir::ModuleOp"> {
  let summary = "Write a launch order as block order";
  let description = [{
    Block order is launch order, of nn operations with configurations and of what
    `soap-partition` makes of them. Policies:

    - `program`: the order of the attribute `soap.order` of the function, a list
      of the names of all nodes that compute; without it, the order of the
      block. In a partitioned function, actions and copies then follow their
      nodes by the rule of `soap-partition`.
    - `fifo`: whichever node is ready first is launched first (Jia et al.,
      "Beyond data and model parallelism", Algorithm 1, on nodes).
    - `critical-path`: whenever a device has time, the node that can start first;
      among those, the one with the longest way to the end of the step, costs and
      communication included.
    - `simulated`: by the attribute `soap.start` (nanoseconds) of tasks, copies
      and actions, then by position; what reads something stands behind it in any
      case.
    - `block`: the order of the block, to the last operation. For edited IR.

    `fifo` and `critical-path` are decisions and need a `soap.topology`. Before
    `soap-partition` they are made on the operator graph, as by `soap-compile
    --schedule`; behind it on the tasks alone, whose costs follow from the
    operations in their regions. `simulated` and `block` are for partitioned
    functions.

    In a partitioned function, the pass then proves that no wait is circular: it
    projects the block on the compute, communication and priority streams of all
    devices, adds the waits between streams and the rendezvous of every action,
    and finds an order in which all of it can run. With `report`, says in a
    remark what was proved, or the simulated step time of the order that was
    chosen.

    Example: `soap-schedule{policy=critical-path}`
  }];
  let options = [
    Option<"policy", "policy", "std::string", "\"program\"",
           "Where the order comes from: program, fifo, critical-path, simulated "
           "or block">,
    Option<"report", "report", "bool", "false",
           "Say what was proved or chosen">,
    Option<"cost", "cost", "std::string", "\"\"", "File of measured costs">];
  let statistics = [
    Statistic<"numRows", "rows", "Launches on all streams">,
    Statistic<"numStreamEdges", "stream edges", "Waits within a stream">,
    Statistic<"numEvents", "events", "Waits between streams of a device">,
    Statistic<"numRendezvous", "rendezvous", "Actions that devices meet in">];
  let dependentDialects = ["::soap::soapir::SOAPDialect"];
}

#endif // SOAP_TRANSFORMS_PASSES_TD
