//===- PartitionInterface.td - How an op can be split ------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_PARTITIONINTERFACE_TD
#define SOAP_DIALECT_NN_IR_PARTITIONINTERFACE_TD

include "mlir/IR/OpBase.td"

def PartitionOpInterface : OpInterface<"PartitionOpInterface"> {
  let cppNamespace = "::soap::nn";
  let description = [{
    Says how an operation can be split: the only place that knows. Search,
    simulation, partitioning and memory planning derive everything from it.

    The verifier of the interface runs in every build. It checks that
    the spec keeps the invariants of `soap::verify` and that the operation has a
    name (`nn.name`) that no other operation of its block has.
  }];
  let methods = [
    InterfaceMethod<[{
        The loops that may be split, and the elements of every operand and
        result that a unit of each touches. Called on verified operations.
      }],
      "::soap::PartitionSpec", "getPartitionSpec", (ins)>,

    InterfaceMethod<[{
        Builds the operation that computes `tile` at the builder's insertion
        point and returns its results, shaped as `tile.resultBoxes`. `operands`
        holds one value per operand, shaped as `tile.operandBoxes`, or null
        where nothing is read (an empty box). By default clones the operation
        with local types and without the operands that are null, then calls
        setLocalAccess on the clone. Fails only if an operand is null that the
        operation cannot do without.
      }],
      "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>", "buildLocal",
      (ins "::mlir::OpBuilder &":$builder,
           "::llvm::ArrayRef<::mlir::Value>":$operands,
           "const ::soap::nn::LocalTile &":$tile),
      [{}], [{
        return ::soap::nn::detail::cloneLocal($_op, builder, operands, tile);
      }]>,

    InterfaceMethod<[{
        Called on a local clone: rewrites the attributes that depend on where
        the tile lies (pads, starts, offsets, groups), by the shift rule. `tile`
        holds the boxes in the coordinates of the operation that was cloned.
      }],
      "void", "setLocalAccess", (ins "const ::soap::nn::LocalTile &":$tile),
      [{}], [{ (void)tile; }]>,

    InterfaceMethod<[{
        Floating point operations of a tile, in closed form on its boxes; a
        multiply and an add count as two. By default one per result element.
      }],
      "double", "getFlops", (ins "const ::soap::nn::LocalTile &":$tile), [{}],
      [{ return ::soap::nn::detail::defaultFlops(tile); }]>,

    InterfaceMethod<[{
        Bytes that the kernel of a tile reads from and writes to memory. By
        default every element of its boxes once. Less where it skips elements
        (rows that no index names), more where it walks over an operand again,
        0 where there is no kernel because the result is a view of the operand.
        Equal for tiles of one kernel key.
      }],
      "double", "getBytes", (ins "const ::soap::nn::LocalTile &":$tile), [{}],
      [{ return ::soap::nn::detail::boxBytes($_op, tile); }]>,

    InterfaceMethod<[{
        Appends what determines the cost of a tile: operation, attributes, local
        shapes and element types. Names, configurations and what only says
        where a tile lies (pads, starts, offsets) stay out.
      }],
      "void", "appendKernelKey",
      (ins "::llvm::raw_ostream &":$os, "const ::soap::nn::LocalTile &":$tile),
      [{}], [{
        ::soap::nn::detail::appendDefaultKernelKey(os, $_op, tile);
      }]>,
  ];
  let verify = [{ return ::soap::nn::detail::verifyPartitionOp($_op); }];
  // After the op's own verifier: a spec is only defined for correct operands.
  let verifyWithRegions = 1;
}

#endif // SOAP_DIALECT_NN_IR_PARTITIONINTERFACE_TD
