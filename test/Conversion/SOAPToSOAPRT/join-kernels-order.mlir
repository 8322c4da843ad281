// RUN: soap-opt %s --soaprt-join-kernels=target=cuda | FileCheck %s

// Which launches are joined, and where the one launch stands, by what stands between
// them: a sum and its layer norm, on a device per case.

soaprt.output @out0 "sum" : tensor<8x64xf32>
soaprt.kernel @add "nn.add" native @kernels::@add index 0 sizes [512] (%a: tensor<8x64xf32>, %b: tensor<8x64xf32>) {
  %0 = nn.add %a, %b {nn.name = "add"} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  soaprt.yield %0 : tensor<8x64xf32>
}
soaprt.kernel @norm "nn.layer_norm" native @kernels::@norm index 1 sizes [] (%x: tensor<8x64xf32>, %s: tensor<64xf32>) {
  %0 = nn.layer_norm %x, %s {nn.name = "norm", axis = 1 : i64, epsilon = 1.0e-5 : f32} : (tensor<8x64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
  soaprt.yield %0 : tensor<8x64xf32>
}
soaprt.kernel @relu "nn.relu" native @kernels::@relu index 2 sizes [512] (%x: tensor<8x64xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<8x64xf32>
  soaprt.yield %0 : tensor<8x64xf32>
}
soaprt.kernel @scale "nn.relu of scales" native @kernels::@relu index 2 sizes [64] (%x: tensor<64xf32>) {
  %0 = nn.relu %x {nn.name = "scale"} : tensor<64xf32>
  soaprt.yield %0 : tensor<64xf32>
}

// Tests that a row which touches nothing of them does not matter: the launch stands
// where the second one stood.
// CHECK-LABEL: soaprt.device @d0 
// CHECK: soaprt.copy "fill"
// CHECK-NEXT: soaprt.launch "scale"
// CHECK-NEXT: soaprt.launch "norm" @{{.*}}(%{{.*}}, %{{.*}}, %{{.*}} : {{.*}}) to(%{{[0-9]+}} : 
// CHECK-NEXT: }
soaprt.device @d0 id 0 {
  %a = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %b = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %sum = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %y = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %s = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  %t = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "fill" () to (%a, %b, %t : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) [] fill 1.0 : f32
    soaprt.launch "add" @add(%a, %b : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>) to (%sum : !soaprt.buffer<8x64xf32, activations>)
    soaprt.launch "scale" @scale(%t : !soaprt.buffer<64xf32, activations>) to (%s : !soaprt.buffer<64xf32, activations>)
    soaprt.launch "norm" @norm(%sum, %s : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) to (%y : !soaprt.buffer<8x64xf32, activations>)
  }
}

// Tests that it stands where the first one stood, if a row between the two writes what
// that one reads.
// CHECK-LABEL: soaprt.device @d1 
// CHECK: soaprt.copy "fill"
// CHECK-NEXT: soaprt.launch "scale"
// CHECK-NEXT: soaprt.launch "norm" @{{.*}}(%{{.*}}, %{{.*}}, %{{.*}} : {{.*}}) to(%{{[0-9]+}} : 
// CHECK-NEXT: soaprt.launch "relu"
// CHECK-NEXT: }
soaprt.device @d1 id 1 {
  %a = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %b = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %sum = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %y = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %s = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  %t = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "fill" () to (%a, %b, %t : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) [] fill 1.0 : f32
    soaprt.launch "scale" @scale(%t : !soaprt.buffer<64xf32, activations>) to (%s : !soaprt.buffer<64xf32, activations>)
    soaprt.launch "add" @add(%a, %b : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>) to (%sum : !soaprt.buffer<8x64xf32, activations>)
    soaprt.launch "relu" @relu(%b : !soaprt.buffer<8x64xf32, activations>) to (%a : !soaprt.buffer<8x64xf32, activations>)
    soaprt.launch "norm" @norm(%sum, %s : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) to (%y : !soaprt.buffer<8x64xf32, activations>)
  }
}

// Tests that nothing is joined if a row between the two also writes what the second one
// reads.
// CHECK-LABEL: soaprt.device @d2 
// CHECK: soaprt.copy "fill"
// CHECK-NEXT: soaprt.launch "add"
// CHECK-NEXT: soaprt.launch "relu"
// CHECK-NEXT: soaprt.launch "scale"
// CHECK-NEXT: soaprt.launch "norm" @norm(
// CHECK-NEXT: }
soaprt.device @d2 id 2 {
  %a = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %b = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %sum = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %y = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %s = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  %t = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "fill" () to (%a, %b, %t : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) [] fill 1.0 : f32
    soaprt.launch "add" @add(%a, %b : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>) to (%sum : !soaprt.buffer<8x64xf32, activations>)
    soaprt.launch "relu" @relu(%b : !soaprt.buffer<8x64xf32, activations>) to (%a : !soaprt.buffer<8x64xf32, activations>)
    soaprt.launch "scale" @scale(%t : !soaprt.buffer<64xf32, activations>) to (%s : !soaprt.buffer<64xf32, activations>)
    soaprt.launch "norm" @norm(%sum, %s : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) to (%y : !soaprt.buffer<8x64xf32, activations>)
  }
}

// Tests that a sum which a later row reads is a result of the launch.
// CHECK-LABEL: soaprt.device @d3 
// CHECK: soaprt.copy "fill"
// CHECK-NEXT: soaprt.launch "scale"
// CHECK-NEXT: soaprt.launch "norm" @{{.*}}(%{{.*}}, %{{.*}}, %{{.*}} : {{.*}}) to(%{{[0-9]+}}, %{{[0-9]+}} : 
// CHECK-NEXT: soaprt.exchange
// CHECK-NEXT: soaprt.launch "relu"
// CHECK-NEXT: }
soaprt.device @d3 id 3 {
  %a = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %b = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %sum = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %y = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %z = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %s = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  %t = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "fill" () to (%a, %b, %t : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) [] fill 1.0 : f32
    soaprt.launch "scale" @scale(%t : !soaprt.buffer<64xf32, activations>) to (%s : !soaprt.buffer<64xf32, activations>)
    soaprt.launch "add" @add(%a, %b : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>) to (%sum : !soaprt.buffer<8x64xf32, activations>)
    soaprt.launch "norm" @norm(%sum, %s : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) to (%y : !soaprt.buffer<8x64xf32, activations>)
    soaprt.exchange "sent" tag 1 send (%y : !soaprt.buffer<8x64xf32, activations>) to [7] receive () from []
    soaprt.launch "relu" @relu(%sum : !soaprt.buffer<8x64xf32, activations>) to (%z : !soaprt.buffer<8x64xf32, activations>)
  }
}

// Tests that so is one which a row between the two reads, if the launch can stand where
// the first one stood.
// CHECK-LABEL: soaprt.device @d4 
// CHECK: soaprt.copy "fill"
// CHECK-NEXT: soaprt.launch "scale"
// CHECK-NEXT: soaprt.launch "norm" @{{.*}}(%{{.*}}, %{{.*}}, %{{.*}} : {{.*}}) to(%{{[0-9]+}}, %{{[0-9]+}} : 
// CHECK-NEXT: soaprt.launch "relu"
// CHECK-NEXT: soaprt.exchange
// CHECK-NEXT: }
soaprt.device @d4 id 4 {
  %a = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %b = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %sum = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %y = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %z = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %s = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  %t = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "fill" () to (%a, %b, %t : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) [] fill 1.0 : f32
    soaprt.launch "scale" @scale(%t : !soaprt.buffer<64xf32, activations>) to (%s : !soaprt.buffer<64xf32, activations>)
    soaprt.launch "add" @add(%a, %b : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>) to (%sum : !soaprt.buffer<8x64xf32, activations>)
    soaprt.launch "relu" @relu(%sum : !soaprt.buffer<8x64xf32, activations>) to (%z : !soaprt.buffer<8x64xf32, activations>)
    soaprt.launch "norm" @norm(%sum, %s : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) to (%y : !soaprt.buffer<8x64xf32, activations>)
    soaprt.exchange "sent" tag 1 send (%y : !soaprt.buffer<8x64xf32, activations>) to [7] receive () from []
  }
}

// Tests that nothing is joined if it cannot.
// CHECK-LABEL: soaprt.device @d5 
// CHECK: soaprt.copy "fill"
// CHECK-NEXT: soaprt.launch "add"
// CHECK-NEXT: soaprt.launch "relu"
// CHECK-NEXT: soaprt.launch "scale"
// CHECK-NEXT: soaprt.launch "norm" @norm(
// CHECK-NEXT: }
soaprt.device @d5 id 5 {
  %a = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %b = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %sum = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %y = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %z = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %s = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  %t = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "fill" () to (%a, %b, %t : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) [] fill 1.0 : f32
    soaprt.launch "add" @add(%a, %b : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>) to (%sum : !soaprt.buffer<8x64xf32, activations>)
    soaprt.launch "relu" @relu(%sum : !soaprt.buffer<8x64xf32, activations>) to (%z : !soaprt.buffer<8x64xf32, activations>)
    soaprt.launch "scale" @scale(%t : !soaprt.buffer<64xf32, activations>) to (%s : !soaprt.buffer<64xf32, activations>)
    soaprt.launch "norm" @norm(%sum, %s : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) to (%y : !soaprt.buffer<8x64xf32, activations>)
  }
}

// Tests that a sum which is sent to another device is sent as early as before.
// CHECK-LABEL: soaprt.device @d6 
// CHECK: soaprt.copy "fill"
// CHECK-NEXT: soaprt.launch "scale"
// CHECK-NEXT: soaprt.launch "add"
// CHECK-NEXT: soaprt.exchange
// CHECK-NEXT: soaprt.launch "norm" @norm(
// CHECK-NEXT: }
soaprt.device @d6 id 6 {
  %a = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %b = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %sum = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %y = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %s = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  %t = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "fill" () to (%a, %b, %t : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) [] fill 1.0 : f32
    soaprt.launch "scale" @scale(%t : !soaprt.buffer<64xf32, activations>) to (%s : !soaprt.buffer<64xf32, activations>)
    soaprt.launch "add" @add(%a, %b : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>) to (%sum : !soaprt.buffer<8x64xf32, activations>)
    soaprt.exchange "sent" tag 0 send (%sum : !soaprt.buffer<8x64xf32, activations>) to [7] receive () from []
    soaprt.launch "norm" @norm(%sum, %s : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) to (%y : !soaprt.buffer<8x64xf32, activations>)
  }
}

// Tests that the other device, which receives it, has nothing to join.
// CHECK-LABEL: soaprt.device @d7 
// CHECK: soaprt.copy "fill"
// CHECK-NEXT: soaprt.launch "scale"
// CHECK-NEXT: soaprt.exchange
// CHECK-NEXT: soaprt.launch "norm" @norm(
// CHECK-NEXT: }
soaprt.device @d7 id 7 {
  %a = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %b = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %sum = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %y = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %s = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  %t = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "fill" () to (%a, %b, %t : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) [] fill 1.0 : f32
    soaprt.launch "scale" @scale(%t : !soaprt.buffer<64xf32, activations>) to (%s : !soaprt.buffer<64xf32, activations>)
    soaprt.exchange "received" tag 0 send () to [] receive (%sum : !soaprt.buffer<8x64xf32, activations>) from [6]
    soaprt.launch "norm" @norm(%sum, %s : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) to (%y : !soaprt.buffer<8x64xf32, activations>)
  }
}

// Tests that a sum does not wait for what is received for the second launch.
// CHECK-LABEL: soaprt.device @d8 
// CHECK: soaprt.copy "fill"
// CHECK-NEXT: soaprt.exchange
// CHECK-NEXT: soaprt.launch "add"
// CHECK-NEXT: soaprt.launch "norm" @norm(
// CHECK-NEXT: }
soaprt.device @d8 id 8 {
  %a = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %b = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %sum = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %y = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %s = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  %t = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "fill" () to (%a, %b, %t : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) [] fill 1.0 : f32
    soaprt.exchange "received" tag 0 send () to [] receive (%s : !soaprt.buffer<64xf32, activations>) from [0]
    soaprt.launch "add" @add(%a, %b : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>) to (%sum : !soaprt.buffer<8x64xf32, activations>)
    soaprt.launch "norm" @norm(%sum, %s : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) to (%y : !soaprt.buffer<8x64xf32, activations>)
  }
}

// Tests that a sum which waits for what is received is joined.
// CHECK-LABEL: soaprt.device @d9 
// CHECK: soaprt.copy "fill"
// CHECK-NEXT: soaprt.launch "scale"
// CHECK-NEXT: soaprt.exchange
// CHECK-NEXT: soaprt.launch "norm" @{{.*}}(%{{.*}}, %{{.*}}, %{{.*}} : {{.*}}) to(%{{[0-9]+}} : 
// CHECK-NEXT: }
soaprt.device @d9 id 9 {
  %a = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %b = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %sum = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %y = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %s = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  %t = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "fill" () to (%a, %b, %t : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) [] fill 1.0 : f32
    soaprt.launch "scale" @scale(%t : !soaprt.buffer<64xf32, activations>) to (%s : !soaprt.buffer<64xf32, activations>)
    soaprt.exchange "received" tag 0 send () to [] receive (%b : !soaprt.buffer<8x64xf32, activations>) from [0]
    soaprt.launch "add" @add(%a, %b : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>) to (%sum : !soaprt.buffer<8x64xf32, activations>)
    soaprt.launch "norm" @norm(%sum, %s : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) to (%y : !soaprt.buffer<8x64xf32, activations>)
  }
}

// Tests that the host may read a sum, behind all launches.
// CHECK-LABEL: soaprt.device @d10 
// CHECK: soaprt.copy "fill"
// CHECK-NEXT: soaprt.launch "scale"
// CHECK-NEXT: soaprt.launch "norm" @{{.*}}(%{{.*}}, %{{.*}}, %{{.*}} : {{.*}}) to(%{{[0-9]+}}, %{{[0-9]+}} : 
// CHECK-NEXT: soaprt.drain
// CHECK-NEXT: }
soaprt.device @d10 id 10 {
  %a = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %b = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %sum = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %y = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %s = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  %t = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "fill" () to (%a, %b, %t : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) [] fill 1.0 : f32
    soaprt.launch "scale" @scale(%t : !soaprt.buffer<64xf32, activations>) to (%s : !soaprt.buffer<64xf32, activations>)
    soaprt.launch "add" @add(%a, %b : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>) to (%sum : !soaprt.buffer<8x64xf32, activations>)
    soaprt.launch "norm" @norm(%sum, %s : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) to (%y : !soaprt.buffer<8x64xf32, activations>)
    soaprt.drain "sum" @out0 from (%sum : !soaprt.buffer<8x64xf32, activations>) [#soaprt.box<[0, 0] to [0, 0] sizes [8, 64]>]
  }
}

// Tests that a sum of which there is a view stays a result.
// CHECK-LABEL: soaprt.device @d11 
// CHECK: soaprt.copy "fill"
// CHECK-NEXT: soaprt.launch "scale"
// CHECK-NEXT: soaprt.launch "norm" @{{.*}}(%{{.*}}, %{{.*}}, %{{.*}} : {{.*}}) to(%{{[0-9]+}}, %{{[0-9]+}} : 
// CHECK-NEXT: }
soaprt.device @d11 id 11 {
  %a = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %b = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %sum = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %y = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %s = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  %t = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  %v = soaprt.view %sum[0] : <8x64xf32, activations> -> <8x64xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "fill" () to (%a, %b, %t : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) [] fill 1.0 : f32
    soaprt.launch "scale" @scale(%t : !soaprt.buffer<64xf32, activations>) to (%s : !soaprt.buffer<64xf32, activations>)
    soaprt.launch "add" @add(%a, %b : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>) to (%sum : !soaprt.buffer<8x64xf32, activations>)
    soaprt.launch "norm" @norm(%sum, %s : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) to (%y : !soaprt.buffer<8x64xf32, activations>)
  }
}

// Tests that nothing is joined where the second launch reads a view of the sum.
// CHECK-LABEL: soaprt.device @d12 
// CHECK: soaprt.copy "fill"
// CHECK-NEXT: soaprt.launch "scale"
// CHECK-NEXT: soaprt.launch "add"
// CHECK-NEXT: soaprt.launch "norm" @norm(
// CHECK-NEXT: }
soaprt.device @d12 id 12 {
  %a = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %b = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %sum = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %y = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %s = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  %t = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  %v = soaprt.view %sum[0] : <8x64xf32, activations> -> <8x64xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "fill" () to (%a, %b, %t : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) [] fill 1.0 : f32
    soaprt.launch "scale" @scale(%t : !soaprt.buffer<64xf32, activations>) to (%s : !soaprt.buffer<64xf32, activations>)
    soaprt.launch "add" @add(%a, %b : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>) to (%sum : !soaprt.buffer<8x64xf32, activations>)
    soaprt.launch "norm" @norm(%v, %s : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) to (%y : !soaprt.buffer<8x64xf32, activations>)
  }
}

// Tests that what is a part of a larger sum stays as it is.
// CHECK-LABEL: soaprt.device @d13 
// CHECK: soaprt.copy "fill"
// CHECK-NEXT: soaprt.launch "scale"
// CHECK-NEXT: soaprt.launch "add"
// CHECK-NEXT: soaprt.launch "norm" @norm(
// CHECK-NEXT: }
soaprt.device @d13 id 13 {
  %a = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %b = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %sum = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %y = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %s = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  %t = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "fill" () to (%a, %b, %t : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) [] fill 1.0 : f32
    soaprt.launch "scale" @scale(%t : !soaprt.buffer<64xf32, activations>) to (%s : !soaprt.buffer<64xf32, activations>)
    soaprt.launch "add" @add(%a, %b : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>) to (%sum : !soaprt.buffer<8x64xf32, activations>)
    soaprt.launch "norm" @norm(%sum, %s : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) to (%y : !soaprt.buffer<8x64xf32, activations>)
  }
  soaprt.tile "sum" : 0 of tensor<8x64xf32> at [0, 0] parts [0] of 2 in %sum : !soaprt.buffer<8x64xf32, activations>
}

// Tests that no result is in the buffer of an operand: the second launch writes what
// the first one reads.
// CHECK-LABEL: soaprt.device @d14 
// CHECK: soaprt.copy "fill"
// CHECK-NEXT: soaprt.launch "scale"
// CHECK-NEXT: soaprt.launch "add"
// CHECK-NEXT: soaprt.launch "norm" @norm(
// CHECK-NEXT: }
soaprt.device @d14 id 14 {
  %a = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %b = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %sum = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %s = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  %t = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "fill" () to (%a, %b, %t : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) [] fill 1.0 : f32
    soaprt.launch "scale" @scale(%t : !soaprt.buffer<64xf32, activations>) to (%s : !soaprt.buffer<64xf32, activations>)
    soaprt.launch "add" @add(%a, %b : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>) to (%sum : !soaprt.buffer<8x64xf32, activations>)
    soaprt.launch "norm" @norm(%sum, %s : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) to (%a : !soaprt.buffer<8x64xf32, activations>)
  }
}

// Tests that a row which waits for all rows in front of it waits for the same ones as
// before.
// CHECK-LABEL: soaprt.device @d15 
// CHECK: soaprt.copy "fill"
// CHECK-NEXT: soaprt.launch "scale"
// CHECK-NEXT: soaprt.launch "add"
// CHECK-NEXT: soaprt.exchange
// CHECK-NEXT: soaprt.launch "norm" @norm(
// CHECK-NEXT: }
soaprt.device @d15 id 15 {
  %a = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %b = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %sum = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %y = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %z = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %s = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  %t = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "fill" () to (%a, %b, %t : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) [] fill 1.0 : f32
    soaprt.launch "scale" @scale(%t : !soaprt.buffer<64xf32, activations>) to (%s : !soaprt.buffer<64xf32, activations>)
    soaprt.launch "add" @add(%a, %b : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>) to (%sum : !soaprt.buffer<8x64xf32, activations>)
    soaprt.exchange "received" tag 0 send () to [] receive (%z : !soaprt.buffer<8x64xf32, activations>) from [0] {soaprt.held}
    soaprt.launch "norm" @norm(%sum, %s : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) to (%y : !soaprt.buffer<8x64xf32, activations>)
  }
}

// Tests that launches far from each other stay apart where what lives meanwhile would
// take more memory: two operands, or the sum and the result, in place of the sum.
// CHECK-LABEL: soaprt.device @d16 
// CHECK: soaprt.copy "fill"
// CHECK-NEXT: soaprt.launch "scale"
// CHECK-NEXT: soaprt.launch "add"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.launch "norm" @norm(
// CHECK-NEXT: soaprt.launch "relu"
// CHECK-NEXT: }
soaprt.device @d16 id 16 {
  %a = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %b = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %sum = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %y = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %z = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %s = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  %t = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "fill" () to (%a, %b, %t : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) [] fill 1.0 : f32
    soaprt.launch "scale" @scale(%t : !soaprt.buffer<64xf32, activations>) to (%s : !soaprt.buffer<64xf32, activations>)
    soaprt.launch "add" @add(%a, %b : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>) to (%sum : !soaprt.buffer<8x64xf32, activations>)
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.launch "norm" @norm(%sum, %s : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) to (%y : !soaprt.buffer<8x64xf32, activations>)
    soaprt.launch "relu" @relu(%sum : !soaprt.buffer<8x64xf32, activations>) to (%z : !soaprt.buffer<8x64xf32, activations>)
  }
}

// Tests that the launch stands where the first one stood if the result then lives in
// place of the sum.
// CHECK-LABEL: soaprt.device @d17 
// CHECK: soaprt.copy "fill"
// CHECK-NEXT: soaprt.launch "scale"
// CHECK-NEXT: soaprt.launch "norm" @{{.*}}(%{{.*}}, %{{.*}}, %{{.*}} : {{.*}}) to(%{{[0-9]+}} : 
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: }
soaprt.device @d17 id 17 {
  %a = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %b = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %sum = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %y = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %z = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %s = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  %t = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "fill" () to (%a, %b, %t : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) [] fill 1.0 : f32
    soaprt.launch "scale" @scale(%t : !soaprt.buffer<64xf32, activations>) to (%s : !soaprt.buffer<64xf32, activations>)
    soaprt.launch "add" @add(%a, %b : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>) to (%sum : !soaprt.buffer<8x64xf32, activations>)
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.launch "norm" @norm(%sum, %s : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) to (%y : !soaprt.buffer<8x64xf32, activations>)
  }
}

// Tests that it stands where the second one stood if one operand lives in place of the
// sum.
// CHECK-LABEL: soaprt.device @d18 
// CHECK: soaprt.copy "fill"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.copy "z"
// CHECK-NEXT: soaprt.launch "scale"
// CHECK-NEXT: soaprt.launch "norm" @{{.*}}(%{{.*}}, %{{.*}} : {{.*}}) to(%{{[0-9]+}} : 
// CHECK-NEXT: }
soaprt.device @d18 id 18 {
  %a = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %b = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %sum = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %y = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %z = soaprt.buffer : !soaprt.buffer<8x64xf32, activations>
  %s = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  %t = soaprt.buffer : !soaprt.buffer<64xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "fill" () to (%a, %b, %t : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) [] fill 1.0 : f32
    soaprt.launch "relu" @relu(%a : !soaprt.buffer<8x64xf32, activations>) to (%sum : !soaprt.buffer<8x64xf32, activations>)
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.copy "z" () to (%z : !soaprt.buffer<8x64xf32, activations>) [] fill 1.0 : f32
    soaprt.launch "scale" @scale(%t : !soaprt.buffer<64xf32, activations>) to (%s : !soaprt.buffer<64xf32, activations>)
    soaprt.launch "norm" @norm(%sum, %s : !soaprt.buffer<8x64xf32, activations>, !soaprt.buffer<64xf32, activations>) to (%y : !soaprt.buffer<8x64xf32, activations>)
  }
}
