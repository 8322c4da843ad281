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

// Tests that collectives with priority have a stream of their own, that a row
// waits for rows of both other streams where it has to, and that a wait for one
// of them may imply the other.
// CHECK: soaprt.device @d1
soaprt.device @d1 id 1 {
  %a = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  %b = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  %c = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  %d = soaprt.buffer : !soaprt.buffer<4xf32, activations>
  soaprt.init {}
  soaprt.main {
    // CHECK: %[[A:.*]] = soaprt.launch "a" {{.*}} stream compute
    soaprt.launch "a" @k0(%a : !soaprt.buffer<4xf32, activations>) to (%b : !soaprt.buffer<4xf32, activations>)
    // CHECK: %[[M:.*]] = soaprt.exchange "m" {{.*}} from [0] stream communication
    soaprt.exchange "m" tag 3 send () to [] receive (%c : !soaprt.buffer<4xf32, activations>) from [0]
    // CHECK: %[[S:.*]] = soaprt.collective "s" {{.*}} waits(%[[A]]) stream priority
    soaprt.collective "s" all_reduce over [0, 1] member 1 tag 4 combine sum send (%b : !soaprt.buffer<4xf32, activations>) receive (%b : !soaprt.buffer<4xf32, activations>) {soaprt.priority}
    // CHECK: soaprt.launch "o" {{.*}} waits(%[[S]], %[[M]]) stream compute
    soaprt.launch "o" @k0(%b : !soaprt.buffer<4xf32, activations>) to (%c : !soaprt.buffer<4xf32, activations>)
    // CHECK: %[[N:.*]] = soaprt.exchange "n" {{.*}} waits(%[[S]]) stream communication
    soaprt.exchange "n" tag 5 send (%b : !soaprt.buffer<4xf32, activations>) to [0] receive (%d : !soaprt.buffer<4xf32, activations>) from [0]
    // CHECK: soaprt.collective "t" {{.*}} waits(%[[N]]) stream priority
    soaprt.collective "t" all_reduce over [0, 1] member 1 tag 6 combine sum send (%d : !soaprt.buffer<4xf32, activations>) receive (%d : !soaprt.buffer<4xf32, activations>) {soaprt.priority}
  }
}
