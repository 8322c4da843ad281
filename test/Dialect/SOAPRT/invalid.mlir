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
// expected-error @+1 {{expected one soaprt.init and one soaprt.main, got: 0 and 1}}
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
  // expected-error @+1 {{expected a box inside of 'tensor<6xf32>', got: [4, 8) in dim 0}}
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
  // expected-error @+1 {{expected a box inside of 'tensor<6xf32>', got: [4, 8) in dim 0}}
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

// Tests that init does not communicate.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {
    // expected-error @+1 {{expected no communication in soaprt.init}}
    soaprt.exchange "a" tag 0 send (%a : !soaprt.buffer<4xf32, activations>) to [1] receive () from []
  }
  soaprt.main {}
}

// -----

// Tests that feeds stand first.
soaprt.input @in0 "x" : tensor<4xf32>
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "a" () to (%a : !soaprt.buffer<4xf32, activations>) [] fill 0.0 : f32
    // expected-error @+1 {{expected feeds before all other rows}}
    soaprt.feed "x" @in0 to (%a : !soaprt.buffer<4xf32, activations>) [#soaprt.box<[0] to [0] sizes [4]>]
  }
}

// -----

// Tests that drains stand last.
soaprt.output @out0 "x" : tensor<4xf32>
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.drain "x" @out0 from (%a : !soaprt.buffer<4xf32, activations>) [#soaprt.box<[0] to [0] sizes [4]>]
    // expected-error @+1 {{expected drains after all other rows}}
    soaprt.copy "a" () to (%a : !soaprt.buffer<4xf32, activations>) [] fill 0.0 : f32
  }
}

// -----

// Tests that a kernel exists.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected a soaprt.kernel, got: @k7}}
    soaprt.launch "b" @k7(%a : !soaprt.buffer<4xf32, activations>) to (%a : !soaprt.buffer<4xf32, activations>)
  }
}

// -----

// Tests that a launch has the types of its kernel.
soaprt.kernel @k0 "nn.relu" (%x: tensor<8xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<8xf32>
  soaprt.yield %0 : tensor<8xf32>
}
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected a buffer of 'tensor<8xf32>' as in its kernel}}
    soaprt.launch "b" @k0(%a : !soaprt.buffer<4xf32, activations>) to (%a : !soaprt.buffer<4xf32, activations>)
  }
}

// -----

// Tests that constants do not change.
soaprt.kernel @k0 "nn.relu" (%x: tensor<4xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<4xf32>
  soaprt.yield %0 : tensor<4xf32>
}
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected constant input 0 in the parameter arena}}
    soaprt.launch "b" @k0(%a : !soaprt.buffer<4xf32, activations>) to (%a : !soaprt.buffer<4xf32, activations>) {constants = array<i64: 0>}
  }
}

// -----

// Tests that a copied box lies inside of source and target.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected a box inside of the source [4] and the target [4]}}
    soaprt.copy "b" (%a : !soaprt.buffer<4xf32, activations>) to (%a : !soaprt.buffer<4xf32, activations>) [#soaprt.box<[2] to [0] sizes [3]>]
  }
}

// -----

// Tests that every box has its source.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected one source and one target per box, got: 1 sources, 1 targets, 0 boxes}}
    soaprt.copy "b" (%a : !soaprt.buffer<4xf32, activations>) to (%a : !soaprt.buffer<4xf32, activations>) []
  }
}

// -----

// Tests that a fill has the targets' element type.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected a fill of the targets' element type, got: 0 : i32}}
    soaprt.copy "b" () to (%a : !soaprt.buffer<4xf32, activations>) [] fill 0 : i32
  }
}

// -----

// Tests that a device does not send to itself.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected other devices, got: 0, its own; copy instead}}
    soaprt.exchange "a" tag 0 send (%a : !soaprt.buffer<4xf32, activations>) to [0] receive () from []
  }
}

// -----

// Tests that every send has a destination.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected one destination per send (1), got: 0}}
    soaprt.exchange "a" tag 0 send (%a : !soaprt.buffer<4xf32, activations>) to [] receive () from []
  }
}

// -----

// Tests that the member of a collective is this device.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected member 1 of the group to be this device (0)}}
    soaprt.collective "a" all_reduce over [0, 1] member 1 tag 0 combine sum send (%a : !soaprt.buffer<4xf32, activations>) receive (%a : !soaprt.buffer<4xf32, activations>)
  }
}

// -----

// Tests that a collective has all its pieces.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected 1 sends and 2 receives, got: 1 and 1}}
    soaprt.collective "a" all_gather over [0, 1] member 0 tag 0 send (%a : !soaprt.buffer<4xf32, activations>) receive (%a : !soaprt.buffer<4xf32, activations>)
  }
}

// -----

// Tests that a reduction has a combiner.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+2 {{expected one of none, sum, prod, max, min, and, or, same, got: add}}
    // expected-error @+1 {{failed to parse}}
    soaprt.collective "a" all_reduce over [0, 1] member 0 tag 0 combine add send (%a : !soaprt.buffer<4xf32, activations>) receive (%a : !soaprt.buffer<4xf32, activations>)
  }
}

// -----

// Tests that equal copies are not joined.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected a combiner that joins parts, got: same}}
    soaprt.collective "a" all_reduce over [0, 1] member 0 tag 0 combine same send (%a : !soaprt.buffer<4xf32, activations>) receive (%a : !soaprt.buffer<4xf32, activations>)
  }
}

// -----

// Tests that a kind of collective has the algorithm.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected algorithm direct or ring, got: tree}}
    soaprt.collective "a" all_gather over [0, 1] member 0 tag 0 algorithm tree send (%a : !soaprt.buffer<4xf32, activations>) receive (%a, %a : !soaprt.buffer<4xf32, activations>, !soaprt.buffer<4xf32, activations>)
  }
}

// -----

// Tests that algorithms are words.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+2 {{expected one of direct, ring, tree, got: star}}
    // expected-error @+1 {{failed to parse}}
    soaprt.collective "a" all_reduce over [0, 1] member 0 tag 0 combine sum algorithm star send (%a : !soaprt.buffer<4xf32, activations>) receive (%a : !soaprt.buffer<4xf32, activations>)
  }
}

// -----

// Tests that a feed names an input.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected a soaprt.input, got: @in9}}
    soaprt.feed "x" @in9 to (%a : !soaprt.buffer<4xf32, activations>) [#soaprt.box<[0] to [0] sizes [4]>]
  }
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
