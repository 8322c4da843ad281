// RUN: soap-opt %s --soaprt-assign-streams | FileCheck %s

soaprt.input @in0 "x" : tensor<4xf32>
soaprt.output @out0 "y" : tensor<4xf32>
soaprt.kernel @k0 "nn.relu" (%x: tensor<4xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<4xf32>
  soaprt.yield %0 : tensor<4xf32>
}

// Tests that communication runs on its own stream, that a wait stands where a
// row reads what the other stream wrote, and that a wait which an earlier one
// implies is left out. Feeds and drains need no waits.
// CHECK: soaprt.device @d0
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  %b = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  %c = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  %d = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  %e = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // CHECK: soaprt.feed {{.*}} stream compute
    soaprt.feed "x" @in0 to (%a : !soaprt.buffer<4xf32, activations>) [#soaprt.box<[0] to [0] sizes [4]>]
    // CHECK: soaprt.exchange "a" {{.*}} from [] stream communication
    soaprt.exchange "a" tag 0 send (%a : !soaprt.buffer<4xf32, activations>) to [1] receive () from []
    // CHECK: %[[B:.*]] = soaprt.launch "b" {{.*}} activations>) stream compute
    soaprt.launch "b" @k0(%a : !soaprt.buffer<4xf32, activations>) to (%b : !soaprt.buffer<4xf32, activations>)
    // CHECK: %[[C:.*]] = soaprt.exchange "b" {{.*}} waits(%[[B]]) stream communication
    soaprt.exchange "b" tag 1 send (%b : !soaprt.buffer<4xf32, activations>) to [1] receive (%c : !soaprt.buffer<4xf32, activations>) from [1]
    // CHECK: soaprt.exchange "bb" {{.*}} from [] stream communication
    soaprt.exchange "bb" tag 2 send (%b : !soaprt.buffer<4xf32, activations>) to [1] receive () from []
    // CHECK: soaprt.launch "d" {{.*}} waits(%[[C]]) stream compute
    soaprt.launch "d" @k0(%c : !soaprt.buffer<4xf32, activations>) to (%d : !soaprt.buffer<4xf32, activations>)
    // CHECK: soaprt.launch "e" {{.*}} activations>) stream compute
    soaprt.launch "e" @k0(%c : !soaprt.buffer<4xf32, activations>) to (%e : !soaprt.buffer<4xf32, activations>)
    // CHECK: soaprt.drain {{.*}}] stream compute
    soaprt.drain "y" @out0 from (%c : !soaprt.buffer<4xf32, activations>) [#soaprt.box<[0] to [0] sizes [4]>]
  }
}
