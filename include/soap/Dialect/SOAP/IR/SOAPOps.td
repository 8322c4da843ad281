//===- SOAPOps.td - Topology, tasks, communication ---------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_SOAP_IR_SOAPOPS_TD
#define SOAP_DIALECT_SOAP_IR_SOAPOPS_TD

include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "soap/Dialect/SOAP/IR/CommunicationInterface.td"
include "soap/Dialect/SOAP/IR/SOAPAttrs.td"

//===----------------------------------------------------------------------===//
// Topology
//===----------------------------------------------------------------------===//

def SOAP_TopologyOp : SOAP_Op<"topology", [
    Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "The devices and links that a strategy refers to";
  let description = [{
    The contents of a topology file: kinds of devices, devices, links. Keys and
    units are those of the file. Devices have the ids 0, 1, ... in order.

    Example:

    ```mlir
    soap.topology @machine {
      devices = [
        {id = 0, kind = "cpu", node = 0},
        {id = 1, kind = "cpu", node = 0}
      ],
      links = [
        {bandwidth_bytes_per_s = 8.0e9, from = 0, latency_s = 1.0e-6, to = 1}
      ]
    }
    ```

    Constraints:
    - `devices` is a list of at least one dictionary, with ids 0, 1, ...
    - the description is a valid topology: every kind is described, every pair
      of devices has a route
    - a module has at most one topology
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       DictionaryAttr:$description);
  let assemblyFormat = [{
    $sym_name custom<Description>($description) attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The number of devices, without the host.
    int32_t getNumDevices();
    /// The topology as the simulator takes it; an error if the description is
    /// none.
    ::llvm::Expected<::soap::Topology> getTopology();
    /// The description of a topology.
    static ::mlir::DictionaryAttr describe(::mlir::MLIRContext *context,
                                           const ::soap::Topology &topology);
  }];
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

def SOAP_TaskOp : SOAP_Op<"task", [
    IsolatedFromAbove, SingleBlock, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<SOAP_ShardOpInterface>]> {
  let summary = "One task of an operation, on one device";
  let description = [{
    Runs the `nn` operations of its region on tensors that are in the memory of
    one device. `node` and `task` name the operation of the operator graph and
    the number of the task in its configuration. Tasks of phase `init` run once,
    when a model is loaded; their region begins with the parameters it needs.

    With `reduce`, the task is no task of the strategy but joins several parts
    of a tile that one device has; `task` then counts the reductions of the
    value.

    A task has the memory effects of its region: none, apart from inputs and
    outputs, which run on the host.

    Example:

    ```mlir
    %2 = soap.task "fc" 0 (%x = %0 : !soap.shard<tensor<4x8xf32>, on 1>,
                           %w = %1 : !soap.shard<tensor<8x2xf32>, on 1>)
        -> (!soap.shard<tensor<4x2xf32>, on 1>
            as #soap.box<"fc":0, [0:4, 0:2]>) {
      %y = nn.matmul %x, %w {nn.name = "fc"} : ...
      soap.return %y : tensor<4x2xf32>
    }
    ```

    Constraints:
    - operands and results are on one device; a read of a value on another one
      is an error
    - the arguments of the region are the tensors of the operands, what
      `soap.return` returns are the tensors of the results
    - the region holds `nn` operations only
    - a partial operand is read only with `reduce`, or if all results are partial
      and the same part of their values
    - results carry boxes of value `node`
    - with `reduce`: at least two operands with boxes equal to that of the one
      result; their parts are disjoint and together those of the result
  }];
  let arguments = (ins Variadic<SOAP_ShardType>:$inputs,
                       StrAttr:$node, I64Attr:$task,
                       DefaultValuedAttr<SOAP_PhaseAttr,
                         "::soap::Phase::Step">:$phase,
                       UnitAttr:$reduce, SOAP_BoxArrayAttr:$boxes);
  let results = (outs Variadic<SOAP_ShardType>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$outputs,
      "::llvm::ArrayRef<::soap::soapir::BoxAttr>":$boxes,
      "::mlir::ValueRange":$inputs,
      "const ::soap::soapir::TaskOrigin &":$origin)>];
  let skipDefaultBuilders = 1;
  let extraClassDeclaration = [{
    /// The device on which the task runs; kHostDevice for the host.
    int32_t getDevice();
    ::mlir::Block &getBlock() { return getBody().front(); }
    /// The operation that the task was cut from: the one with the name `node`,
    /// or null if the region has none (an expression of @init).
    ::mlir::Operation *getNodeOp();
  }];
}

def SOAP_ReturnOp : SOAP_Op<"return", [
    Pure, Terminator, HasParent<"::soap::soapir::TaskOp">]> {
  let summary = "Ends a task";
  let description = [{
    Returns the results of the task.

    Example: `soap.return %y : tensor<4x2xf32>`
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def SOAP_DiscardOp : SOAP_Op<"discard", [MemoryEffects<[MemWrite]>]> {
  let summary = "Says that nobody reads a shard";
  let description = [{
    The strategy computes or moves the shard, but no task reads it (a row that a
    strided convolution skips, for instance). The operation keeps what makes
    it, since it is simulated as well; nothing runs for the operation itself.

    Example: `soap.discard %0 : !soap.shard<tensor<4x2xf32>, on 1>`
  }];
  let arguments = (ins Variadic<SOAP_ShardType>:$inputs);
  let assemblyFormat = "($inputs^)? attr-dict (`:` qualified(type($inputs))^)?";
}

def SOAP_RemoteOp : SOAP_Op<"remote", [
    Pure, DeclareOpInterfaceMethods<SOAP_ShardOpInterface>]> {
  let summary = "A shard that a projection leaves out";
  let description = [{
    Stands for what makes a shard on a device that is not looked at
    (`soap-partition{devices=}`). A program with one cannot be lowered.

    Example:

    ```mlir
    %0 = soap.remote -> (!soap.shard<tensor<8xf32>, on 3>
                         as #soap.box<"x":0, [0:8]>)
    ```
  }];
  let arguments = (ins SOAP_BoxArrayAttr:$boxes);
  let results = (outs SOAP_ShardType:$output);
  let assemblyFormat = [{
    attr-dict `->` custom<BoxedResult>(type($output), $boxes)
  }];
}

//===----------------------------------------------------------------------===//
// Copies on a device
//===----------------------------------------------------------------------===//

/// With `init`, it is made once, before the first step, and takes no time in
/// any: the operands are the same in every step.
class SOAP_CopyOp<string mnemonic> : SOAP_Op<mnemonic, [
    Pure, DeclareOpInterfaceMethods<SOAP_ShardOpInterface>]> {
  let hasVerifier = 1;
}

def SOAP_SliceOp : SOAP_CopyOp<"slice"> {
  let summary = "A box of a shard";
  let description = [{
    Copies a box out of a shard, on the same device. The box of the result, in
    coordinates of the whole value, says which.

    Example:

    ```mlir
    %1 = soap.slice %0 : !soap.shard<tensor<4x8xf32>, on 1>
      -> (!soap.shard<tensor<2x8xf32>, on 1> as #soap.box<"x":0, [2:4, 0:8]>)
    ```

    Constraints:
    - operand and result are on one device and equally partial
    - the box of the result is inside of that of the operand: the same value, the
      same parts
    - with `init`, a task of phase init makes the operand
  }];
  let arguments = (ins SOAP_ShardType:$input, SOAP_BoxArrayAttr:$boxes,
                       UnitAttr:$init);
  let results = (outs SOAP_ShardType:$output);
  let assemblyFormat = [{
    $input (`init` $init^)? attr-dict `:` qualified(type($input)) `->`
    custom<BoxedResult>(type($output), $boxes)
  }];
  let extraClassDeclaration = [{
    /// Where the result starts in the operand, per dimension.
    ::llvm::SmallVector<int64_t> getOffsets();
  }];
}

def SOAP_AssembleOp : SOAP_CopyOp<"assemble"> {
  let summary = "A dense shard from pieces";
  let description = [{
    Copies pieces of several shards into one, on the same device. Behind every
    operand stands the range of elements that it contributes, in coordinates of
    the whole value; halos in two dimensions have corners. An empty box is
    assembled from nothing.

    Example:

    ```mlir
    %2 = soap.assemble %0[0:2, 0:8], %1[2:3, 0:8]
      : !soap.shard<tensor<2x8xf32>, on 1>, !soap.shard<tensor<2x8xf32>, on 1>
      -> (!soap.shard<tensor<3x8xf32>, on 1> as #soap.box<"x":0, [0:3, 0:8]>)
    ```

    Constraints:
    - operands and result are on one device and equally partial
    - a piece is inside of the box of its operand: the same value, the same parts
    - pieces cover the box of the result exactly: inside of it, disjoint, nothing
      left over
    - with `init`, tasks of phase init make the operands
  }];
  let arguments = (ins Variadic<SOAP_ShardType>:$inputs,
                       SOAP_RangesArrayAttr:$pieces,
                       SOAP_BoxArrayAttr:$boxes, UnitAttr:$init);
  let results = (outs SOAP_ShardType:$output);
  let assemblyFormat = [{
    custom<Pieces>($inputs, $pieces) (`init` $init^)? attr-dict (`:` qualified(type($inputs))^)? `->`
    custom<BoxedResult>(type($output), $boxes)
  }];
  let extraClassDeclaration = [{
    /// The range that operand `index` contributes, in coordinates of the value.
    ::soap::Box getPiece(unsigned index);
    /// Where piece `index` starts in its operand, and in the result.
    ::llvm::SmallVector<int64_t> getSourceOffsets(unsigned index);
    ::llvm::SmallVector<int64_t> getResultOffsets(unsigned index);
  }];
}

//===----------------------------------------------------------------------===//
// Communication
//===----------------------------------------------------------------------===//

class SOAP_CommunicationOp<string mnemonic, list<Trait> traits = []>
    : SOAP_Op<mnemonic, !listconcat([
        Pure, DeclareOpInterfaceMethods<SOAP_ShardOpInterface>,
        DeclareOpInterfaceMethods<SOAP_CommunicationOpInterface>], traits)> {
  let hasVerifier = 1;
  dag common = (ins
    I64Attr:$action,
    DefaultValuedAttr<SOAP_PhaseAttr, "::soap::Phase::Step">:$phase,
    SOAP_BoxArrayAttr:$boxes);
}

def SOAP_TransferOp : SOAP_CommunicationOp<"transfer"> {
  let summary = "A group of transfers from device to device";
  let description = [{
    Operand i goes to the device of result i. The group is one action: all of it
    is posted, then all of it is waited for. `halo` says that neighbours
    exchange rims and every device keeps its own tile.

    A transfer from the host is of phase `feed`, one to the host of phase
    `drain`; both are counted but are no part of the step time.

    Example:

    ```mlir
    %2:2 = soap.transfer %0, %1 halo action 0
      : !soap.shard<tensor<1x8xf32>, on 0>, !soap.shard<tensor<1x8xf32>, on 1>
      -> (!soap.shard<tensor<1x8xf32>, on 1> as #soap.box<"x":0, [3:4, 0:8]>,
          !soap.shard<tensor<1x8xf32>, on 0> as #soap.box<"x":0, [4:5, 0:8]>)
    ```

    Constraints:
    - there are as many results as operands, at least one
    - result i is on another device than operand i; box, parts and element type
      are the same
    - all boxes are boxes of one value
    - phase `feed` if and only if all operands are on the host, phase `drain` if
      and only if all results are
  }];
  let arguments = !con((ins Variadic<SOAP_ShardType>:$inputs, UnitAttr:$halo),
                       common);
  let results = (outs Variadic<SOAP_ShardType>:$outputs);
  let assemblyFormat = [{
    $inputs (`halo` $halo^)? `action` $action (`phase` $phase^)? attr-dict
    `:` qualified(type($inputs)) `->` custom<BoxedResults>(type($outputs), $boxes)
  }];
}

// A collective with `priority` runs on the priority streams of its members: it
// does not wait for the collectives and transfers of others.
class SOAP_CollectiveOp<string mnemonic> : SOAP_CommunicationOp<mnemonic> {
  let arguments = !con((ins
      Variadic<SOAP_ShardType>:$inputs,
      DenseI32ArrayAttr:$over,
      DefaultValuedAttr<SOAP_CollectiveAlgorithmAttr,
        "::soap::CollectiveAlgorithm::Direct">:$algorithm,
      UnitAttr:$priority), common);
  let results = (outs Variadic<SOAP_ShardType>:$outputs);
  let assemblyFormat = [{
    $inputs `over` custom<Devices>($over) (`algorithm` $algorithm^)?
    (`priority` $priority^)?
    `action` $action (`phase` $phase^)? attr-dict
    `:` qualified(type($inputs)) `->` custom<BoxedResults>(type($outputs), $boxes)
  }];
}

def SOAP_BroadcastOp : SOAP_CollectiveOp<"broadcast"> {
  let summary = "One shard to all devices of a group";
  let description = [{
    The first device of `over` is the root: it has the operand. Result i is on
    member i + 1.

    Example:

    ```mlir
    %1:2 = soap.broadcast %0 over [2, 0, 1] action 0
      : !soap.shard<tensor<8xf32>, on 2>
      -> (!soap.shard<tensor<8xf32>, on 0> as #soap.box<"x":0, [0:8]>,
          !soap.shard<tensor<8xf32>, on 1> as #soap.box<"x":0, [0:8]>)
    ```

    Constraints:
    - members of `over` are distinct, at least two
    - the operand is on the first, result i on member i + 1, with the operand's
      box
  }];
}

def SOAP_AllGatherOp : SOAP_CollectiveOp<"all_gather"> {
  let summary = "Every device of a group gets the tiles of all";
  let description = [{
    Operand i and result i are on member i of `over`. Every result is the union
    of the operands; tiles may differ in size.

    Example:

    ```mlir
    %2:2 = soap.all_gather %0, %1 over [0, 1] action 0
      : !soap.shard<tensor<4xf32>, on 0>, !soap.shard<tensor<4xf32>, on 1>
      -> (!soap.shard<tensor<8xf32>, on 0> as #soap.box<"x":0, [0:8]>,
          !soap.shard<tensor<8xf32>, on 1> as #soap.box<"x":0, [0:8]>)
    ```

    Constraints:
    - members of `over` are distinct, at least two; operand i and result i are on
      member i
    - nothing is partial
    - operands cover every result exactly
    - the algorithm is `direct` or `ring`
  }];
}

def SOAP_AllToAllOp : SOAP_CollectiveOp<"all_to_all"> {
  let summary = "Every device of a group gets another box of what all have";
  let description = [{
    Operand i and result i are on member i of `over`. A result is any box of the
    union of the operands.

    Example:

    ```mlir
    %2:2 = soap.all_to_all %0, %1 over [0, 1] action 0
      : !soap.shard<tensor<4x8xf32>, on 0>, !soap.shard<tensor<4x8xf32>, on 1>
      -> (!soap.shard<tensor<8x4xf32>, on 0> as #soap.box<"x":0, [0:8, 0:4]>,
          !soap.shard<tensor<8x4xf32>, on 1> as #soap.box<"x":0, [0:8, 4:8]>)
    ```

    Constraints:
    - members of `over` are distinct, at least two; operand i and result i are on
      member i
    - nothing is partial
    - operands are disjoint and cover every result
    - the algorithm is `direct`
  }];
}

class SOAP_ReductionOp<string mnemonic>
    : SOAP_CommunicationOp<mnemonic, [SOAP_ReductionOpInterface]> {
  let arguments = !con((ins
      Variadic<SOAP_ShardType>:$inputs,
      DenseI32ArrayAttr:$over,
      DefaultValuedAttr<SOAP_CollectiveAlgorithmAttr,
        "::soap::CollectiveAlgorithm::Direct">:$algorithm,
      UnitAttr:$priority,
      OptionalAttr<I64Attr>:$bucket,
      OptionalAttr<StrAttr>:$behind), common);
  let results = (outs Variadic<SOAP_ShardType>:$outputs);
  let assemblyFormat = [{
    $inputs `over` custom<Devices>($over) (`algorithm` $algorithm^)?
    (`priority` $priority^)? (`bucket` $bucket^)? (`behind` $behind^)?
    `action` $action (`phase` $phase^)? attr-dict
    `:` qualified(type($inputs)) `->` custom<BoxedResults>(type($outputs), $boxes)
  }];
}

def SOAP_AllReduceOp : SOAP_ReductionOp<"all_reduce"> {
  let summary = "Every device of a group gets the joined parts of all";
  let description = [{
    Operand i and result i are on member i of `over`. The operands are parts of
    the same elements; how they are joined is in their type. Parts are joined in
    the order of the members, so that all results hold the same bits.

    All-reduces of one `bucket` that follow each other are one collective: it
    starts when the operands of all are there, and counts as one movement. In
    the launch order they stand behind the node that `behind` names.

    Example:

    ```mlir
    %2:2 = soap.all_reduce %0, %1 over [0, 1] action 0
      : !soap.shard<tensor<4xf32>, on 0, partial = sum>,
        !soap.shard<tensor<4xf32>, on 1, partial = sum>
      -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"x":0, [0:4]>,
          !soap.shard<tensor<4xf32>, on 1> as #soap.box<"x":0, [0:4]>)
    ```

    Constraints:
    - members of `over` are distinct, at least two; operand i and result i are on
      member i
    - operands are partial in the same way, have the same box, and hold every
      part exactly once
    - results have that box and are complete
    - there is a `bucket`, a number of at least 0, if and only if there is a node
      that it stands `behind`
  }];
}

def SOAP_ReduceScatterOp : SOAP_ReductionOp<"reduce_scatter"> {
  let summary = "Every device of a group gets some of the joined parts of all";
  let description = [{
    As `soap.all_reduce`, but every result is a box of its own, which may be
    empty. In a `bucket`, each device copies what it puts in first: what one
    device gets of all operands lies together.

    Example:

    ```mlir
    %2:2 = soap.reduce_scatter %0, %1 over [0, 1] action 0
      : !soap.shard<tensor<4xf32>, on 0, partial = sum>,
        !soap.shard<tensor<4xf32>, on 1, partial = sum>
      -> (!soap.shard<tensor<2xf32>, on 0> as #soap.box<"x":0, [0:2]>,
          !soap.shard<tensor<2xf32>, on 1> as #soap.box<"x":0, [2:4]>)
    ```

    Constraints:
    - members of `over` are distinct, at least two; operand i and result i are on
      member i
    - operands are partial in the same way, have the same box, and hold every
      part exactly once
    - results are complete, disjoint, and cover that box
    - the algorithm is `direct` or `ring`
    - there is a `bucket`, a number of at least 0, if and only if there is a node
      that it stands `behind`
  }];
}

#endif // SOAP_DIALECT_SOAP_IR_SOAPOPS_TD
