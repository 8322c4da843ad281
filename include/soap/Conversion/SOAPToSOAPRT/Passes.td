//===- Passes.td - soap to soaprt --------------------------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_CONVERSION_SOAPTOSOAPRT_PASSES_TD
#define SOAP_CONVERSION_SOAPTOSOAPRT_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertSOAPToSOAPRTPass
    : Pass<"convert-soap-to-soaprt", "::mlir::ModuleOp"> {
  let summary = "Turn tasks and communication into one program per device";
  let description = [{
    Replaces `@main` (and `@init`, `soap.topology`) by kernels and one
    `soaprt.device` per device. Rows stand in block order; feeds come first and
    drains last. Every shard becomes a buffer.

    - A task of phase `step` becomes one launch per nn op. Reshapes, aligned
      contiguous slices and assemblies of one piece are views: no bytes move.
      Other slices, concat and pad are box copies. What the target's library
      computes is a library kernel, the rest becomes native code in
      `module @kernels`.
    - A task of phase `init` becomes loads into the parameter arena, and rows of
      `soaprt.init` if it computes something; so do slices and assemblies with
      `init`, unless they are views.
    - Transfers become one exchange per device that takes part; collectives one
      row per member, with copies where their pieces are not contiguous. Tags
      number the soap ops.
    - Transfers from and to the host become feeds and drains.
    - The `@main` of a `module @eval` in the module becomes a second program of
      every device, `soaprt.main "eval"`; the first one is called "train" then,
      if it writes parameters. A parameter of both is loaded once, where the
      first one has it; one that the first writes must have the same tiles in
      both.

    Expects the result of soap-partition (and soap-schedule): every operation in
    `@main` is a soap op. Does not assign streams, waits or memory.

    Before:
    ```mlir
    %1 = soap.task "relu1" 0 (%x = %0 : !soap.shard<tensor<4xf32>, on 1>) …
    ```
    After, in `soaprt.main` of device 1:
    ```mlir
    %t = soaprt.launch "relu1" @k0(%b0 : …) to (%b1 : …) {task = 0 : i64}
    ```
  }];
  let dependentDialects = ["::soap::soaprt::SOAPRTDialect"];
  let options = [
    Option<"target", "target", "std::string", "\"\"",
           "What is compiled for; empty: the first target of soap-compile "
           "--help">
  ];
  let statistics = [
    Statistic<"numKernels", "kernels", "Number of different kernels">,
    Statistic<"numLaunches", "launches", "Number of launches">,
    Statistic<"numCopies", "copies", "Number of copy rows">,
    Statistic<"numViews", "views", "Number of copies saved by views">,
    Statistic<"numWrites", "writes", "Tiles of parameters that a step writes">,
    Statistic<"numWritesInPlace", "writes-in-place",
              "Those whose new values are made where the old ones are">
  ];
}

def JoinReshapesPass : Pass<"soaprt-join-reshapes", "::mlir::ModuleOp"> {
  let summary = "Let transpositions of channels read and write what is reshaped";
  let description = [{
    The channel shuffle of a ShuffleNet splits channels into groups, exchanges
    groups and their members, and makes channels of both again: a transposition
    between two reshapes, which are views. Its launch becomes one that reads what
    the first view is of, and writes what the second one shows: views keep what
    they are of row-major, these buffers may have channels last.

    - The transposition exchanges dims 1 and 2, which are dim 1 of what is
      viewed, and its result is read through such views alone.
    - Parts of sums, and what is kept from step to step, stay as they are.
    - Its kernel has the reshapes in its body, and the key that it had. The
      tensors between them have no tile any more.

    Expects the result of convert-soap-to-soaprt, before
    soaprt-assign-layouts. Adds no row.

    Before:
    ```mlir
    %v = soaprt.view %x[0] : <1x12x7x7xf32, activations> -> <1x3x4x7x7xf32, activations>
    %w = soaprt.view %b[0] : <1x4x3x7x7xf32, activations> -> <1x12x7x7xf32, activations>
    %t = soaprt.launch "shuffle" @k0(%v : …) to (%b : …)
    ```
    After:
    ```mlir
    %t = soaprt.launch "shuffle" @k1(%x : …) to (%y : …)
    ```
  }];
  let dependentDialects = ["::soap::soaprt::SOAPRTDialect"];
  let statistics = [
    Statistic<"numJoined", "joined", "Number of transpositions without views">
  ];
}

def AssignLayoutsPass : Pass<"soaprt-assign-layouts", "::mlir::ModuleOp"> {
  let summary = "Choose the order in which elements of buffers lie";
  let description = [{
    Activations of rank 3 or more lie in row-major order (NCHW) or with channels
    last (NHWC), whichever makes programs reorder the fewest bytes. This is
    exact: with two orders, the least sum over all kernels and copies of all
    devices is a minimum cut.

    - Library kernels say what they like (`Target::getChannelsLast`); one whose
      first operand or result has another order reorders it in every run.
    - Kernels per element and channel shuffles (`soaprt-join-reshapes`) run in
      either order, if their operands and their result have the same one; vectors
      along the channels stay as they are.
    - Copies of boxes may read one order and write the other.
    - Both ends of a message have one order, and so have all members of a
      collective that have a piece of it.
    - A view of a box has the order of its source where both are row-major or
      the box is whole samples. Else it becomes a buffer, with a copy: of what
      rows read, before the first of them; of what a row writes, before the
      first one that reads the source.
    - What other kernels, other views, feeds, drains, loads and `soaprt.init`
      touch stays row-major.

    No byte more moves between devices. A kernel of which some launches have
    channels last becomes several with one key.

    Expects the result of convert-soap-to-soaprt, before streams are assigned.

    Before: `soaprt.buffer : !soaprt.buffer<1x64x56x56xf32, activations>` · after:
    `soaprt.buffer : !soaprt.buffer<1x64x56x56xf32, activations, channels_last>`
  }];
  let dependentDialects = ["::soap::soaprt::SOAPRTDialect"];
  let options = [
    Option<"target", "target", "std::string", "\"\"",
           "What is compiled for; empty: the first target of soap-compile "
           "--help">
  ];
  let statistics = [
    Statistic<"numChannelsLast", "channels-last",
              "Number of buffers with channels last">
  ];
}

def FuseFollowersPass : Pass<"soaprt-fuse-followers", "::mlir::ModuleOp"> {
  let summary = "Let the library do what follows its kernels, element by element";
  let description = [{
    A launch of the library whose result only a native launch of the same
    program reads, and one of a kernel per element that the library can apply
    (`Target::getFollower`), become one launch, where the first one stands. Its
    kernel has both operations in its body, and a key of both keys. What lies
    between is no buffer any more, and has no tile.

    - An operand that is added, has the shape of the result and dies there is
      overwritten by the result (`in_place`).
    - The other operands of the second launch have to be written before the
      first one, by rows that do not communicate.
    - Parts of sums, views, what communicates, is drained or is kept from step to
      step stay as they are: a follower is applied to what the rows say, so that
      search, partition, and what is counted of movements know nothing of it.
    - `keep-nan`: the library's relu, clip and gelu may make a number of NaN, and
      stay launches of their own.

    Expects the result of convert-soap-to-soaprt or soaprt-assign-layouts, before
    streams are assigned. Changes no order of elements.

    Before:
    ```mlir
    %t0 = soaprt.launch "conv1" @k0(%x, %w : …) to (%y : …)
    %t1 = soaprt.launch "relu1" @k1(%y : …) to (%z : …)
    ```
    After:
    ```mlir
    %t0 = soaprt.launch "conv1" @k2(%x, %w : …) to (%z : …)
    ```
  }];
  let dependentDialects = ["::soap::soaprt::SOAPRTDialect"];
  let options = [
    Option<"target", "target", "std::string", "\"\"",
           "What is compiled for; empty: the first target of soap-compile "
           "--help">,
    Option<"keepNaN", "keep-nan", "bool", "false",
           "Take followers only of which the library hands NaN on">
  ];
  let statistics = [
    Statistic<"numFused", "fused", "Number of launches that are gone">,
    Statistic<"numInPlace", "in-place",
              "Number of results that overwrite an operand">
  ];
}

def JoinKernelsPass : Pass<"soaprt-join-kernels", "::mlir::ModuleOp"> {
  let summary = "Make one native kernel of several that pass rows on";
  let description = [{
    Two launches of native kernels of one program, of which the second reads what
    the first writes, become one, if the target says that one kernel of both goes
    through memory once (`Target::paysJoined`): on GPUs, if it is one launch whose
    rows threads hold in registers. So a scale, a mask and a softmax are one
    kernel, and a residual sum, a layer norm and a cast. Which operations these
    are is not looked at, but that all of one of the two kernels are per element.
    Larger kernels are made two by two.

    - What lies between and is read by the second launch alone is no buffer any
      more, and has no tile. What others read, too, or a view shows, stays a
      result of the joined kernel.
    - The launch stands where the second one stood, if no row in between reads
      or writes what the first one writes, or writes what it reads; else where the
      first one stood, if the same holds of the second one; else nothing is
      joined. It has the node and the task of the launch that was not per element.
    - Where more than 16 rows stand in between, what lives meanwhile may take no
      more memory than before: a launch moves down if its results are as large as
      those operands that nobody reads again, and up if they are no larger.
    - Results of the first launch that are sent stay as they are, and so does a
      second launch that waits for what is received and the first one does not
      read: no transfer waits for the second operation, nor the first operation
      for a transfer.
    - No input of the kernel is in the buffer of a result. Parts of sums, what is
      kept from step to step, buffers with channels last and channel shuffles
      (`soaprt-join-reshapes`) stay as they are.

    The key of the kernel is both keys with `&` between them. It is none that a
    cost model asks for: strategies are chosen, and steps simulated, with the
    times of both operations.

    Expects the result of convert-soap-to-soaprt, soaprt-assign-layouts or
    soaprt-fuse-followers, before streams are assigned. The functions of the
    kernels that were joined stay in `module @kernels`.

    Before:
    ```mlir
    %t0 = soaprt.launch "add" @k0(%a, %b : …) to (%sum : …)
    %t1 = soaprt.launch "norm" @k1(%sum, %scale : …) to (%y : …)
    ```
    After, where a later row reads the sum:
    ```mlir
    %t0 = soaprt.launch "norm" @k2(%a, %b, %scale : …) to (%sum, %y : …)
    ```
  }];
  let dependentDialects = ["::soap::soaprt::SOAPRTDialect"];
  let options = [
    Option<"target", "target", "std::string", "\"\"",
           "What is compiled for; empty: the first target of soap-compile "
           "--help">
  ];
  let statistics = [
    Statistic<"numJoined", "joined", "Number of launches that are gone">,
    Statistic<"numTried", "tried",
              "Number of different kernels that the target was asked about">
  ];
}

#endif // SOAP_CONVERSION_SOAPTOSOAPRT_PASSES_TD
