//===- Passes.td - Passes over the soap dialect ------------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_SOAP_TRANSFORMS_PASSES_TD
#define SOAP_DIALECT_SOAP_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

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

def VerifyPartitionPass
    : Pass<"soap-verify-partition", "::mlir::func::FuncOp"> {
  let summary = "Prove that every read is covered exactly once";
  let description = [{
    Proves on any printed or edited IR, from boxes alone:

    - the results of the tasks of a node partition its value: tiles are disjoint,
      leave nothing over, and each is there in all its parts, in equally many
      copies;
    - every operand of a task is a shard that was made by an operation with a box
      on the same device, and complete;
    - every element of every shard that is read comes from exactly one task (of
      every part), through copies and communication that keep its place.

    Does not change the IR. With `report`, says in a remark what was proved.
  }];
  let options = [
    Option<"report", "report", "bool", "false", "Say what was proved">];
  let statistics = [
    Statistic<"numReads", "reads proved", "Reads that are covered exactly">,
    Statistic<"numElements", "elements proved", "Elements of these reads">];
}

def PrintMovementsPass
    : Pass<"soap-print-movements", "::mlir::func::FuncOp"> {
  let summary = "Print what moves between devices";
  let description = [{
    Prints one line per movement, in launch order: the phase, then for a transfer
    source, destination and bytes, for a collective its kind, the group and the
    bytes per member. The form is that in which task graph, IR and runtime are
    compared. Does not change the IR.

    Example:

    ```
    feed transfer host -> 0: 150528 bytes
    step all_reduce [0, 1]: [4096, 4096] bytes
    ```
  }];
}

#endif // SOAP_DIALECT_SOAP_TRANSFORMS_PASSES_TD
