// RUN: soap-opt %s --soaprt-plan-memory --split-input-file --verify-diagnostics

// Tests that memory is planned only when the order of rows is known.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected a stream; run soaprt-assign-streams before soaprt-plan-memory}}
    soaprt.copy "a" () to (%a : !soaprt.buffer<32xf32, activations>) [] fill 1.0 : f32
  }
}

// -----

soaprt.kernel @k0 "nn.relu" (%x: tensor<32xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<32xf32>
  soaprt.yield %0 : tensor<32xf32>
}

// Tests that only what dies in init is loaded into the activations.
soaprt.device @d0 id 0 {
  %v = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  %a = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  // expected-error @+1 {{expected a parameter, got: activations that soaprt.main reads}}
  soaprt.load "v" from #nn.splat<1.0 : f32> of tensor<32xf32> at [0] into %v : !soaprt.buffer<32xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-note @+1 {{the row}}
    soaprt.launch "a" @k0(%v : !soaprt.buffer<32xf32, activations>) to (%a : !soaprt.buffer<32xf32, activations>) stream compute
  }
}
