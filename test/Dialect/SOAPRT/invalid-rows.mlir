// RUN: soap-opt %s --split-input-file --verify-diagnostics

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

// Tests that a box has one offset per size.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected as many offsets and steps as sizes (1), got: 1, 2 and 1}}
    soaprt.copy "b" (%a : !soaprt.buffer<4xf32, activations>) to (%a : !soaprt.buffer<4xf32, activations>) [#soaprt.box<[0] to [0, 0] sizes [4]>]
  }
}

// -----

// Tests that a box has one step per size.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected as many offsets and steps as sizes (1), got: 1, 1 and 2}}
    soaprt.copy "b" (%a : !soaprt.buffer<4xf32, activations>) to (%a : !soaprt.buffer<4xf32, activations>) [#soaprt.box<[0] to [0] sizes [4] steps [1, 1]>]
  }
}

// -----

// Tests that sizes of a box are not negative.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected sizes of 0 or larger, got: -1}}
    soaprt.copy "b" (%a : !soaprt.buffer<4xf32, activations>) to (%a : !soaprt.buffer<4xf32, activations>) [#soaprt.box<[0] to [0] sizes [-1]>]
  }
}

// -----

// Tests that init is not fed.
soaprt.input @in0 "x" : tensor<4xf32>
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {
    // expected-error @+1 {{expected no communication in soaprt.init}}
    soaprt.feed "x" @in0 to (%a : !soaprt.buffer<4xf32, activations>) [#soaprt.box<[0] to [0] sizes [4]>]
  }
  soaprt.main {}
}

// -----

// Tests that init runs on the compute stream.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {
    // expected-error @+1 {{expected the compute stream in soaprt.init}}
    soaprt.copy "a" () to (%a : !soaprt.buffer<4xf32, activations>) [] fill 0.0 : f32 stream communication
  }
  soaprt.main {}
}

// -----

// Tests that a launch has the operands of its kernel.
soaprt.kernel @k0 "nn.relu" (%x: tensor<4xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<4xf32>
  soaprt.yield %0 : tensor<4xf32>
}
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected 1 inputs as its kernel, got: 2}}
    soaprt.launch "b" @k0(%a, %a : !soaprt.buffer<4xf32, activations>, !soaprt.buffer<4xf32, activations>) to (%a : !soaprt.buffer<4xf32, activations>)
  }
}

// -----

// Tests that a launch has the results of its kernel.
soaprt.kernel @k0 "nn.relu" (%x: tensor<4xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<4xf32>
  soaprt.yield %0 : tensor<4xf32>
}
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected 1 outputs as its kernel, got: 2}}
    soaprt.launch "b" @k0(%a : !soaprt.buffer<4xf32, activations>) to (%a, %a : !soaprt.buffer<4xf32, activations>, !soaprt.buffer<4xf32, activations>)
  }
}

// -----

// Tests that a constant is one of the inputs.
soaprt.kernel @k0 "nn.relu" (%x: tensor<4xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<4xf32>
  soaprt.yield %0 : tensor<4xf32>
}
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected constants to be indices of inputs (1), got: 1}}
    soaprt.launch "b" @k0(%a : !soaprt.buffer<4xf32, activations>) to (%a : !soaprt.buffer<4xf32, activations>) {constants = array<i64: 1>}
  }
}

// -----

// Tests that a copy keeps the element type.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  %i = soaprt.buffer : !soaprt.buffer<4xi32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected equal element types, got: '!soaprt.buffer<4xf32, activations>' and '!soaprt.buffer<4xi32, activations>'}}
    soaprt.copy "b" (%a : !soaprt.buffer<4xf32, activations>) to (%i : !soaprt.buffer<4xi32, activations>) [#soaprt.box<[0] to [0] sizes [4]>]
  }
}

// -----

// Tests that targets are filled with a number.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected a number to fill with, got: [0]}}
    soaprt.copy "b" () to (%a : !soaprt.buffer<4xf32, activations>) [] fill [0]
  }
}

// -----

// Tests that every receive has an origin.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected one origin per receive (1), got: 2}}
    soaprt.exchange "a" tag 0 send () to [] receive (%a : !soaprt.buffer<4xf32, activations>) from [1, 2]
  }
}

// -----

// Tests that a message has a destination.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected devices of ids 0 or larger, got: -1}}
    soaprt.exchange "a" tag 0 send (%a : !soaprt.buffer<4xf32, activations>) to [-1] receive () from []
  }
}

// -----

// Tests that a group has every device once.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected different devices, of ids 0 or larger, got: 0}}
    soaprt.collective "a" all_reduce over [0, 0] member 0 tag 0 combine sum send (%a : !soaprt.buffer<4xf32, activations>) receive (%a : !soaprt.buffer<4xf32, activations>)
  }
}

// -----

// Tests that a group has devices only.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected different devices, of ids 0 or larger, got: -1}}
    soaprt.collective "a" all_reduce over [0, -1] member 0 tag 0 combine sum send (%a : !soaprt.buffer<4xf32, activations>) receive (%a : !soaprt.buffer<4xf32, activations>)
  }
}

// -----

// Tests that a collective has one element type.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  %i = soaprt.buffer : !soaprt.buffer<4xi32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected buffers of 'f32', as the first, got: '!soaprt.buffer<4xi32, activations>'}}
    soaprt.collective "a" all_gather over [0, 1] member 0 tag 0 send (%a : !soaprt.buffer<4xf32, activations>) receive (%a, %i : !soaprt.buffer<4xf32, activations>, !soaprt.buffer<4xi32, activations>)
  }
}

// -----

// Tests that only the first member of a broadcast sends.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected 0 sends and 1 receives, got: 1 and 1}}
    soaprt.collective "a" broadcast over [1, 0] member 1 tag 0 send (%a : !soaprt.buffer<4xf32, activations>) receive (%a : !soaprt.buffer<4xf32, activations>)
  }
}

// -----

// Tests that a member of an all-to-all sends to all.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected 2 sends and 2 receives, got: 1 and 2}}
    soaprt.collective "a" all_to_all over [0, 1] member 0 tag 0 send (%a : !soaprt.buffer<4xf32, activations>) receive (%a, %a : !soaprt.buffer<4xf32, activations>, !soaprt.buffer<4xf32, activations>)
  }
}

// -----

// Tests that a member of a reduce-scatter has a share for everyone.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected 2 sends and 1 receives, got: 1 and 1}}
    soaprt.collective "a" reduce_scatter over [0, 1] member 0 tag 0 combine sum send (%a : !soaprt.buffer<4xf32, activations>) receive (%a : !soaprt.buffer<4xf32, activations>)
  }
}

// -----

// Tests that an all-reduce has one buffer of each.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected 1 sends and 1 receives, got: 2 and 1}}
    soaprt.collective "a" all_reduce over [0, 1] member 0 tag 0 combine sum send (%a, %a : !soaprt.buffer<4xf32, activations>, !soaprt.buffer<4xf32, activations>) receive (%a : !soaprt.buffer<4xf32, activations>)
  }
}

// -----

// Tests that a reduction says how it joins.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected `combine`, as parts are joined}}
    soaprt.collective "a" all_reduce over [0, 1] member 0 tag 0 send (%a : !soaprt.buffer<4xf32, activations>) receive (%a : !soaprt.buffer<4xf32, activations>)
  }
}

// -----

// Tests that what joins nothing has no combiner.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected no `combine`, as no parts are joined}}
    soaprt.collective "a" all_gather over [0, 1] member 0 tag 0 combine sum send (%a : !soaprt.buffer<4xf32, activations>) receive (%a, %a : !soaprt.buffer<4xf32, activations>, !soaprt.buffer<4xf32, activations>)
  }
}

// -----

// Tests that every box is fed to a buffer.
soaprt.input @in0 "x" : tensor<4xf32>
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected one box per buffer (1), got: 0}}
    soaprt.feed "x" @in0 to (%a : !soaprt.buffer<4xf32, activations>) []
  }
}

// -----

// Tests that a fed buffer has the elements of the input.
soaprt.input @in0 "x" : tensor<4xf32>
soaprt.device @d0 id 0 {
  %i = soaprt.buffer : !soaprt.buffer<4xi32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected a buffer of 'f32', got: '!soaprt.buffer<4xi32, activations>'}}
    soaprt.feed "x" @in0 to (%i : !soaprt.buffer<4xi32, activations>) [#soaprt.box<[0] to [0] sizes [4]>]
  }
}

// -----

// Tests that a fed box lies inside of the input.
soaprt.input @in0 "x" : tensor<4xf32>
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected a box inside of the source [4] and the target [4]}}
    soaprt.feed "x" @in0 to (%a : !soaprt.buffer<4xf32, activations>) [#soaprt.box<[1] to [0] sizes [4]>]
  }
}

// -----

// Tests that a drain names an output.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected a soaprt.output, got: @out9}}
    soaprt.drain "x" @out9 from (%a : !soaprt.buffer<4xf32, activations>) [#soaprt.box<[0] to [0] sizes [4]>]
  }
}

// -----

// Tests that every box is drained from a buffer.
soaprt.output @out0 "x" : tensor<4xf32>
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected one box per buffer (1), got: 2}}
    soaprt.drain "x" @out0 from (%a : !soaprt.buffer<4xf32, activations>) [#soaprt.box<[0] to [0] sizes [4]>, #soaprt.box<[0] to [0] sizes [4]>]
  }
}

// -----

// Tests that a drained buffer has the elements of the output.
soaprt.output @out0 "x" : tensor<4xf32>
soaprt.device @d0 id 0 {
  %i = soaprt.buffer : !soaprt.buffer<4xi32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected a buffer of 'f32', got: '!soaprt.buffer<4xi32, activations>'}}
    soaprt.drain "x" @out0 from (%i : !soaprt.buffer<4xi32, activations>) [#soaprt.box<[0] to [0] sizes [4]>]
  }
}

// -----

// Tests that a drained box lies inside of the output.
soaprt.output @out0 "x" : tensor<4xf32>
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected a box inside of the source [4] and the target [4]}}
    soaprt.drain "x" @out0 from (%a : !soaprt.buffer<4xf32, activations>) [#soaprt.box<[0] to [1] sizes [4]>]
  }
}

// -----

// Tests that a launch has the order of its kernel.
soaprt.kernel @k0 "nn.relu" (%x: tensor<1x4x8xf32>) attributes {channels_last = array<i64: 0, 1>} {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<1x4x8xf32>
  soaprt.yield %0 : tensor<1x4x8xf32>
}
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<1x4x8xf32, activations, channels_last>
  %b = soaprt.buffer : !soaprt.buffer<1x4x8xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected a buffer of 'tensor<1x4x8xf32>' with channels last as in its kernel, got: '!soaprt.buffer<1x4x8xf32, activations>'}}
    soaprt.launch "b" @k0(%a : !soaprt.buffer<1x4x8xf32, activations, channels_last>) to (%b : !soaprt.buffer<1x4x8xf32, activations>)
  }
}

// -----

// Tests that a box which leaves all bounds is an error.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  %b = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected a box inside of the source [64] and the target [64]}}
    soaprt.copy "pad" (%a : !soaprt.buffer<64xf32, activations>) to (%b : !soaprt.buffer<64xf32, activations>) [#soaprt.box<[0] to [9223372036854775800] sizes [64] steps [1]>]
  }
}
