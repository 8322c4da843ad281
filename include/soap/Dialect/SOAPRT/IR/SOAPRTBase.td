//===- SOAPRTBase.td - Dialect, types, attributes ----------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_SOAPRT_IR_SOAPRTBASE_TD
#define SOAP_DIALECT_SOAPRT_IR_SOAPRTBASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpBase.td"
include "soap/Dialect/NN/IR/Vocabulary.td"

def SOAPRT_Dialect : Dialect {
  let name = "soaprt";
  let cppNamespace = "::soap::soaprt";
  let summary = "What every device runs: the rows of the runtime's tables";
  let description = [{
    The last level before tables and object code. A module holds the ends of
    the graph (`soaprt.input`, `soaprt.output`), kernels deduplicated by
    KernelKey (`soaprt.kernel`), and one `soaprt.device` per device with its
    buffers, its loads, an `init` and a `main` program. One op in a program is
    one row of the table that the runtime's loop runs: a launch, copies, a group
    of transfers, a member's part of a collective, a feed or a drain.

    Rows of one stream run in block order. A row returns a token; `waits` are
    tokens of rows of other streams that must have ended before it starts.
  }];
  let dependentDialects = ["::soap::nn::NNDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

//===----------------------------------------------------------------------===//
// Enumerations
//===----------------------------------------------------------------------===//

def SOAPRT_StreamAttr
    : VocabularyAttr<SOAPRT_Dialect, Vocabulary_Stream, "stream">;
def SOAPRT_CollectiveKindAttr
    : VocabularyAttr<SOAPRT_Dialect, Vocabulary_CollectiveKind,
                     "collective_kind">;
def SOAPRT_CollectiveAlgorithmAttr
    : VocabularyAttr<SOAPRT_Dialect, Vocabulary_CollectiveAlgorithm,
                     "algorithm">;
def SOAPRT_CombineAttr
    : VocabularyAttr<SOAPRT_Dialect, Vocabulary_Combine, "combine">;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

class SOAPRT_Type<string name, string typeMnemonic>
    : TypeDef<SOAPRT_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def SOAPRT_BufferType : SOAPRT_Type<"Buffer", "buffer"> {
  let summary = "dense elements in an arena of a device";
  let description = [{
    Example: `!soaprt.buffer<1x64x56x56xf32, activations>`. Activations are
    planned by liveness and lost between steps; parameters are written by loads
    and by the init program, and kept. Elements lie in row-major order, or, with
    `channels_last` as a third word, with dim 1 innermost (in the order of dims
    0, 2, 3, ..., 1): `soaprt-assign-layouts` decides it. The shape is that of
    the tensor in either case.

    Constraints:
    - the sizes are known
    - the elements are integers or floating point numbers
    - the arena is `activations` or `parameters`
    - with `channels_last`, the rank is 3 or more
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t">:$shape,
    "::mlir::Type":$elementType,
    EnumParameter<Vocabulary_Space>:$space,
    DefaultValuedParameter<"::soap::soaprt::ElementOrder",
        "::soap::soaprt::ElementOrder::RowMajor">:$order);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [TypeBuilder<(ins "::llvm::ArrayRef<int64_t>":$shape,
                                   "::mlir::Type":$elementType,
                                   "::soap::Space":$space), [{
    return $_get($_ctxt, shape, elementType, space, ElementOrder::RowMajor);
  }]>];
  let extraClassDeclaration = [{
    bool isChannelsLast() const {
      return getOrder() == ElementOrder::ChannelsLast;
    }
    /// The same buffer with its elements in another order.
    BufferType withOrder(ElementOrder order) const;
    /// Bytes from an element to the next one along every dim.
    ::llvm::SmallVector<int64_t> getByteStrides() const;
    /// Number of elements; 1 for rank 0.
    int64_t getNumElements() const;
    /// Size of one element in bytes; i1 takes a byte.
    int64_t getElementBytes() const;
    /// Size in bytes.
    int64_t getBytes() const { return getNumElements() * getElementBytes(); }
    /// True for a tensor type of this shape and element type.
    bool matches(::mlir::Type tensor) const;
  }];
}

def SOAPRT_TokenType : SOAPRT_Type<"Token", "token"> {
  let summary = "the end of a row";
  let description = [{
    Rows of other streams take it as one of their `waits`.

    Example: `!soaprt.token`
  }];
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

def SOAPRT_BoxCopyAttr : AttrDef<SOAPRT_Dialect, "BoxCopy"> {
  let mnemonic = "box";
  let summary = "one n-d box that is copied";
  let description = [{
    Example: `#soaprt.box<[0, 8] to [0, 0] sizes [4, 8]>` copies elements
    `[0:4, 8:16]` of the source to `[0:4, 0:8]` of the target. `steps` (default
    1) are the distances of neighbours in the source; they may be negative.

    Constraints:
    - there are as many offsets, on both sides, and steps as sizes
    - sizes are 0 or larger
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t">:$from,
    ArrayRefParameter<"int64_t">:$to,
    ArrayRefParameter<"int64_t">:$sizes,
    ArrayRefParameter<"int64_t">:$steps);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [AttrBuilder<(ins "::llvm::ArrayRef<int64_t>":$from,
                                   "::llvm::ArrayRef<int64_t>":$to,
                                   "::llvm::ArrayRef<int64_t>":$sizes)>];
  let extraClassDeclaration = [{
    /// True if the box lies inside of a source and a target of these shapes.
    bool fits(::llvm::ArrayRef<int64_t> fromShape,
              ::llvm::ArrayRef<int64_t> toShape) const;
  }];
}

def SOAPRT_BoxCopyArrayAttr
    : TypedArrayAttrBase<SOAPRT_BoxCopyAttr, "array of box copies">;

#endif // SOAP_DIALECT_SOAPRT_IR_SOAPRTBASE_TD
