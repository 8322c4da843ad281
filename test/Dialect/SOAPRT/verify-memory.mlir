// RUN: soap-opt %s -split-input-file -soaprt-assign-streams -soaprt-plan-memory -soaprt-verify-memory -verify-diagnostics -o /dev/null
// RUN: soap-opt %S/../../tools/soap-compile/Inputs/branches.mlir '-soap-parallelize=devices=2 strategy=data-parallel' -convert-soap-to-soaprt | FileCheck %s

// Tests that the topology's memory reaches the programs.
// CHECK: soaprt.device @d0 id 0 attributes {soaprt.memory_bytes = {{[1-9][0-9]*}} : i64}
// CHECK: soaprt.device @d1 id 1 attributes {soaprt.memory_bytes = {{[1-9][0-9]*}} : i64}

// Tests that a plan that fits to the byte is right, and that no memory is no
// limit.
soaprt.kernel @k0 "nn.relu" (%x: tensor<32xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<32xf32>
  soaprt.yield %0 : tensor<32xf32>
}
soaprt.device @d0 id 0 attributes {soaprt.memory_bytes = 256 : i64} {
  %p = soaprt.buffer : !soaprt.buffer<32xf32, parameters>
  %a = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  soaprt.load "w" from #nn.splat<1.0 : f32> of tensor<32xf32> at [0] into %p : !soaprt.buffer<32xf32, parameters>
  soaprt.init {}
  soaprt.main {
    soaprt.launch "a" @k0(%p : !soaprt.buffer<32xf32, parameters>) to (%a : !soaprt.buffer<32xf32, activations>)
  }
}
soaprt.device @d1 id 1 {
  %a = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "a" () to (%a : !soaprt.buffer<32xf32, activations>) [] fill 1.0 : f32
  }
}

// -----

soaprt.kernel @k0 "nn.relu" (%x: tensor<32xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<32xf32>
  soaprt.yield %0 : tensor<32xf32>
}

// Tests that a plan that does not fit names the device, its need, its memory and
// what needs most.
// expected-error @below {{device 0: expected at most 255 bytes of memory, got: a plan of 256; use more devices, a smaller batch or another strategy}}
soaprt.device @d0 id 0 attributes {soaprt.memory_bytes = 255 : i64} {
  %p = soaprt.buffer : !soaprt.buffer<32xf32, parameters>
  %a = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  soaprt.load "w" from #nn.splat<1.0 : f32> of tensor<32xf32> at [0] into %p : !soaprt.buffer<32xf32, parameters>
  soaprt.init {}
  soaprt.main {
    soaprt.launch "a" @k0(%p : !soaprt.buffer<32xf32, parameters>) to (%a : !soaprt.buffer<32xf32, activations>)
  }
}
