//===- SOAPRTRows.td - Rows of programs --------------------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_SOAPRT_IR_SOAPRTROWS_TD
#define SOAP_DIALECT_SOAPRT_IR_SOAPRTROWS_TD

include "soap/Dialect/SOAPRT/IR/SOAPRTOps.td"

/// What all rows have: a node and a task (for traces), tokens, a stream.
class SOAPRT_RowOp<string mnemonic, dag own, string format,
                   list<Trait> traits = []>
    : SOAPRT_Op<mnemonic, !listconcat(traits, [
        AttrSizedOperandSegments, ParentOneOf<["InitOp", "MainOp"]>,
        DeclareOpInterfaceMethods<SOAPRT_RowOpInterface,
                                  ["getReads", "getWrites", "communicates"]>])> {
  let arguments = !con(own, (ins
    Variadic<SOAPRT_TokenType>:$waits,
    StrAttr:$node,
    DefaultValuedAttr<I64Attr, "-1">:$task,
    OptionalAttr<SOAPRT_StreamAttr>:$stream));
  let results = (outs SOAPRT_TokenType:$done);
  let hasVerifier = 1;
  let assemblyFormat = "$node " # format # [{
    (`waits` `(` $waits^ `)`)? (`stream` $stream^)? attr-dict
  }];
}

def SOAPRT_LaunchOp : SOAPRT_RowOp<"launch", (ins
    FlatSymbolRefAttr:$kernel,
    Variadic<SOAPRT_BufferType>:$inputs,
    Variadic<SOAPRT_BufferType>:$outputs,
    DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$constants), [{
    $kernel `(` ($inputs^ `:` type($inputs))? `)`
    `to` `(` $outputs `:` type($outputs) `)`
  }], [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "calls a kernel";
  let description = [{
    `constants`: indices of inputs that never change after init; the library may
    keep them in a layout of its own.

    Example:
    ```mlir
    %t = soaprt.launch "relu1" @k0(%x : !soaprt.buffer<4x8xf32, activations>)
        to (%y : !soaprt.buffer<4x8xf32, activations>) stream compute
    ```
  }];
}

def SOAPRT_CopyOp : SOAPRT_RowOp<"copy", (ins
    Variadic<SOAPRT_BufferType>:$sources,
    Variadic<SOAPRT_BufferType>:$targets,
    SOAPRT_BoxCopyArrayAttr:$copies,
    OptionalAttr<AnyAttr>:$fill), [{
    `(` ($sources^ `:` type($sources))? `)`
    `to` `(` $targets `:` type($targets) `)` $copies (`fill` $fill^)?
  }]> {
  let summary = "copies boxes on a device: pack, unpack, assemble, slice, pad";
  let description = [{
    Copy i takes `copies[i]` from source i to target i. `fill`: the targets are
    set to this element first (then there may be more targets than copies).
  }];
}

def SOAPRT_ExchangeOp : SOAPRT_RowOp<"exchange", (ins
    Variadic<SOAPRT_BufferType>:$sends,
    Variadic<SOAPRT_BufferType>:$receives,
    DenseI32ArrayAttr:$destinations, DenseI32ArrayAttr:$origins,
    I32Attr:$tag), [{
    `tag` $tag
    `send` `(` ($sends^ `:` type($sends))? `)` `to` $destinations
    `receive` `(` ($receives^ `:` type($receives))? `)` `from` $origins
  }]> {
  let summary = "one group of transfers: posts all, waits for all";
  let description = [{
    Each message is one transfer. The n-th send from s to d with a tag meets the
    n-th receive on d from s with it.
  }];
}

def SOAPRT_CollectiveOp : SOAPRT_RowOp<"collective", (ins
    SOAPRT_CollectiveKindAttr:$kind,
    DenseI32ArrayAttr:$group, I32Attr:$member,
    Variadic<SOAPRT_BufferType>:$sends,
    Variadic<SOAPRT_BufferType>:$receives,
    OptionalAttr<SOAPRT_CombineAttr>:$combine,
    DefaultValuedAttr<SOAPRT_CollectiveAlgorithmAttr,
                      "::soap::CollectiveAlgorithm::Direct">:$algorithm,
    I32Attr:$tag), [{
    $kind `over` $group `member` $member `tag` $tag
    (`combine` $combine^)? (`algorithm` $algorithm^)?
    `send` `(` ($sends^ `:` type($sends))? `)`
    `receive` `(` ($receives^ `:` type($receives))? `)`
  }]> {
  let summary = "one member's part of a collective";
  let description = [{
    Number of sends and receives, for n members: broadcast: member 0 sends 1,
    the others receive 1; all_gather 1 and n; all_to_all n and n; all_reduce 1
    and 1; reduce_scatter n (shares of the members) and 1.
  }];
}

def SOAPRT_FeedOp : SOAPRT_RowOp<"feed", (ins
    FlatSymbolRefAttr:$input,
    Variadic<SOAPRT_BufferType>:$targets,
    SOAPRT_BoxCopyArrayAttr:$copies), [{
    $input `to` `(` $targets `:` type($targets) `)` $copies
  }], [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "copies boxes of an input of the model to buffers";
}

def SOAPRT_DrainOp : SOAPRT_RowOp<"drain", (ins
    FlatSymbolRefAttr:$output,
    Variadic<SOAPRT_BufferType>:$sources,
    SOAPRT_BoxCopyArrayAttr:$copies), [{
    $output `from` `(` $sources `:` type($sources) `)` $copies
  }], [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "copies boxes of buffers to an output of the model";
}

#endif // SOAP_DIALECT_SOAPRT_IR_SOAPRTROWS_TD
