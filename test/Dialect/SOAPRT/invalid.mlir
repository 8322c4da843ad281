// RUN: soap-opt %s --split-input-file --verify-diagnostics

// Tests that an arena is named.
soaprt.device @d0 id 0 {
  // expected-error @+1 {{expected one of activations, parameters, got: heap}}
  %a = soaprt.buffer : !soaprt.buffer<4xf32, heap>
}

// -----

// Tests that a buffer holds numbers.
soaprt.device @d0 id 0 {
  // expected-error @+1 {{expected elements that are integers or floating point numbers}}
  %a = soaprt.buffer : !soaprt.buffer<4xindex, activations>
}

// -----

// Tests that devices differ in their ids.
soaprt.device @d0 id 3 {
  soaprt.init {}
  soaprt.main {}
}
// expected-error @+1 {{expected devices of different ids, got two of id 3}}
soaprt.device @d1 id 3 {
  soaprt.init {}
  soaprt.main {}
}

// -----

// Tests that offsets are aligned.
soaprt.device @d0 id 0 {
  // expected-error @+1 {{expected an offset that is a multiple of 64, got: 32}}
  %a = soaprt.buffer at 32 : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {}
}

// -----

// Tests that offsets are multiples of the device's alignment.
soaprt.device @d0 id 0 alignment 256 {
  // expected-error @+1 {{expected an offset that is a multiple of 256, got: 64}}
  %a = soaprt.buffer at 64 : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {}
}

// -----

// Tests that an alignment is one that the tables can keep.
// expected-error @+1 {{expected an alignment that is a multiple of 64, got: 96}}
soaprt.device @d0 id 0 alignment 96 {
  soaprt.init {}
  soaprt.main {}
}

// -----

// Tests that an alignment is positive.
// expected-error @+1 {{expected an alignment that is a multiple of 64, got: 0}}
soaprt.device @d0 id 0 alignment 0 {
  %a = soaprt.buffer at 64 : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {}
}

// -----

// Tests that a device has both programs.
// expected-error @+1 {{expected one soaprt.init and one soaprt.main or more, got: 0 and 1}}
soaprt.device @d0 id 0 {
  soaprt.main {}
}

// -----

// Tests that a view stays inside of its source.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  // expected-error @+1 {{expected elements inside of the source (4), got: [2, 6)}}
  %b = soaprt.view %a[2] : !soaprt.buffer<4xf32, activations> -> !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {}
}

// -----

// Tests that a view keeps the element type.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  // expected-error @+1 {{expected the element type and the space of the source}}
  %b = soaprt.view %a[0] : !soaprt.buffer<4xf32, activations> -> !soaprt.buffer<4xi32, activations>
  soaprt.init {}
  soaprt.main {}
}

// -----

// Tests that a load's box lies inside of the parameter.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, parameters>
  // expected-error @+1 {{expected a box inside of 'tensor<6xf32>', got: 4 elements from 4 on in dim 0}}
  soaprt.load "w" from #nn.splat<1.0 : f32> of tensor<6xf32> at [4] into %a : !soaprt.buffer<4xf32, parameters>
  soaprt.init {}
  soaprt.main {}
}

// -----

// Tests that a tile lies inside of its value.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {}
  // expected-error @+1 {{expected a box inside of 'tensor<6xf32>', got: 4 elements from 4 on in dim 0}}
  soaprt.tile "v" : 0 of tensor<6xf32> at [4] in %a : !soaprt.buffer<4xf32, activations>
}

// -----

// Tests that the parts of a tile are in order and exist.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {}
  // expected-error @+1 {{expected ascending parts below 2, got: 2}}
  soaprt.tile "v" : 0 of tensor<4xf32> at [0] parts [0, 2] of 2 in %a : !soaprt.buffer<4xf32, activations>
}

// -----

// Tests that a tile belongs to a named value.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {}
  // expected-error @+1 {{expected a node and the number of a result}}
  soaprt.tile "" : 0 of tensor<4xf32> at [0] in %a : !soaprt.buffer<4xf32, activations>
}

// -----

// Tests that a kernel has a key.
// expected-error @+1 {{expected a kernel key, got: an empty one}}
soaprt.kernel @k0 "" (%x: tensor<4xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<4xf32>
  soaprt.yield %0 : tensor<4xf32>
}

// -----

// Tests that a kernel computes something.
// expected-error @+1 {{expected a body that computes something, got: only soaprt.yield}}
soaprt.kernel @k0 "nn.nothing" (%x: tensor<4xf32>) {
  soaprt.yield %x : tensor<4xf32>
}

// -----

// Tests that operations behind that of the library read its result.
// expected-error @+1 {{expected nn.relu to read the one result of the operation before it}}
soaprt.kernel @k0 "nn.softmax + nn.relu" (%x: tensor<4xf32>) {
  %0 = nn.softmax %x {nn.name = "softmax", axis = 0 : i64} : tensor<4xf32>
  %1 = nn.relu %x {nn.name = "relu"} : tensor<4xf32>
  soaprt.yield %1 : tensor<4xf32>
}

// -----

// Tests that a native kernel has no operation for nothing.
// expected-error @+1 {{expected operations that others read or that soaprt.yield hands on, got: nn.relu, which nobody reads}}
soaprt.kernel @k0 "nn.relu & nn.sigmoid" native @kernels::@f index 0 sizes [] (%x: tensor<4xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<4xf32>
  %1 = nn.sigmoid %x {nn.name = "sigmoid"} : tensor<4xf32>
  soaprt.yield %1 : tensor<4xf32>
}

// -----

// Tests that the sizes of a buffer are known.
soaprt.device @d0 id 0 {
  // expected-error @+1 {{expected static shape}}
  %a = soaprt.buffer : !soaprt.buffer<?xf32, activations>
}

// -----

// Tests that the shape of an input is known.
// expected-error @+1 {{statically shaped tensor}}
soaprt.input @in0 "x" : tensor<?xf32>

// -----

// Tests that the shape of an output is known.
// expected-error @+1 {{statically shaped tensor}}
soaprt.output @out0 "x" : tensor<?xf32>

// -----

// Tests that an index bound leaves an index.
// expected-error @+1 {{expected an 'index_bound' of 1 or more, got: 0}}
soaprt.input @in0 "x" {index_bound = 0 : i64} : tensor<4xi64>

// -----

// Tests that only integers are indices.
// expected-error @+1 {{expected an 'index_bound' of integers only, got: 'f32'}}
soaprt.input @in0 "x" {index_bound = 4 : i64} : tensor<4xf32>

// -----

// Tests that the body of a kernel ends in soaprt.yield.
// expected-error @+1 {{expected a body that ends in soaprt.yield}}
soaprt.kernel @k0 "nn.relu" (%x: tensor<4xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<4xf32>
}

// -----

// Tests that the number of a native kernel is no negative one.
// expected-error @+1 {{expected an index and sizes of 0 or larger, got: -1 and [4]}}
soaprt.kernel @k0 "nn.relu" native @kernels::@relu index -1 sizes [4] (%x: tensor<4xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<4xf32>
  soaprt.yield %0 : tensor<4xf32>
}

// -----

// Tests that the sizes of a native kernel are not negative.
// expected-error @+1 {{expected an index and sizes of 0 or larger, got: 0 and [-4]}}
soaprt.kernel @k0 "nn.relu" native @kernels::@relu index 0 sizes [-4] (%x: tensor<4xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<4xf32>
  soaprt.yield %0 : tensor<4xf32>
}

// -----

// Tests that work is not negative.
// expected-error @+1 {{expected flops of 0 or more, got: -1}}
soaprt.kernel @k0 "nn.relu" (%x: tensor<4xf32>) attributes {flops = -1.0 : f64} {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<4xf32>
  soaprt.yield %0 : tensor<4xf32>
}

// -----

// Tests that soaprt.yield stands in a kernel.
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expects parent op 'soaprt.kernel'}}
  soaprt.yield %x : tensor<4xf32>
}

// -----

// Tests that a device has an id.
// expected-error @+1 {{expected an id of 0 or larger, got: -1}}
soaprt.device @d0 id -1 {
  soaprt.init {}
  soaprt.main {}
}

// -----

// Tests that memory has a size.
// expected-error @+1 {{expected sizes in bytes of 0 or larger, got: -64}}
soaprt.device @d0 id 0 activations 64 parameters -64 {
  soaprt.init {}
  soaprt.main {}
}

// -----

// Tests that rows stand in programs.
// expected-error @+1 {{expected buffers, views, loads, tiles and programs, got: 'nn.constant'; rows stand in soaprt.init or soaprt.main}}
soaprt.device @d0 id 0 {
  %c = nn.constant dense<1.0> : tensor<4xf32> {nn.name = "c"}
  soaprt.init {}
  soaprt.main {}
}

// -----

// Tests that programs hold rows only.
soaprt.device @d0 id 0 {
  soaprt.init {}
  // expected-error @+1 {{expected rows only, got: 'nn.constant'}}
  soaprt.main {
    %c = nn.constant dense<1.0> : tensor<4xf32> {nn.name = "c"}
  }
}

// -----

// Tests that a view keeps the arena.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  // expected-error @+1 {{expected the element type and the space of the source}}
  %b = soaprt.view %a[0] : !soaprt.buffer<4xf32, activations> -> !soaprt.buffer<4xf32, parameters>
  soaprt.init {}
  soaprt.main {}
}

// -----

// Tests that a load has a source.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, parameters>
  // expected-error @+1 {{expected a file, a splat, a recipe or elements, got: "w.bin"}}
  soaprt.load "w" from "w.bin" of tensor<4xf32> at [0] into %a : !soaprt.buffer<4xf32, parameters>
  soaprt.init {}
  soaprt.main {}
}

// -----

// Tests that a file has the bytes of its parameter.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, parameters>
  // expected-error @+1 {{expected a file of 16 bytes for 'tensor<4xf32>', got: 12}}
  soaprt.load "w" from #nn.file<"w.bin", 0, 12> of tensor<4xf32> at [0] into %a : !soaprt.buffer<4xf32, parameters>
  soaprt.init {}
  soaprt.main {}
}

// -----

// Tests that a splat has the parameter's element type.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, parameters>
  // expected-error @+1 {{expected a splat of 'f32', got: 'f64'}}
  soaprt.load "w" from #nn.splat<1.0 : f64> of tensor<4xf32> at [0] into %a : !soaprt.buffer<4xf32, parameters>
  soaprt.init {}
  soaprt.main {}
}

// -----

// Tests that random numbers are floating point numbers.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xi32, parameters>
  // expected-error @+1 {{expected floating point elements from a random source, got: 'i32'}}
  soaprt.load "w" from #nn.random<1, "w", normal, 0.0, 0.1> of tensor<4xi32> at [0] into %a : !soaprt.buffer<4xi32, parameters>
  soaprt.init {}
  soaprt.main {}
}

// -----

// Tests that elements have the parameter's type.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, parameters>
  // expected-error @+1 {{expected elements of 'tensor<4xf32>', got: 'tensor<2xf32>'}}
  soaprt.load "w" from dense<[1.0, 2.0]> : tensor<2xf32> of tensor<4xf32> at [0] into %a : !soaprt.buffer<4xf32, parameters>
  soaprt.init {}
  soaprt.main {}
}

// -----

// Tests that a load's buffer has the parameter's element type.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf64, parameters>
  // expected-error @+1 {{expected a buffer of 'f32', got: '!soaprt.buffer<4xf64, parameters>'}}
  soaprt.load "w" from #nn.splat<1.0 : f32> of tensor<4xf32> at [0] into %a : !soaprt.buffer<4xf64, parameters>
  soaprt.init {}
  soaprt.main {}
}

// -----

// Tests that a load's box has the parameter's rank.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, parameters>
  // expected-error @+1 {{expected a box of rank 1}}
  soaprt.load "w" from #nn.splat<1.0 : f32> of tensor<4xf32> at [0, 0] into %a : !soaprt.buffer<4xf32, parameters>
  soaprt.init {}
  soaprt.main {}
}

// -----

// Tests that the number of a tile's result is no negative one.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {}
  // expected-error @+1 {{expected a node and the number of a result}}
  soaprt.tile "v" : -1 of tensor<4xf32> at [0] in %a : !soaprt.buffer<4xf32, activations>
}

// -----

// Tests that a tile has the rank of its value.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {}
  // expected-error @+1 {{expected a box of rank 2}}
  soaprt.tile "v" : 0 of tensor<4x1xf32> at [0] in %a : !soaprt.buffer<4xf32, activations>
}

// -----

// Tests that a tile has the elements of its value.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xi32, activations>
  soaprt.init {}
  soaprt.main {}
  // expected-error @+1 {{expected a buffer of 'f32', got: '!soaprt.buffer<4xi32, activations>'}}
  soaprt.tile "v" : 0 of tensor<4xf32> at [0] in %a : !soaprt.buffer<4xi32, activations>
}

// -----

// Tests that programs have names of their own.
soaprt.device @d0 id 0 {
  soaprt.init {}
  soaprt.main "train" {}
  // expected-error @+1 {{expected programs with different names, got two called 'train'}}
  soaprt.main "train" {}
}

// -----

// Tests that a program is fed from inputs of its own.
soaprt.input @in0 "x" : tensor<4xf32>
soaprt.device @d0 id 0 {
  %x = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main "eval" {
    // expected-error @+1 {{expected an input or output of program 'eval', got: one of 'main'}}
    soaprt.feed "x" @in0 to (%x : !soaprt.buffer<4xf32, activations>) [#soaprt.box<[0] to [0] sizes [4]>]
  }
}

// -----

// Tests that a program is drained to outputs of its own.
soaprt.output @out0 "y" of "train" : tensor<4xf32>
soaprt.device @d0 id 0 {
  %x = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main "eval" {
    // expected-error @+1 {{expected an input or output of program 'eval', got: one of 'train'}}
    soaprt.drain "y" @out0 from (%x : !soaprt.buffer<4xf32, activations>) [#soaprt.box<[0] to [0] sizes [4]>]
  }
}

// -----

// Tests that an order with channels last needs channels and what they are of.
soaprt.device @d0 id 0 {
  // expected-error @+1 {{expected a rank of 3 or more where channels are last, got: 2}}
  %a = soaprt.buffer : !soaprt.buffer<4x8xf32, activations, channels_last>
  soaprt.init {}
  soaprt.main {}
}

// -----

// Tests that views of other elements than whole samples are row-major, as
// their sources are, and that loads are.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<1x4x8xf32, activations, channels_last>
  // expected-error @+1 {{expected a view of row-major elements, or of whole samples with channels last, got: '!soaprt.buffer<32xf32, activations>' of '!soaprt.buffer<1x4x8xf32, activations, channels_last>'; copy them}}
  %b = soaprt.view %a[0] : !soaprt.buffer<1x4x8xf32, activations, channels_last> -> !soaprt.buffer<32xf32, activations>
  soaprt.init {}
  soaprt.main {}
}

// -----

soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<2x4x8xf32, activations, channels_last>
  // expected-error @+1 {{or of whole samples with channels last, got: '!soaprt.buffer<1x4x8xf32, activations>' of}}
  %b = soaprt.view %a[32] : !soaprt.buffer<2x4x8xf32, activations, channels_last> -> !soaprt.buffer<1x4x8xf32, activations>
  soaprt.init {}
  soaprt.main {}
}

// -----

soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<1x4x8xf32, activations, channels_last>
  // expected-error @+1 {{or of whole samples with channels last, got: '!soaprt.buffer<1x2x8xf32, activations, channels_last>' of}}
  %b = soaprt.view %a[0] : !soaprt.buffer<1x4x8xf32, activations, channels_last> -> !soaprt.buffer<1x2x8xf32, activations, channels_last>
  soaprt.init {}
  soaprt.main {}
}

// -----

soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<3x4x8xf32, activations, channels_last>
  // expected-error @+1 {{or of whole samples with channels last, got: '!soaprt.buffer<2x4x8xf32, activations, channels_last>' of}}
  %b = soaprt.view %a[8] : !soaprt.buffer<3x4x8xf32, activations, channels_last> -> !soaprt.buffer<2x4x8xf32, activations, channels_last>
  soaprt.init {}
  soaprt.main {}
}

// -----

soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<1x4x8xf32, parameters, channels_last>
  // expected-error @+1 {{expected a row-major buffer, got: '!soaprt.buffer<1x4x8xf32, parameters, channels_last>'}}
  soaprt.load "w" from #nn.splat<1.0 : f32> of tensor<1x4x8xf32> at [0, 0, 0] into %a : !soaprt.buffer<1x4x8xf32, parameters, channels_last>
  soaprt.init {}
  soaprt.main {}
}

// -----

// Tests that a kernel has the values of which it says that channels are last.
// expected-error @+1 {{expected ascending numbers of the 2 operands and results as channels_last, got: 2}}
soaprt.kernel @k0 "nn.relu" (%x: tensor<1x4x8xf32>) attributes {channels_last = array<i64: 0, 2>} {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<1x4x8xf32>
  soaprt.yield %0 : tensor<1x4x8xf32>
}

// -----

// Tests that attributes in a list are those that a kernel has.
// expected-error @+1 {{attribute 'flops' failed to satisfy constraint: 64-bit float attribute}}
soaprt.kernel @k0 "nn.relu" (%x: tensor<32xf32>) attributes {flops = "s"} {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<32xf32>
  soaprt.yield %0 : tensor<32xf32>
}

// -----

// Tests that sizes and places which leave all bounds are errors.
soaprt.device @d0 id 0 {
  // expected-error @+1 {{expected at most 281474976710656 elements, got: 4611686018427387904, 4611686018427387904}}
  %a = soaprt.buffer : !soaprt.buffer<4611686018427387904x4611686018427387904xf32, activations>
  soaprt.init {}
  soaprt.main {}
}

// -----

soaprt.device @d0 id 0 {
  %p = soaprt.buffer : !soaprt.buffer<64xf32, parameters>
  // expected-error @+1 {{expected a box inside of 'tensor<64xf32>', got: 64 elements from 9223372036854775800 on in dim 0}}
  soaprt.load "w" from #nn.splat<1.0 : f32> of tensor<64xf32> at [9223372036854775800] into %p : !soaprt.buffer<64xf32, parameters>
  soaprt.init {}
  soaprt.main {}
}
