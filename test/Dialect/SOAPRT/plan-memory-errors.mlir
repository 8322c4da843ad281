// RUN: soap-opt %s --soaprt-plan-memory --verify-diagnostics

// Tests that memory is planned only when the order of rows is known.
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @+1 {{expected a stream; run soaprt-assign-streams before soaprt-plan-memory}}
    soaprt.copy "a" () to (%a : !soaprt.buffer<32xf32, activations>) [] fill 1.0 : f32
  }
}
