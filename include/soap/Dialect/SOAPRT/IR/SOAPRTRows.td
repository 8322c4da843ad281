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
    DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$constants,
    OptionalAttr<I64Attr>:$in_place), [{
    $kernel `(` ($inputs^ `:` type($inputs))? `)`
    `to` `(` $outputs `:` type($outputs) `)`
  }], [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "calls a kernel";
  let description = [{
    `constants`: indices of inputs that never change after init; the library may
    keep them in a layout of its own. `in_place`: the index of the input whose
    bytes the output overwrites; `soaprt-plan-memory` gives both one place.

    Example:
    ```mlir
    %t = soaprt.launch "relu1" @k0(%x : !soaprt.buffer<4x8xf32, activations>)
        to (%y : !soaprt.buffer<4x8xf32, activations>) stream compute
    ```

    Constraints:
    - the kernel exists; inputs and outputs have the number, shapes and element
      types of its arguments and results, and those and no others have channels
      last of which the kernel says so
    - the first input is the output if the kernel overwrites it (trait
      OverwritesFirst of its operation)
    - `constants` are indices of inputs, and these are in the parameter arena
    - `in_place` is that of the kernel; the input and the one output are whole
      buffers of one type, and no other input is in that of either
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

    Example:
    ```mlir
    %t = soaprt.copy "pad" (%x : !soaprt.buffer<2x8xf32, activations>)
        to (%y : !soaprt.buffer<2x10xf32, activations>)
        [#soaprt.box<[0, 0] to [0, 1] sizes [2, 8]>] fill 0.0 : f32
    ```

    Constraints:
    - there is one source and one target per box; with `fill`, more targets
    - a source and its target have one element type, and the box lies inside of
      both
    - `fill` is a number of the targets' element type
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

    Example, of a device that sends to device 1 and receives from device 2:
    ```mlir
    %t = soaprt.exchange "conv1.halo" tag 3
        send (%a : !soaprt.buffer<1x8xf32, activations>) to [1]
        receive (%b : !soaprt.buffer<1x8xf32, activations>) from [2]
    ```

    Constraints:
    - every send has a destination, every receive an origin
    - they are other devices, with ids of 0 or larger
    - both ends of a message have one order of elements: its bytes are those of
      the whole buffer
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
    The numbers of sends and receives of a collective of n members:

    | kind | sends | receives |
    |---|---|---|
    | `broadcast` | 1 of member 0 | 1 of every other member |
    | `all_gather` | 1 | n |
    | `all_to_all` | n | n |
    | `all_reduce` | 1 | 1 |
    | `reduce_scatter` | n, the shares of the members | 1 |

    Example, on device 1:
    ```mlir
    %t = soaprt.collective "fc.all_reduce" all_reduce over [0, 1] member 1 tag 4
        combine sum algorithm ring
        send (%a : !soaprt.buffer<4x8xf32, activations>)
        receive (%b : !soaprt.buffer<4x8xf32, activations>)
    ```

    Constraints:
    - the devices of the group differ, their ids are 0 or larger, and `member`
      is the index of this device
    - there are as many sends and receives as the table says
    - all buffers have one element type
    - the buffers of a piece have one order of elements in all members: its
      bytes are those of the whole buffer
    - `all_reduce` and `reduce_scatter` have `combine`, and it joins parts; the
      others have none
    - the kind of collective has the algorithm
  }];
}

def SOAPRT_FeedOp : SOAPRT_RowOp<"feed", (ins
    FlatSymbolRefAttr:$input,
    Variadic<SOAPRT_BufferType>:$targets,
    SOAPRT_BoxCopyArrayAttr:$copies), [{
    $input `to` `(` $targets `:` type($targets) `)` $copies
  }], [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "copies boxes of an input of the model to buffers";
  let description = [{
    Copy i takes `copies[i]` from the input to target i.

    Example:
    ```mlir
    %t = soaprt.feed "data" @in0 to (%x : !soaprt.buffer<2x8xf32, activations>)
        [#soaprt.box<[2, 0] to [0, 0] sizes [2, 8]>]
    ```

    Constraints:
    - the input exists
    - there is one target per box; it has the element type of the input, and the
      box lies inside of both
  }];
}

def SOAPRT_DrainOp : SOAPRT_RowOp<"drain", (ins
    FlatSymbolRefAttr:$output,
    Variadic<SOAPRT_BufferType>:$sources,
    SOAPRT_BoxCopyArrayAttr:$copies), [{
    $output `from` `(` $sources `:` type($sources) `)` $copies
  }], [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "copies boxes of buffers to an output of the model";
  let description = [{
    Copy i takes `copies[i]` from source i to the output.

    Example:
    ```mlir
    %t = soaprt.drain "prob" @out0
        from (%y : !soaprt.buffer<2x8xf32, activations>)
        [#soaprt.box<[0, 0] to [2, 0] sizes [2, 8]>]
    ```

    Constraints:
    - the output exists
    - there is one source per box; it has the element type of the output, and
      the box lies inside of both
  }];
}

#endif // SOAP_DIALECT_SOAPRT_IR_SOAPRTROWS_TD
