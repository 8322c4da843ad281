//===- SOAPRTInterfaces.td - Rows --------------------------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_SOAPRT_IR_SOAPRTINTERFACES_TD
#define SOAP_DIALECT_SOAPRT_IR_SOAPRTINTERFACES_TD

include "mlir/IR/OpBase.td"

def SOAPRT_RowOpInterface : OpInterface<"RowOpInterface"> {
  let cppNamespace = "::soap::soaprt";
  let description = [{
    One row of a device's program: what it reads and writes, on which stream it
    runs and what it waits for.
  }];
  let methods = [
    InterfaceMethod<"Buffers that the row reads.",
      "::llvm::SmallVector<::mlir::Value>", "getReads">,
    InterfaceMethod<"Buffers that the row writes.",
      "::llvm::SmallVector<::mlir::Value>", "getWrites">,
    InterfaceMethod<"True if the row meets rows of other devices.",
      "bool", "communicates">,
    InterfaceMethod<"Tokens of rows that must have ended.",
      "::mlir::OperandRange", "getWaits">,
    InterfaceMethod<"The tokens, to be changed.",
      "::mlir::MutableOperandRange", "getWaitsMutable">,
    InterfaceMethod<"The stream, if it was assigned.",
      "::std::optional<::soap::Stream>", "getStream">,
    InterfaceMethod<"Assigns the stream.",
      "void", "setStream", (ins "::std::optional<::soap::Stream>":$stream)>,
    InterfaceMethod<"Name of the node, with a suffix for parts of actions.",
      "::llvm::StringRef", "getNode">,
    InterfaceMethod<"Index of the task of the node, or -1.",
      "int64_t", "getTask">,
  ];
}

#endif // SOAP_DIALECT_SOAPRT_IR_SOAPRTINTERFACES_TD
