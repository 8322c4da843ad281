// RUN: soap-opt %s | soap-opt | FileCheck %s
// RUN: soap-opt %s --mlir-print-op-generic | soap-opt | FileCheck %s

// Tests that every op of the dialect keeps its form when printed and parsed.

// CHECK: soaprt.input @in0 "data" : tensor<4x8xf32>
soaprt.input @in0 "data" : tensor<4x8xf32>
// CHECK: soaprt.input @in1 "ids" {index_bound = 100 : i64} : tensor<4xi64>
soaprt.input @in1 "ids" {index_bound = 100 : i64} : tensor<4xi64>
// CHECK: soaprt.input @in2 "data" of "eval" : tensor<4x8xf32>
soaprt.input @in2 "data" of "eval" : tensor<4x8xf32>
// CHECK: soaprt.output @out0 "prob" : tensor<4x8xf32>
soaprt.output @out0 "prob" : tensor<4x8xf32>
// CHECK: soaprt.output @out1 "prob" of "eval" : tensor<4x8xf32>
soaprt.output @out1 "prob" of "eval" : tensor<4x8xf32>

// CHECK: soaprt.kernel @k0 "nn.relu 2x8" native @kernels::@relu index 0 sizes [16] (%{{.*}}: tensor<2x8xf32>) {
// CHECK:   soaprt.yield %{{.*}} : tensor<2x8xf32>
soaprt.kernel @k0 "nn.relu 2x8" native @kernels::@relu index 0 sizes [16] (%x: tensor<2x8xf32>) {
  %0 = nn.relu %x {nn.name = "relu1"} : tensor<2x8xf32>
  soaprt.yield %0 : tensor<2x8xf32>
}
// CHECK: soaprt.kernel @k1 "nn.matmul" (%{{.*}}: tensor<2x8xf32>, %{{.*}}: tensor<8x8xf32>) attributes {flops = 2.560000e+02 : f64} {
soaprt.kernel @k1 "nn.matmul" (%x: tensor<2x8xf32>, %w: tensor<8x8xf32>) attributes {flops = 256.0 : f64} {
  %0 = nn.matmul %x, %w {nn.name = "fc"} : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  soaprt.yield %0 : tensor<2x8xf32>
}

// CHECK: soaprt.kernel @k2 "nn.relu" (%{{.*}}: tensor<1x4x8xf32>) attributes {channels_last = array<i64: 0, 1>} {
soaprt.kernel @k2 "nn.relu" (%x: tensor<1x4x8xf32>) attributes {channels_last = array<i64: 0, 1>} {
  %0 = nn.relu %x {nn.name = "relu2"} : tensor<1x4x8xf32>
  soaprt.yield %0 : tensor<1x4x8xf32>
}

// CHECK: soaprt.device @d0 id 0 alignment 128 activations 4096 parameters 256 {
soaprt.device @d0 id 0 alignment 128 activations 4096 parameters 256 {
  // CHECK: %[[W:.*]] = soaprt.buffer at 0 : <8x8xf32, parameters>
  %w = soaprt.buffer at 0 : !soaprt.buffer<8x8xf32, parameters>
  // CHECK: soaprt.load "fc_w" from #nn.splat<1.000000e+00 : f32> of tensor<16x8xf32> at [8, 0] into %[[W]] : <8x8xf32, parameters>
  soaprt.load "fc_w" from #nn.splat<1.0 : f32> of tensor<16x8xf32> at [8, 0] into %w : !soaprt.buffer<8x8xf32, parameters>
  // CHECK: %[[X:.*]] = soaprt.buffer : <2x8xf32, activations>
  %x = soaprt.buffer : !soaprt.buffer<2x8xf32, activations>
  %y = soaprt.buffer : !soaprt.buffer<2x8xf32, activations>
  %z = soaprt.buffer : !soaprt.buffer<4x8xf32, activations>
  // CHECK: %[[V:.*]] = soaprt.view %{{.*}}[16] : <4x8xf32, activations> -> <2x8xf32, activations>
  %v = soaprt.view %z[16] : !soaprt.buffer<4x8xf32, activations> -> !soaprt.buffer<2x8xf32, activations>
  %s = soaprt.buffer : !soaprt.buffer<f32, activations>
  // CHECK: soaprt.buffer : <1x4x8xf32, activations, channels_last>
  %l = soaprt.buffer : !soaprt.buffer<1x4x8xf32, activations, channels_last>
  // CHECK: soaprt.init {
  soaprt.init {
  }
  // CHECK: soaprt.main {
  soaprt.main {
    // CHECK: %[[T0:.*]] = soaprt.feed "data" @in0 to(%[[X]] : !soaprt.buffer<2x8xf32, activations>) [#soaprt.box<[2, 0] to [0, 0] sizes [2, 8]>] stream compute
    %t0 = soaprt.feed "data" @in0 to (%x : !soaprt.buffer<2x8xf32, activations>) [#soaprt.box<[2, 0] to [0, 0] sizes [2, 8]>] stream compute
    // CHECK: %[[T1:.*]] = soaprt.launch "relu1" @k0(%[[X]] : !soaprt.buffer<2x8xf32, activations>) to(%[[Y:.*]] : !soaprt.buffer<2x8xf32, activations>) waits(%[[T0]]) stream compute {task = 1 : i64}
    %t1 = soaprt.launch "relu1" @k0 (%x : !soaprt.buffer<2x8xf32, activations>) to (%y : !soaprt.buffer<2x8xf32, activations>) waits(%t0) stream compute {task = 1 : i64}
    // CHECK: soaprt.launch "fc" @k1({{.*}}) to({{.*}}) {constants = array<i64: 1>}
    soaprt.launch "fc" @k1 (%x, %w : !soaprt.buffer<2x8xf32, activations>, !soaprt.buffer<8x8xf32, parameters>) to (%y : !soaprt.buffer<2x8xf32, activations>) {constants = array<i64: 1>}
    // CHECK: soaprt.copy "pad"({{.*}}) to({{.*}}) [#soaprt.box<[1, 7] to [1, 0] sizes [1, 8] steps [1, -1]>] fill 0.000000e+00 : f32
    soaprt.copy "pad" (%x : !soaprt.buffer<2x8xf32, activations>) to (%z : !soaprt.buffer<4x8xf32, activations>) [#soaprt.box<[1, 7] to [1, 0] sizes [1, 8] steps [1, -1]>] fill 0.0 : f32
    // CHECK: soaprt.copy "zero"() to({{.*}}) [] fill 0.000000e+00 : f32
    soaprt.copy "zero" () to (%s : !soaprt.buffer<f32, activations>) [] fill 0.0 : f32
    // CHECK: soaprt.exchange "y.transfer" tag 0 send(%[[Y]] : !soaprt.buffer<2x8xf32, activations>) to [1] receive(%[[V]] : !soaprt.buffer<2x8xf32, activations>) from [2] stream communication
    soaprt.exchange "y.transfer" tag 0 send (%y : !soaprt.buffer<2x8xf32, activations>) to [1] receive (%v : !soaprt.buffer<2x8xf32, activations>) from [2] stream communication
    // CHECK: soaprt.exchange "z.transfer" tag 1 send() to [] receive(%[[V]] : !soaprt.buffer<2x8xf32, activations>) from [2]
    soaprt.exchange "z.transfer" tag 1 send () to [] receive (%v : !soaprt.buffer<2x8xf32, activations>) from [2]
    // CHECK: soaprt.collective "y.all_reduce" all_reduce over [1, 0] member 1 tag 2 combine sum algorithm ring send({{.*}}) receive({{.*}})
    soaprt.collective "y.all_reduce" all_reduce over [1, 0] member 1 tag 2 combine sum algorithm ring send (%y : !soaprt.buffer<2x8xf32, activations>) receive (%x : !soaprt.buffer<2x8xf32, activations>)
    // CHECK: soaprt.drain "prob" @out0 from(%[[Y]] : !soaprt.buffer<2x8xf32, activations>) [#soaprt.box<[0, 0] to [2, 0] sizes [2, 8]>]
    soaprt.drain "prob" @out0 from (%y : !soaprt.buffer<2x8xf32, activations>) [#soaprt.box<[0, 0] to [2, 0] sizes [2, 8]>]
  }
  // CHECK: soaprt.main "eval" {
  soaprt.main "eval" {
    // CHECK: soaprt.feed "data" @in2
    soaprt.feed "data" @in2 to (%x : !soaprt.buffer<2x8xf32, activations>) [#soaprt.box<[2, 0] to [0, 0] sizes [2, 8]>] stream compute
  }
  // CHECK: soaprt.tile "data" : 0 of tensor<4x8xf32> at [2, 0] program "eval" in %[[X]] : <2x8xf32, activations>
  soaprt.tile "data" : 0 of tensor<4x8xf32> at [2, 0] program "eval" in %x : !soaprt.buffer<2x8xf32, activations>
  // CHECK: soaprt.tile "relu1" : 0 of tensor<4x8xf32> at [2, 0] in %[[Y]] : <2x8xf32, activations>
  soaprt.tile "relu1" : 0 of tensor<4x8xf32> at [2, 0] in %y : !soaprt.buffer<2x8xf32, activations>
  // CHECK: soaprt.tile "fc" : 1 of tensor<2x8xf32> at [0, 0] parts [0, 2] of 3 summed in %[[V]] : <2x8xf32, activations>
  soaprt.tile "fc" : 1 of tensor<2x8xf32> at [0, 0] parts [0, 2] of 3 summed in %v : !soaprt.buffer<2x8xf32, activations>
}
