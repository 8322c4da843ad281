// RUN: soap-opt %s -split-input-file '-soaprt-verify-programs=report' -verify-diagnostics -o /dev/null

// Tests that reuse of memory and waits between streams are proved, and counted.
// expected-remark @below {{programs: 3 rows, 2 waits, 4 dependences (3 between streams), 1 reuses of memory, all in order}}
module {
soaprt.kernel @k0 "nn.relu" (%x: tensor<32xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<32xf32>
  soaprt.yield %0 : tensor<32xf32>
}
soaprt.device @d0 id 0 activations 384 parameters 0 {
  %a = soaprt.buffer at 0 : !soaprt.buffer<32xf32, activations>
  %b = soaprt.buffer at 128 : !soaprt.buffer<32xf32, activations>
  %c = soaprt.buffer at 0 : !soaprt.buffer<32xf32, activations>
  soaprt.init {}
  soaprt.main {
    %t0 = soaprt.copy "a" () to (%a : !soaprt.buffer<32xf32, activations>) [] fill 1.0 : f32 stream compute
    %t1 = soaprt.exchange "a" tag 0 send (%a : !soaprt.buffer<32xf32, activations>) to [1] receive (%b : !soaprt.buffer<32xf32, activations>) from [1] waits(%t0) stream communication
    %t2 = soaprt.launch "c" @k0(%b : !soaprt.buffer<32xf32, activations>) to (%c : !soaprt.buffer<32xf32, activations>) waits(%t1) stream compute
  }
}
}

// -----

// Tests that a row waits for what it reads.
soaprt.kernel @k0 "nn.relu" (%x: tensor<32xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<32xf32>
  soaprt.yield %0 : tensor<32xf32>
}
soaprt.device @d0 id 0 activations 384 parameters 0 {
  %a = soaprt.buffer at 0 : !soaprt.buffer<32xf32, activations>
  %b = soaprt.buffer at 128 : !soaprt.buffer<32xf32, activations>
  %c = soaprt.buffer at 256 : !soaprt.buffer<32xf32, activations>
  soaprt.init {}
  soaprt.main {
    %t0 = soaprt.copy "a" () to (%a : !soaprt.buffer<32xf32, activations>) [] fill 1.0 : f32 stream compute
    // expected-note @below {{the row: writes what it reads}}
    %t1 = soaprt.exchange "a" tag 0 send (%a : !soaprt.buffer<32xf32, activations>) to [1] receive (%b : !soaprt.buffer<32xf32, activations>) from [1] waits(%t0) stream communication
    // expected-error @below {{expected to start after the row that writes what it reads, got no wait that says so}}
    soaprt.launch "c" @k0(%b : !soaprt.buffer<32xf32, activations>) to (%c : !soaprt.buffer<32xf32, activations>) stream compute
  }
}

// -----

// Tests that memory is not written while another stream still reads it.
soaprt.kernel @k0 "nn.relu" (%x: tensor<32xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<32xf32>
  soaprt.yield %0 : tensor<32xf32>
}
soaprt.device @d0 id 0 activations 384 parameters 0 {
  %a = soaprt.buffer at 0 : !soaprt.buffer<32xf32, activations>
  %b = soaprt.buffer at 128 : !soaprt.buffer<32xf32, activations>
  %c = soaprt.buffer at 0 : !soaprt.buffer<32xf32, activations>
  soaprt.init {}
  soaprt.main {
    %t0 = soaprt.copy "a" () to (%a : !soaprt.buffer<32xf32, activations>) [] fill 1.0 : f32 stream compute
    // expected-note @below {{the row: still reads these bytes}}
    %t1 = soaprt.exchange "a" tag 0 send (%a : !soaprt.buffer<32xf32, activations>) to [1] receive () from [] waits(%t0) stream communication
    soaprt.launch "b" @k0(%a : !soaprt.buffer<32xf32, activations>) to (%b : !soaprt.buffer<32xf32, activations>) stream compute
    // expected-error @below {{expected to start after the row that still reads these bytes, got no wait that says so}}
    soaprt.launch "c" @k0(%b : !soaprt.buffer<32xf32, activations>) to (%c : !soaprt.buffer<32xf32, activations>) stream compute
  }
}

// -----

// Tests that a buffer keeps its bytes until its last reader.
soaprt.kernel @k0 "nn.relu" (%x: tensor<32xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<32xf32>
  soaprt.yield %0 : tensor<32xf32>
}
soaprt.device @d0 id 0 activations 384 parameters 0 {
  %a = soaprt.buffer at 0 : !soaprt.buffer<32xf32, activations>
  // expected-note @below {{the other buffer}}
  %b = soaprt.buffer at 64 : !soaprt.buffer<32xf32, activations>
  %c = soaprt.buffer at 256 : !soaprt.buffer<32xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "a" () to (%a : !soaprt.buffer<32xf32, activations>) [] fill 1.0 : f32 stream compute
    soaprt.copy "b" () to (%b : !soaprt.buffer<32xf32, activations>) [] fill 1.0 : f32 stream compute
    // expected-error @below {{expected to read bytes of its buffer, got: bytes that belong to another one by now; keep the two apart}}
    soaprt.launch "c" @k0(%a : !soaprt.buffer<32xf32, activations>) to (%c : !soaprt.buffer<32xf32, activations>) stream compute
  }
}

// -----

// Tests that a row does not write what it reads, unless it reduces all of it.
soaprt.kernel @k0 "nn.relu" (%x: tensor<32xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<32xf32>
  soaprt.yield %0 : tensor<32xf32>
}
soaprt.device @d0 id 0 activations 128 parameters 0 {
  %a = soaprt.buffer at 0 : !soaprt.buffer<32xf32, activations>
  %b = soaprt.buffer at 0 : !soaprt.buffer<32xf32, activations>
  %c = soaprt.buffer at 0 : !soaprt.buffer<32xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "a" () to (%a : !soaprt.buffer<32xf32, activations>) [] fill 1.0 : f32 stream compute
    soaprt.collective "b" all_reduce over [0, 1] member 0 tag 0 combine sum send (%a : !soaprt.buffer<32xf32, activations>) receive (%b : !soaprt.buffer<32xf32, activations>) stream compute
    // expected-error @below {{expected to write no bytes that it reads through another buffer, which only an all-reduce of the whole buffer may}}
    soaprt.launch "c" @k0(%b : !soaprt.buffer<32xf32, activations>) to (%c : !soaprt.buffer<32xf32, activations>) stream compute
  }
}

// -----

// Tests that an all-reduce does not write a part of what it reads.
soaprt.device @d0 id 0 activations 192 parameters 0 {
  %a = soaprt.buffer at 0 : !soaprt.buffer<32xf32, activations>
  %b = soaprt.buffer at 64 : !soaprt.buffer<32xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "a" () to (%a : !soaprt.buffer<32xf32, activations>) [] fill 1.0 : f32 stream compute
    // expected-error @below {{expected to write no bytes that it reads through another buffer}}
    soaprt.collective "b" all_reduce over [0, 1] member 0 tag 0 combine sum send (%a : !soaprt.buffer<32xf32, activations>) receive (%b : !soaprt.buffer<32xf32, activations>) stream compute
  }
}

// -----

// Tests that nothing is read that no row has written.
soaprt.kernel @k0 "nn.relu" (%x: tensor<32xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<32xf32>
  soaprt.yield %0 : tensor<32xf32>
}
soaprt.device @d0 id 0 activations 384 parameters 0 {
  // expected-note @below {{of this buffer}}
  %a = soaprt.buffer at 0 : !soaprt.buffer<32xf32, activations>
  %b = soaprt.buffer at 128 : !soaprt.buffer<32xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @below {{expected to read what an earlier row has written, got bytes that none has}}
    soaprt.launch "b" @k0(%a : !soaprt.buffer<32xf32, activations>) to (%b : !soaprt.buffer<32xf32, activations>) stream compute
  }
}

// -----

// Tests that places are needed.
soaprt.kernel @k0 "nn.relu" (%x: tensor<32xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<32xf32>
  soaprt.yield %0 : tensor<32xf32>
}
soaprt.device @d0 id 0 activations 384 parameters 0 {
  // expected-error @below {{expected an offset; run soaprt-plan-memory}}
  %a = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "a" () to (%a : !soaprt.buffer<32xf32, activations>) [] fill 1.0 : f32 stream compute
  }
}

// -----

// Tests that no row of the step writes a part of what a launch takes for
// constant; a row of init may.
soaprt.kernel @k0 "nn.relu" (%x: tensor<32xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<32xf32>
  soaprt.yield %0 : tensor<32xf32>
}
soaprt.device @d0 id 0 activations 128 parameters 256 {
  %w = soaprt.buffer at 0 : !soaprt.buffer<64xf32, parameters>
  %v = soaprt.view %w[0] : !soaprt.buffer<64xf32, parameters> -> !soaprt.buffer<32xf32, parameters>
  %u = soaprt.view %w[16] : !soaprt.buffer<64xf32, parameters> -> !soaprt.buffer<16xf32, parameters>
  %t = soaprt.view %w[32] : !soaprt.buffer<64xf32, parameters> -> !soaprt.buffer<32xf32, parameters>
  %y = soaprt.buffer at 0 : !soaprt.buffer<32xf32, activations>
  soaprt.init {
    soaprt.copy "w" () to (%w : !soaprt.buffer<64xf32, parameters>) [] fill 1.0 : f32 stream compute
  }
  soaprt.main {
    soaprt.launch "fine" @k0(%t : !soaprt.buffer<32xf32, parameters>) to (%y : !soaprt.buffer<32xf32, activations>) stream compute {constants = array<i64: 0>}
    // expected-error @below {{expected constant input 0 to be written by no row of the step}}
    soaprt.launch "wrong" @k0(%v : !soaprt.buffer<32xf32, parameters>) to (%y : !soaprt.buffer<32xf32, activations>) stream compute {constants = array<i64: 0>}
    // expected-note @below {{the row that writes it}}
    soaprt.copy "w" () to (%u : !soaprt.buffer<16xf32, parameters>) [] fill 1.0 : f32 stream compute
  }
}

// -----

// Tests that no program takes for constant what another one writes.
soaprt.kernel @k0 "nn.relu" (%x: tensor<32xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<32xf32>
  soaprt.yield %0 : tensor<32xf32>
}
soaprt.device @d0 id 0 activations 128 parameters 128 {
  %w = soaprt.buffer at 0 : !soaprt.buffer<32xf32, parameters>
  %y = soaprt.buffer at 0 : !soaprt.buffer<32xf32, activations>
  soaprt.load "w" from #nn.splat<1.0 : f32> of tensor<32xf32> at [0] into %w : !soaprt.buffer<32xf32, parameters>
  soaprt.init {}
  soaprt.main "train" {
    // expected-note @below {{the row that writes it}}
    soaprt.copy "w" () to (%w : !soaprt.buffer<32xf32, parameters>) [] fill 1.0 : f32 stream compute
  }
  soaprt.main "eval" {
    // expected-error @below {{expected constant input 0 to be written by no row of the step}}
    soaprt.launch "wrong" @k0(%w : !soaprt.buffer<32xf32, parameters>) to (%y : !soaprt.buffer<32xf32, activations>) stream compute {constants = array<i64: 0>}
  }
}

// -----

// Tests that nothing is made once of what a program writes.
soaprt.device @d0 id 0 activations 128 parameters 256 {
  %w = soaprt.buffer at 0 : !soaprt.buffer<32xf32, parameters>
  %v = soaprt.buffer at 128 : !soaprt.buffer<16xf32, parameters>
  soaprt.load "w" from #nn.splat<1.0 : f32> of tensor<32xf32> at [0] into %w : !soaprt.buffer<32xf32, parameters>
  soaprt.init {
    // expected-error @below {{expected soaprt.init to read no parameter that a program writes}}
    soaprt.copy "w.slice"(%w : !soaprt.buffer<32xf32, parameters>) to(%v : !soaprt.buffer<16xf32, parameters>) [#soaprt.box<[16] to [0] sizes [16]>] stream compute
  }
  soaprt.main "train" {
    // expected-note @below {{the row that writes it}}
    soaprt.copy "w" () to (%w : !soaprt.buffer<32xf32, parameters>) [] fill 1.0 : f32 stream compute
  }
}

// -----

// Tests that a program has no copy of its own of what another one writes.
soaprt.kernel @k0 "nn.relu" (%x: tensor<32xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<32xf32>
  soaprt.yield %0 : tensor<32xf32>
}
soaprt.device @d0 id 0 activations 128 parameters 384 {
  %w = soaprt.buffer at 0 : !soaprt.buffer<32xf32, parameters>
  %v = soaprt.buffer at 128 : !soaprt.buffer<32xf32, parameters>
  %u = soaprt.buffer at 256 : !soaprt.buffer<32xf32, parameters>
  %y = soaprt.buffer at 0 : !soaprt.buffer<32xf32, activations>
  soaprt.load "w" from #nn.splat<1.0 : f32> of tensor<64xf32> at [0] into %w : !soaprt.buffer<32xf32, parameters>
  soaprt.load "w" from #nn.splat<1.0 : f32> of tensor<64xf32> at [32] into %u : !soaprt.buffer<32xf32, parameters>
  // expected-error @below {{expected no copy of parameter 'w' that no row writes, as others are}}
  soaprt.load "w" from #nn.splat<1.0 : f32> of tensor<64xf32> at [16] into %v : !soaprt.buffer<32xf32, parameters>
  soaprt.init {}
  soaprt.main "train" {
    // expected-note @below {{the row that writes another one}}
    soaprt.copy "w" () to (%w : !soaprt.buffer<32xf32, parameters>) [] fill 1.0 : f32 stream compute
  }
  soaprt.main "eval" {
    soaprt.launch "y" @k0(%v : !soaprt.buffer<32xf32, parameters>) to (%y : !soaprt.buffer<32xf32, activations>) stream compute
  }
}

// -----

// Tests that a program does not read what another one has left in activations.
soaprt.kernel @k0 "nn.relu" (%x: tensor<32xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<32xf32>
  soaprt.yield %0 : tensor<32xf32>
}
soaprt.device @d0 id 0 activations 256 parameters 0 {
  // expected-note @below {{of this buffer}}
  %x = soaprt.buffer at 0 : !soaprt.buffer<32xf32, activations>
  %y = soaprt.buffer at 128 : !soaprt.buffer<32xf32, activations>
  soaprt.init {}
  soaprt.main "train" {
    soaprt.copy "x" () to (%x : !soaprt.buffer<32xf32, activations>) [] fill 1.0 : f32 stream compute
  }
  soaprt.main "eval" {
    // expected-error @below {{expected to read what an earlier row has written, got bytes that none has}}
    soaprt.launch "y" @k0(%x : !soaprt.buffer<32xf32, activations>) to (%y : !soaprt.buffer<32xf32, activations>) stream compute
  }
}

// -----

// Tests that both ends of a message have one order of elements.
soaprt.device @d0 id 0 activations 384 parameters 0 {
  %a = soaprt.buffer at 0 : !soaprt.buffer<1x2x2x2xf32, activations, channels_last>
  soaprt.init {}
  soaprt.main {
    %t0 = soaprt.copy "a" () to (%a : !soaprt.buffer<1x2x2x2xf32, activations, channels_last>) [] fill 1.0 : f32 stream compute
    // expected-note @below {{the row that sends it}}
    %t1 = soaprt.exchange "a" tag 3 send (%a : !soaprt.buffer<1x2x2x2xf32, activations, channels_last>) to [1] receive () from [] waits(%t0) stream communication
  }
}
soaprt.device @d1 id 1 activations 384 parameters 0 {
  %a = soaprt.buffer at 0 : !soaprt.buffer<1x2x2x2xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @below {{expected to receive '!soaprt.buffer<1x2x2x2xf32, activations, channels_last>', as device 0 sends it with tag 3, got: '!soaprt.buffer<1x2x2x2xf32, activations>'}}
    %t0 = soaprt.exchange "a" tag 3 send () to [] receive (%a : !soaprt.buffer<1x2x2x2xf32, activations>) from [0] stream communication
  }
}

// -----

// Tests that all members of a collective have one order of the elements of a
// piece, and one of their number.
soaprt.device @d0 id 0 activations 384 parameters 0 {
  %a = soaprt.buffer at 0 : !soaprt.buffer<1x2x2x2xf32, activations, channels_last>
  %b = soaprt.buffer at 64 : !soaprt.buffer<1x2x2x2xf32, activations, channels_last>
  %c = soaprt.buffer at 128 : !soaprt.buffer<1x2x2x2xf32, activations>
  soaprt.init {}
  soaprt.main {
    %t0 = soaprt.copy "a" () to (%a : !soaprt.buffer<1x2x2x2xf32, activations, channels_last>) [] fill 1.0 : f32 stream compute
    // expected-note @below {{the row that has it}}
    %t1 = soaprt.collective "a" all_gather over [0, 1] member 0 tag 3 send (%a : !soaprt.buffer<1x2x2x2xf32, activations, channels_last>) receive (%b, %c : !soaprt.buffer<1x2x2x2xf32, activations, channels_last>, !soaprt.buffer<1x2x2x2xf32, activations>) waits(%t0) stream communication
  }
}
soaprt.device @d1 id 1 activations 384 parameters 0 {
  %a = soaprt.buffer at 0 : !soaprt.buffer<1x2x2x2xf32, activations>
  %b = soaprt.buffer at 64 : !soaprt.buffer<1x2x2x2xf32, activations>
  %c = soaprt.buffer at 128 : !soaprt.buffer<1x2x2x2xf32, activations>
  soaprt.init {}
  soaprt.main {
    %t0 = soaprt.copy "a" () to (%a : !soaprt.buffer<1x2x2x2xf32, activations>) [] fill 1.0 : f32 stream compute
    // expected-error @below {{expected '!soaprt.buffer<1x2x2x2xf32, activations, channels_last>', as device 0 has this piece, got: '!soaprt.buffer<1x2x2x2xf32, activations>'}}
    %t1 = soaprt.collective "a" all_gather over [0, 1] member 1 tag 3 send (%a : !soaprt.buffer<1x2x2x2xf32, activations>) receive (%b, %c : !soaprt.buffer<1x2x2x2xf32, activations>, !soaprt.buffer<1x2x2x2xf32, activations>) waits(%t0) stream communication
  }
}

// -----

soaprt.device @d0 id 0 activations 384 parameters 0 {
  %a = soaprt.buffer at 0 : !soaprt.buffer<8xf32, activations>
  %b = soaprt.buffer at 64 : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    %t0 = soaprt.copy "a" () to (%a : !soaprt.buffer<8xf32, activations>) [] fill 1.0 : f32 stream compute
    // expected-note @below {{the row that has it}}
    %t1 = soaprt.collective "a" broadcast over [0, 1] member 0 tag 3 send (%a : !soaprt.buffer<8xf32, activations>) receive () waits(%t0) stream communication
  }
}
soaprt.device @d1 id 1 activations 384 parameters 0 {
  %a = soaprt.buffer at 0 : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @below {{expected '!soaprt.buffer<8xf32, activations>', as device 0 has this piece, got: '!soaprt.buffer<4xf32, activations>'}}
    %t0 = soaprt.collective "a" broadcast over [0, 1] member 1 tag 3 send () receive (%a : !soaprt.buffer<4xf32, activations>) stream communication
  }
}

// -----

// Tests that every device of the module that is a member takes part.
soaprt.device @d0 id 0 activations 384 parameters 0 {
  %a = soaprt.buffer at 0 : !soaprt.buffer<8xf32, activations>
  soaprt.init {}
  soaprt.main {
    %t0 = soaprt.copy "a" () to (%a : !soaprt.buffer<8xf32, activations>) [] fill 1.0 : f32 stream compute
    // expected-error @below {{expected device 1 to take part in the broadcast with tag 3}}
    %t1 = soaprt.collective "a" broadcast over [0, 1] member 0 tag 3 send (%a : !soaprt.buffer<8xf32, activations>) receive () waits(%t0) stream communication
  }
}
soaprt.device @d1 id 1 activations 384 parameters 0 {
  soaprt.init {}
  soaprt.main {}
}

// -----

// Tests that what is sent to a device of the module is received there.
soaprt.device @d0 id 0 activations 384 parameters 0 {
  %a = soaprt.buffer at 0 : !soaprt.buffer<8xf32, activations>
  soaprt.init {}
  soaprt.main {
    %t0 = soaprt.copy "a" () to (%a : !soaprt.buffer<8xf32, activations>) [] fill 1.0 : f32 stream compute
    // expected-error @below {{expected as many sends as receives from device 0 to 1 with tag 3, got: 1 and 0}}
    %t1 = soaprt.exchange "a" tag 3 send (%a : !soaprt.buffer<8xf32, activations>) to [1] receive () from [] waits(%t0) stream communication
  }
}
soaprt.device @d1 id 1 activations 384 parameters 0 {
  soaprt.init {}
  soaprt.main {}
}
