// RUN: soap-opt %s --soaprt-assign-streams --soaprt-plan-memory --split-input-file | FileCheck %s

soaprt.kernel @k0 "nn.relu" (%x: tensor<32xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<32xf32>
  soaprt.yield %0 : tensor<32xf32>
}

// Tests that a chain needs two places, and that parameters do not share.
// CHECK: soaprt.device @d0 id 0 activations 256 parameters 128
soaprt.device @d0 id 0 {
  // CHECK-NEXT: soaprt.buffer at 0 : <2xf32, parameters>
  %p = soaprt.buffer : !soaprt.buffer<2xf32, parameters>
  // CHECK-NEXT: soaprt.buffer at 64 : <2xf32, parameters>
  %q = soaprt.buffer : !soaprt.buffer<2xf32, parameters>
  // CHECK-NEXT: soaprt.buffer at 0
  %a = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  // CHECK-NEXT: soaprt.buffer at 128
  %b = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  // CHECK-NEXT: soaprt.buffer at 0
  %c = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  // CHECK-NEXT: soaprt.buffer at 128
  %d = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "a" () to (%a : !soaprt.buffer<32xf32, activations>) [] fill 1.0 : f32
    soaprt.launch "b" @k0(%a : !soaprt.buffer<32xf32, activations>) to (%b : !soaprt.buffer<32xf32, activations>)
    soaprt.launch "c" @k0(%b : !soaprt.buffer<32xf32, activations>) to (%c : !soaprt.buffer<32xf32, activations>)
    soaprt.launch "d" @k0(%c : !soaprt.buffer<32xf32, activations>) to (%d : !soaprt.buffer<32xf32, activations>)
  }
}

// -----

soaprt.kernel @k0 "nn.relu" (%x: tensor<32xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<32xf32>
  soaprt.yield %0 : tensor<32xf32>
}

// Tests that memory which the communication stream still sends from is not
// reused: nothing tells the compute stream that the exchange has ended.
// CHECK: soaprt.device @d0 id 0 activations 384
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  %b = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  %c = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "a" () to (%a : !soaprt.buffer<32xf32, activations>) [] fill 1.0 : f32
    soaprt.exchange "a" tag 0 send (%a : !soaprt.buffer<32xf32, activations>) to [1] receive () from []
    soaprt.launch "b" @k0(%a : !soaprt.buffer<32xf32, activations>) to (%b : !soaprt.buffer<32xf32, activations>)
    soaprt.launch "c" @k0(%b : !soaprt.buffer<32xf32, activations>) to (%c : !soaprt.buffer<32xf32, activations>)
  }
}

// -----

soaprt.kernel @k0 "nn.relu" (%x: tensor<32xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<32xf32>
  soaprt.yield %0 : tensor<32xf32>
}

// Tests that it is reused where a later wait says so.
// CHECK: soaprt.device @d0 id 0 activations 256
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  %b = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  %c = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "a" () to (%a : !soaprt.buffer<32xf32, activations>) [] fill 1.0 : f32
    soaprt.exchange "a" tag 0 send (%a : !soaprt.buffer<32xf32, activations>) to [1] receive (%b : !soaprt.buffer<32xf32, activations>) from [1]
    soaprt.launch "c" @k0(%b : !soaprt.buffer<32xf32, activations>) to (%c : !soaprt.buffer<32xf32, activations>)
  }
}

// -----

soaprt.kernel @k0 "nn.relu" (%x: tensor<32xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<32xf32>
  soaprt.yield %0 : tensor<32xf32>
}

// Tests that what only init reads lives from the first row that reads it to the
// last one: the second weight takes the place of the first.
// CHECK: soaprt.device @d0 id 0 activations 128 parameters 256
soaprt.device @d0 id 0 {
  // CHECK-NEXT: soaprt.buffer at 0 : <32xf32, activations>
  %v = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  // CHECK-NEXT: soaprt.buffer at 0 : <32xf32, activations>
  %w = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  %p = soaprt.buffer : !soaprt.buffer<32xf32, parameters>
  %q = soaprt.buffer : !soaprt.buffer<32xf32, parameters>
  soaprt.load "v" from #nn.splat<1.0 : f32> of tensor<32xf32> at [0] into %v : !soaprt.buffer<32xf32, activations>
  soaprt.load "w" from #nn.splat<1.0 : f32> of tensor<32xf32> at [0] into %w : !soaprt.buffer<32xf32, activations>
  soaprt.init {
    soaprt.launch "p" @k0(%v : !soaprt.buffer<32xf32, activations>) to (%p : !soaprt.buffer<32xf32, parameters>)
    soaprt.launch "q" @k0(%w : !soaprt.buffer<32xf32, activations>) to (%q : !soaprt.buffer<32xf32, parameters>)
  }
  soaprt.main {}
}

// -----

soaprt.kernel @k0 "nn.add" (%x: tensor<32xf32>, %y: tensor<32xf32>) {
  %0 = nn.add %x, %y {nn.name = "add"} : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  soaprt.yield %0 : tensor<32xf32>
}

// Tests that weights which one row reads do not share memory, nor does one that
// a later row reads again.
// CHECK: soaprt.device @d0 id 0 activations 384 parameters 256
soaprt.device @d0 id 0 {
  %u = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  %v = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  %w = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  %p = soaprt.buffer : !soaprt.buffer<32xf32, parameters>
  %q = soaprt.buffer : !soaprt.buffer<32xf32, parameters>
  soaprt.load "u" from #nn.splat<1.0 : f32> of tensor<32xf32> at [0] into %u : !soaprt.buffer<32xf32, activations>
  soaprt.load "v" from #nn.splat<1.0 : f32> of tensor<32xf32> at [0] into %v : !soaprt.buffer<32xf32, activations>
  soaprt.load "w" from #nn.splat<1.0 : f32> of tensor<32xf32> at [0] into %w : !soaprt.buffer<32xf32, activations>
  soaprt.init {
    soaprt.launch "p" @k0(%u, %v : !soaprt.buffer<32xf32, activations>, !soaprt.buffer<32xf32, activations>) to (%p : !soaprt.buffer<32xf32, parameters>)
    soaprt.launch "q" @k0(%v, %w : !soaprt.buffer<32xf32, activations>, !soaprt.buffer<32xf32, activations>) to (%q : !soaprt.buffer<32xf32, parameters>)
    soaprt.launch "q" @k0(%u, %w : !soaprt.buffer<32xf32, activations>, !soaprt.buffer<32xf32, activations>) to (%q : !soaprt.buffer<32xf32, parameters>)
  }
  soaprt.main {}
}

// -----

soaprt.kernel @k0 "nn.relu" (%x: tensor<32xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<32xf32>
  soaprt.yield %0 : tensor<32xf32>
}

// Tests that offsets and arenas are multiples of the device's alignment.
// CHECK: soaprt.device @d0 id 0 alignment 256 activations 512 parameters 512
soaprt.device @d0 id 0 alignment 256 {
  // CHECK-NEXT: soaprt.buffer at 0 : <2xf32, parameters>
  %p = soaprt.buffer : !soaprt.buffer<2xf32, parameters>
  // CHECK-NEXT: soaprt.buffer at 256 : <2xf32, parameters>
  %q = soaprt.buffer : !soaprt.buffer<2xf32, parameters>
  // CHECK-NEXT: soaprt.buffer at 0
  %a = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  // CHECK-NEXT: soaprt.buffer at 256
  %b = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "a" () to (%a : !soaprt.buffer<32xf32, activations>) [] fill 1.0 : f32
    soaprt.launch "b" @k0(%a : !soaprt.buffer<32xf32, activations>) to (%b : !soaprt.buffer<32xf32, activations>)
  }
}

// -----

soaprt.kernel @k0 "nn.relu" (%x: tensor<32xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<32xf32>
  soaprt.yield %0 : tensor<32xf32>
}

// Tests that programs share the arena of activations, which is as large as the
// program that needs most, and that what lasts has a place of its own.
// CHECK: soaprt.device @d0 id 0 activations 256 parameters 128
soaprt.device @d0 id 0 {
  // CHECK-NEXT: soaprt.buffer at 0 : <32xf32, parameters>
  %w = soaprt.buffer : !soaprt.buffer<32xf32, parameters>
  // CHECK-NEXT: soaprt.buffer at 0
  %a = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  // CHECK-NEXT: soaprt.buffer at 0
  %b = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  // CHECK-NEXT: soaprt.buffer at 128
  %c = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  soaprt.init {}
  soaprt.main "train" {
    soaprt.copy "a" () to (%a : !soaprt.buffer<32xf32, activations>) [] fill 1.0 : f32
    soaprt.launch "w" @k0(%a : !soaprt.buffer<32xf32, activations>) to (%w : !soaprt.buffer<32xf32, parameters>)
  }
  soaprt.main "eval" {
    soaprt.copy "b" () to (%b : !soaprt.buffer<32xf32, activations>) [] fill 1.0 : f32
    soaprt.launch "c" @k0(%b : !soaprt.buffer<32xf32, activations>) to (%c : !soaprt.buffer<32xf32, activations>)
  }
}

// -----

soaprt.kernel @k0 "nn.relu" (%x: tensor<32xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<32xf32>
  soaprt.yield %0 : tensor<32xf32>
}

// Tests that the result of an all-reduce takes the place of what is sent, also
// of one that is reduced twice.
// CHECK: soaprt.device @d0 id 0 activations 256
soaprt.device @d0 id 0 {
  // CHECK-NEXT: soaprt.buffer at 0
  %a = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  // CHECK-NEXT: soaprt.buffer at 0
  %b = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  // CHECK-NEXT: soaprt.buffer at 0
  %c = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  // CHECK-NEXT: soaprt.buffer at 128
  %d = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "a" () to (%a : !soaprt.buffer<32xf32, activations>) [] fill 1.0 : f32
    soaprt.collective "b" all_reduce over [0, 1] member 0 tag 0 combine sum send(%a : !soaprt.buffer<32xf32, activations>) receive(%b : !soaprt.buffer<32xf32, activations>)
    soaprt.collective "c" all_reduce over [0, 1] member 0 tag 1 combine sum send(%b : !soaprt.buffer<32xf32, activations>) receive(%c : !soaprt.buffer<32xf32, activations>)
    soaprt.launch "d" @k0(%c : !soaprt.buffer<32xf32, activations>) to (%d : !soaprt.buffer<32xf32, activations>)
  }
}

// -----

soaprt.kernel @k0 "nn.relu" (%x: tensor<32xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<32xf32>
  soaprt.yield %0 : tensor<32xf32>
}

// Tests that it does not where another row reads what is sent afterwards.
// CHECK: soaprt.device @d0 id 0 activations 384
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  %b = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  %c = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "a" () to (%a : !soaprt.buffer<32xf32, activations>) [] fill 1.0 : f32
    soaprt.collective "b" all_reduce over [0, 1] member 0 tag 0 combine sum send(%a : !soaprt.buffer<32xf32, activations>) receive(%b : !soaprt.buffer<32xf32, activations>)
    soaprt.launch "c" @k0(%a : !soaprt.buffer<32xf32, activations>) to (%c : !soaprt.buffer<32xf32, activations>)
    soaprt.exchange "b" tag 0 send (%b, %c : !soaprt.buffer<32xf32, activations>, !soaprt.buffer<32xf32, activations>) to [1, 1] receive () from []
  }
}

// -----

// Tests that a part of a buffer does not take the place of another's whole, nor
// what is gathered that of what is sent.
// CHECK: soaprt.device @d0 id 0 activations 256
soaprt.device @d0 id 0 {
  // CHECK-NEXT: soaprt.buffer at 0
  %a = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  %v = soaprt.view %a[0] : !soaprt.buffer<32xf32, activations> -> !soaprt.buffer<16xf32, activations>
  // CHECK: soaprt.buffer at 128
  %b = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  %w = soaprt.view %b[0] : !soaprt.buffer<32xf32, activations> -> !soaprt.buffer<16xf32, activations>
  %x = soaprt.view %b[16] : !soaprt.buffer<32xf32, activations> -> !soaprt.buffer<16xf32, activations>
  %c = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "a" () to (%a : !soaprt.buffer<32xf32, activations>) [] fill 1.0 : f32
    soaprt.collective "b" all_reduce over [0, 1] member 0 tag 0 combine sum send(%v : !soaprt.buffer<16xf32, activations>) receive(%w : !soaprt.buffer<16xf32, activations>)
    soaprt.collective "x" all_gather over [0, 1] member 0 tag 1 send(%v : !soaprt.buffer<16xf32, activations>) receive(%w, %x : !soaprt.buffer<16xf32, activations>, !soaprt.buffer<16xf32, activations>)
    soaprt.exchange "b" tag 0 send (%b : !soaprt.buffer<32xf32, activations>) to [1] receive (%c : !soaprt.buffer<32xf32, activations>) from [1]
  }
}
