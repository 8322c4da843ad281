//===- Passes.td - Passes over the soap dialect ------------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_SOAP_TRANSFORMS_PASSES_TD
#define SOAP_DIALECT_SOAP_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

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
