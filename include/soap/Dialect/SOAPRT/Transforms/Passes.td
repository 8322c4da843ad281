//===- Passes.td - Passes over soaprt programs -------------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_SOAPRT_TRANSFORMS_PASSES_TD
#define SOAP_DIALECT_SOAPRT_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignStreamsPass : Pass<"soaprt-assign-streams", "::mlir::ModuleOp"> {
  let summary = "Put rows on streams and add the waits that this needs";
  let description = [{
    Applies the rule of the simulator and decides nothing: rows that meet other
    devices run on the communication stream, or on the priority stream if they
    have `soaprt.priority`, all others on the compute stream, in block order. A
    row that touches what a row of another stream wrote (or overwrites what one
    reads) waits for it, unless an earlier wait already implies it. Feeds end
    before a step begins and drains begin after it ends, so neither needs a
    wait.

    Before: `%1 = soaprt.exchange …` · after:
    `%1 = soaprt.exchange … waits(%0) stream communication`
  }];
  let statistics = [
    Statistic<"numWaits", "waits", "Number of waits added">
  ];
}

def PlanMemoryPass : Pass<"soaprt-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Give every buffer its place in an arena";
  let description = [{
    Per device one arena of activations and one of parameters. Two activations
    share memory only if the existing order of rows (streams and waits) ends all
    uses of one before the first write of the other: no wait is added. Larger
    buffers are placed first, each into the tightest gap that fits. Parameters
    never share memory. Offsets are multiples of the device's alignment. The
    result of an all-reduce lies where what is sent does if nothing else reads
    that afterwards.

    Expects streams (`soaprt-assign-streams`). Afterwards proves pair by pair
    that no two buffers that are live together overlap. The library's kernels
    need a scratchpad and copies of parameters beside the arenas: soap-compile
    asks the library of its machine (`planLibraryMemory`).
  }];
  let statistics = [
    Statistic<"peakActivationBytes", "peak-activation-bytes",
              "Largest arena of activations over all devices">,
    Statistic<"peakParameterBytes", "peak-parameter-bytes",
              "Largest arena of parameters over all devices">,
    Statistic<"activationBytes", "activation-bytes",
              "Sum of all activations over all devices, without reuse">
  ];
}

def PrintMovementsPass
    : Pass<"soaprt-print-movements", "::mlir::ModuleOp"> {
  let summary = "Print what the programs move between devices";
  let description = [{
    One line per movement in the form of `soap-print-movements`, in the order of
    devices and rows. Changes nothing.
  }];
}

def VerifyProgramsPass
    : Pass<"soaprt-verify-programs", "::mlir::ModuleOp"> {
  let summary = "Prove that planned programs read what was written";
  let description = [{
    Goes through the programs of every device row by row and keeps for every byte
    of its arenas who wrote and who read it last. Proves on any printed or edited
    IR:

    - a row reads bytes that an earlier row (or a load) has written through the
      buffer that it reads: none that no row wrote, none that another buffer has
      taken over;
    - streams and waits alone say that the row which writes what it reads has
      ended, and, before it writes, that all rows which touch the same bytes have;
    - what a device receives from another one of the module is what that one
      sends, in one order of elements.

    Expects streams and offsets. Changes nothing. With `report`, says in a remark
    what was proved.
  }];
  let options = [
    Option<"report", "report", "bool", "false", "Say what was proved">];
}

def VerifyMemoryPass : Pass<"soaprt-verify-memory", "::mlir::ModuleOp"> {
  let summary = "Check that planned programs fit into the memory of devices";
  let description = [{
    The exact counterpart of the upper bound of `soap-verify-strategy`: arenas as
    `soaprt-plan-memory` sized them against the `memory_bytes` of the topology,
    which `convert-soap-to-soaprt` wrote on the devices (attribute
    `soaprt.memory_bytes`; without it, memory is unlimited). Lists every device
    that is too small, with its largest buffers. Changes nothing.
  }];
}

#endif // SOAP_DIALECT_SOAPRT_TRANSFORMS_PASSES_TD
