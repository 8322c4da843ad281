//===- SOAPRTOps.td - Modules, devices, buffers ------------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_SOAPRT_IR_SOAPRTOPS_TD
#define SOAP_DIALECT_SOAPRT_IR_SOAPRTOPS_TD

include "soap/Dialect/SOAPRT/IR/SOAPRTBase.td"
include "soap/Dialect/SOAPRT/IR/SOAPRTInterfaces.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class SOAPRT_Op<string mnemonic, list<Trait> traits = []>
    : Op<SOAPRT_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Ends of the graph
//===----------------------------------------------------------------------===//

class SOAPRT_PortOp<string mnemonic> : SOAPRT_Op<mnemonic, [Symbol]> {
  let assemblyFormat = [{
    $sym_name $port_name (`of` $program^)? attr-dict `:` $type
  }];
}

def SOAPRT_InputOp : SOAPRT_PortOp<"input"> {
  let summary = "an input of a program, whole";
  let description = [{
    `program`: whose input it is, "main" if nothing is said. `index_bound`: an
    integer input that indexes a table of that many rows.

    Example:
    ```mlir
    soaprt.input @in0 "data" : tensor<1x3x224x224xf32>
    soaprt.input @in1 "ids" {index_bound = 1000 : i64} : tensor<1x128xi64>
    soaprt.input @in2 "data" of "eval" : tensor<1x3x224x224xf32>
    ```

    Constraints:
    - the shape is known
    - `index_bound` is 1 or larger, and only integers have one
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$port_name,
                       TypeAttrOf<AnyStaticShapeTensor>:$type,
                       OptionalAttr<I64Attr>:$index_bound,
                       DefaultValuedStrAttr<StrAttr, "main">:$program);
  let hasVerifier = 1;
}

def SOAPRT_OutputOp : SOAPRT_PortOp<"output"> {
  let summary = "an output of a program, whole";
  let description = [{
    `program`: whose output it is, "main" if nothing is said.

    Example:
    ```mlir
    soaprt.output @out0 "prob" : tensor<1x1000xf32>
    ```

    Constraints:
    - the shape is known
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$port_name,
                       TypeAttrOf<AnyStaticShapeTensor>:$type,
                       DefaultValuedStrAttr<StrAttr, "main">:$program);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

def SOAPRT_KernelOp : SOAPRT_Op<"kernel", [
    IsolatedFromAbove, Symbol, SingleBlock]> {
  let summary = "what a launch computes";
  let description = [{
    The body holds the local nn op over the operands, and behind it, of a kernel
    of the library, operations per element that the library applies to every
    element of the result (`soaprt-fuse-followers`). A `native` kernel is entry
    `index` of the model's own kernels, a function in `module @kernels`, called
    with `sizes`; the others are calls of the library.
    Launches of equal local ops share one kernel. `key` is the KernelKey, under
    which costs are measured; it leaves out what costs nothing (pads), so that
    several kernels may have one key. `channels_last`: the operands, and behind
    them the results, of which launches have buffers with channels last, by
    number. `in_place`: the number of an operand in whose place the result is, in
    every launch. Around the operation of a native kernel reshapes may stand
    (`soaprt-join-reshapes`), which the kernel need not do: no byte moves. A
    native kernel may also have several operations that read each other's
    results (`soaprt-join-kernels`); what is read behind the kernel is a result
    of it.

    Example:
    ```mlir
    soaprt.kernel @k0 "nn.relu 4x8xf32"
        native @kernels::@relu index 0 sizes [32] (%x: tensor<4x8xf32>) {
      %0 = nn.relu %x {nn.name = "relu1"} : tensor<4x8xf32>
      soaprt.yield %0 : tensor<4x8xf32>
    }
    ```

    Constraints:
    - the key is not empty
    - the body computes something and ends in `soaprt.yield`
    - `index`, `sizes` and `flops` are 0 or larger
    - `channels_last` are ascending numbers of operands and results
    - of several operations of a kernel of the library, each behind the first
      reads the one result of the one before it; of those of a native kernel,
      each is read by another one, or handed on
    - `in_place` is the number of an operand of the type of the one result
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$key,
                       OptionalAttr<SymbolRefAttr>:$native,
                       DefaultValuedAttr<I32Attr, "0">:$index,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$sizes,
                       DefaultValuedAttr<F64Attr, "0.0">:$flops,
                       OptionalAttr<DenseI64ArrayAttr>:$channels_last,
                       OptionalAttr<I64Attr>:$in_place);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    ::mlir::TypeRange getResultTypes();
    /// The nn op: the first op of the body that is no reshape.
    ::mlir::Operation *getAnchor();
    /// The operations behind it: per element, or reshapes.
    ::llvm::iterator_range<::mlir::Block::iterator> getFollowers() {
      return {++::mlir::Block::iterator(getAnchor()),
              getBlock().without_terminator().end()};
    }
  }];
}

def SOAPRT_YieldOp : SOAPRT_Op<"yield", [
    Pure, Terminator, HasParent<"KernelOp">]> {
  let summary = "the results of a kernel";
  let description = [{
    Example: `soaprt.yield %0 : tensor<4x8xf32>`

    Constraints:
    - it ends the body of a `soaprt.kernel`
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^)? attr-dict (`:` type($values)^)?";
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

def SOAPRT_DeviceOp : SOAPRT_Op<"device", [
    IsolatedFromAbove, NoRegionArguments, NoTerminator, SingleBlock, Symbol]> {
  let summary = "all that one device holds and runs";
  let description = [{
    Holds `soaprt.buffer`, `soaprt.view` and `soaprt.load` ops, then one
    `soaprt.init` (run once, after the loads) and a `soaprt.main` (one step) for
    every program; `soaprt.tile` ops say what the buffers hold. Programs run one
    at a time, in whatever order: activations do not outlive one, so that all
    share an arena, and the parameters are as the last one left them.
    The sizes of the arenas are written by `soaprt-plan-memory`, and what the
    library's kernels need beside them by `planLibraryMemory`: the scratchpad
    that all launches share, copies of parameters in the library's layouts, and
    the peak of all memory.
    `alignment`: buffers, and views that kernels read, start at multiples of so
    many bytes. Where it is absent, it is 64.

    Example:
    ```mlir
    soaprt.device @d0 id 0 alignment 128 activations 256 parameters 0 {
      %x = soaprt.buffer at 0 : !soaprt.buffer<4x8xf32, activations>
      soaprt.init {
      }
      soaprt.main {
        %t = soaprt.feed "data" @in0
            to (%x : !soaprt.buffer<4x8xf32, activations>)
            [#soaprt.box<[0, 0] to [0, 0] sizes [4, 8]>]
      }
    }
    ```

    Constraints:
    - the id is 0 or larger, and no other device's
    - the alignment is a multiple of 64, and larger than 0
    - sizes in bytes are 0 or larger
    - it holds buffers, views, loads, tiles, one `soaprt.init` and one
      `soaprt.main` or more, and nothing else
    - no two programs have one name
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I32Attr:$id,
                       OptionalAttr<I64Attr>:$alignment,
                       OptionalAttr<I64Attr>:$activation_bytes,
                       OptionalAttr<I64Attr>:$parameter_bytes,
                       OptionalAttr<I64Attr>:$scratchpad_bytes,
                       OptionalAttr<I64Attr>:$reordered_bytes,
                       OptionalAttr<I64Attr>:$peak_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `id` $id (`alignment` $alignment^)?
    (`activations` $activation_bytes^)? (`parameters` $parameter_bytes^)?
    (`scratchpad` $scratchpad_bytes^)? (`reordered` $reordered_bytes^)?
    (`peak` $peak_bytes^)?
    attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    /// Null in IR that does not verify.
    InitOp getInit();
    /// The programs, the one that runs if none is named first.
    ::llvm::SmallVector<MainOp, 2> getMains();
    /// Buffers start at multiples of this many bytes.
    int64_t getBufferAlignment() {
      return static_cast<int64_t>(getAlignment().value_or(minAlignment));
    }
  }];
}

class SOAPRT_ProgramOp<string mnemonic> : SOAPRT_Op<mnemonic, [
    HasParent<"DeviceOp">, NoRegionArguments, NoTerminator, SingleBlock]> {
  let regions = (region SizedRegion<1>:$body);
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
  }];
}

def SOAPRT_InitOp : SOAPRT_ProgramOp<"init"> {
  let summary = "rows that run once, after the loads";
  let description = [{
    Expressions over parameters are computed here, on every device that reads
    them.

    Example:
    ```mlir
    soaprt.init {
      %t = soaprt.launch "w" @k0(%raw : !soaprt.buffer<8x4xf32, activations>)
          to (%w : !soaprt.buffer<4x8xf32, parameters>)
    }
    ```

    Constraints:
    - it holds launches and copies only: it neither communicates nor has feeds
      or drains
    - all rows are on the compute stream
  }];
  let assemblyFormat = "attr-dict-with-keyword $body";
}

def SOAPRT_MainOp : SOAPRT_ProgramOp<"main"> {
  let summary = "rows of one step of a program";
  let description = [{
    `program`: its name, "main" if nothing is said. A model that is trained has
    "train" and "eval".

    Example:
    ```mlir
    soaprt.main {
      %t0 = soaprt.feed "data" @in0
          to (%x : !soaprt.buffer<4x8xf32, activations>)
          [#soaprt.box<[0, 0] to [0, 0] sizes [4, 8]>]
      %t1 = soaprt.launch "relu1" @k0(%x : !soaprt.buffer<4x8xf32, activations>)
          to (%y : !soaprt.buffer<4x8xf32, activations>)
      %t2 = soaprt.drain "prob" @out0
          from (%y : !soaprt.buffer<4x8xf32, activations>)
          [#soaprt.box<[0, 0] to [0, 0] sizes [4, 8]>]
    }
    ```

    Constraints:
    - it holds rows only
    - feeds are its first rows, drains its last
    - inputs and outputs of its rows are those of the program
  }];
  let arguments = (ins DefaultValuedStrAttr<StrAttr, "main">:$program);
  let assemblyFormat = "($program^)? attr-dict-with-keyword $body";
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

def SOAPRT_BufferOp : SOAPRT_Op<"buffer", [HasParent<"DeviceOp">]> {
  let summary = "room for one tensor";
  let description = [{
    `offset` in bytes from the start of its arena, a multiple of the device's
    alignment; written by `soaprt-plan-memory`.

    Example:
    ```mlir
    %b = soaprt.buffer at 4096 : !soaprt.buffer<1x64x56x56xf32, activations>
    ```

    Constraints:
    - the offset is a multiple of the device's alignment, and 0 or larger
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs SOAPRT_BufferType:$result);
  let assemblyFormat = "(`at` $offset^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def SOAPRT_ViewOp : SOAPRT_Op<"view", [HasParent<"DeviceOp">]> {
  let summary = "contiguous elements of a buffer, as another shape";
  let description = [{
    `first` is the first element. A reshape is a view of all elements. No bytes
    move.

    Example:
    ```mlir
    %v = soaprt.view %b[512] : !soaprt.buffer<4x256xf32, activations>
                            -> !soaprt.buffer<2x16x16xf32, activations>
    ```

    Constraints:
    - the result has the element type and the arena of the source
    - the elements of the result lie inside of the source
    - both are row-major, or both have channels last and the result is whole
      samples of the source
  }];
  let arguments = (ins SOAPRT_BufferType:$source, I64Attr:$first);
  let results = (outs SOAPRT_BufferType:$result);
  let assemblyFormat = [{
    $source `[` $first `]` attr-dict `:` type($source) `->` type($result)
  }];
  let extraClassDeclaration = [{
    /// Whether the result is whole samples of the source, which are contiguous
    /// in either order of elements.
    bool isOfSamples();
  }];
  let hasVerifier = 1;
}

def SOAPRT_LoadOp : SOAPRT_Op<"load", [HasParent<"DeviceOp">]> {
  let summary = "fills a buffer with a box of a parameter or constant, at load";
  let description = [{
    `source` is `#nn.file`, `#nn.splat`, `#nn.random` or the elements of a
    constant. The buffer holds elements `[lo, lo + size)` of `type`.

    A parameter is loaded before `soaprt.init` runs. What only `soaprt.init`
    reads is an activation: it is loaded right before the first row that reads
    it, so that its memory is used again.

    Example:
    ```mlir
    soaprt.load "conv1_w" from #nn.splat<1.0 : f32> of tensor<64x3x7x7xf32>
        at [32, 0, 0, 0] into %b : !soaprt.buffer<32x3x7x7xf32, parameters>
    ```

    Constraints:
    - `source` is one of the four; a file has the bytes of `type`, elements have
      its type, a splat has its element type, random numbers are floating point
    - the box has the rank of `type` and lies inside of it
    - the buffer has the element type of `type`, and is row-major
  }];
  let arguments = (ins StrAttr:$node, AnyAttr:$source,
                       TypeAttrOf<AnyStaticShapeTensor>:$type,
                       DenseI64ArrayAttr:$lo, SOAPRT_BufferType:$target);
  let assemblyFormat = [{
    $node `from` $source `of` $type `at` $lo `into` $target attr-dict
    `:` type($target)
  }];
  let hasVerifier = 1;
}

def SOAPRT_TileOp : SOAPRT_Op<"tile", [HasParent<"DeviceOp">]> {
  let summary = "which part of which value of the model a buffer holds";
  let description = [{
    Result `result` of node `value` of `program` ("main" if nothing is said) has
    `type` as a whole; the buffer holds its elements `[lo, lo + size)`. `parts`: the buffer holds only these of
    `num_parts` partial results, the sum of which the value is if they are
    `summed`. A tile is there after the last row that writes
    the buffer, or, if it is `initial`, before the first row of the step: then
    the step gives the buffer the parameter's next value. Tiles are for people
    and `soap-run --verify`; they keep nothing alive.

    Example:
    ```mlir
    soaprt.tile "conv1" : 0 of tensor<4x64x56x56xf32> at [0, 32, 0, 0]
        parts [1] of 4 in %b : !soaprt.buffer<4x32x56x56xf32, activations>
    ```

    Constraints:
    - `value` is not empty, `result` is 0 or larger
    - parts are ascending numbers from 0 to `num_parts` - 1
    - the box has the rank of `type` and lies inside of it
    - the buffer has the element type of `type`
  }];
  let arguments = (ins StrAttr:$value, I64Attr:$result,
                       TypeAttrOf<AnyStaticShapeTensor>:$type,
                       DenseI64ArrayAttr:$lo,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$parts,
                       OptionalAttr<I64Attr>:$num_parts, UnitAttr:$summed,
                       SOAPRT_BufferType:$buffer, UnitAttr:$initial,
                       DefaultValuedStrAttr<StrAttr, "main">:$program);
  let assemblyFormat = [{
    $value `:` $result `of` $type `at` $lo (`parts` $parts^ `of` $num_parts)?
    (`summed` $summed^)?
    (`initial` $initial^)? (`program` $program^)? `in` $buffer attr-dict `:` type($buffer)
  }];
  let hasVerifier = 1;
}

#endif // SOAP_DIALECT_SOAPRT_IR_SOAPRTOPS_TD
