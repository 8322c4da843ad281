// RUN: soap-opt %s --soap-parallelize=devices=1 --soap-lower=layouts=true | FileCheck %s
// RUN: soap-opt %s --soap-parallelize=devices=1 --soap-lower | FileCheck %s --check-prefix=PLAIN
// RUN: soap-opt %s --soap-parallelize=devices=1 --soap-lower="layouts=true target=cuda" | FileCheck %s --check-prefix=PLAIN

// RUN: soap-opt %s --soap-parallelize="devices=2 strategy=spatial" --soap-lower=layouts=true | FileCheck %s --check-prefix=HALO

// RUN: soap-opt %s --soap-parallelize="devices=2 strategy=tensor-parallel" --soap-lower=layouts=true | FileCheck %s --check-prefix=CHANNELS
// RUN: soap-opt %S/../../faults/Inputs/gathered.mlir --soap-parallelize="devices=2 strategy=%S/../../faults/Inputs/gathered.json" --soap-lower=layouts=true | FileCheck %s --check-prefix=SAMPLES

// Without the pass, and for a target whose library says nothing of channels,
// all stays row-major.
// PLAIN-NOT: channels_last

// Tests that what lies between convolutions has channels last: both results of
// a relu and an addition, and a product with a vector of channels, of which the
// kernel is made for pairs of pixels and channels.
// CHECK-DAG: soaprt.kernel [[CONV:@k[_0-9]+]] "nn.conv {{.*}}1x4x6x5xf32 8x4x3x3xf32 -> 1x8x6x5xf32" ({{.*}}) attributes {channels_last = array<i64: 2>{{.*}}} {
// CHECK-DAG: soaprt.kernel [[SCALE:@k[_0-9]+]] "nn.mul {{.*}} sizes [30, 8] {{.*}} attributes {channels_last = array<i64: 0, 2>{{.*}}} {
// CHECK-DAG: soaprt.kernel [[RELU:@k[_0-9]+]] "nn.relu {{.*}} sizes [240] {{.*}} attributes {channels_last = array<i64: 0, 1>{{.*}}} {
// Tests that a pool reads them and makes what a reshape reads, row-major.
// CHECK-DAG: soaprt.kernel [[POOL:@k[_0-9]+]] "nn.max_pool {{.*}} attributes {channels_last = array<i64: 0>{{.*}}} {
// Tests that kernels without an order of their own keep their tensors row-major.
// CHECK-DAG: soaprt.kernel [[SOFTMAX:@k[_0-9]+]] "nn.softmax {{[^{]*}} {

// CHECK: soaprt.launch "first" [[CONV]]({{.*}}) to(%{{.*}} : !soaprt.buffer<1x8x6x5xf32, activations, channels_last>)
// CHECK: soaprt.launch "scaled" [[SCALE]]({{.*}}, %{{.*}} : !soaprt.buffer<1x8x6x5xf32, activations, channels_last>, !soaprt.buffer<1x8x1x1xf32, parameters>) to(%{{.*}} : !soaprt.buffer<1x8x6x5xf32, activations, channels_last>)
// CHECK: soaprt.launch "relu" [[RELU]](
// Tests that a concatenation copies tensors with channels last to one of them.
// CHECK: soaprt.copy "both"(%{{.*}}, %{{.*}} : !soaprt.buffer<1x8x6x5xf32, activations, channels_last>, !soaprt.buffer<1x8x6x5xf32, activations, channels_last>) to(%{{.*}}, %{{.*}} : !soaprt.buffer<1x16x6x5xf32, activations, channels_last>, !soaprt.buffer<1x16x6x5xf32, activations, channels_last>)
// CHECK: soaprt.launch "pool" [[POOL]]
// CHECK: soaprt.launch "softmax" [[SOFTMAX]](%{{.*}} : !soaprt.buffer<1x48xf32, activations>)

// Tests that both ends of a message have channels last, where that is cheapest,
// and that a message of a reshaped tensor is row-major.
// HALO: soaprt.device @{{.*}} id 0
// HALO: soaprt.exchange "both.halo" tag [[HALO:[0-9]+]] send(%{{.*}} : !soaprt.buffer<1x16x1x5xf32, activations, channels_last>) to [1] receive(%{{.*}} : !soaprt.buffer<1x16x1x5xf32, activations, channels_last>) from [1]
// HALO: soaprt.copy "both.assemble"(%{{.*}}, %{{.*}} : !soaprt.buffer<1x16x3x5xf32, activations, channels_last>, !soaprt.buffer<1x16x1x5xf32, activations, channels_last>)
// HALO: soaprt.exchange "flat.transfer" {{.*}} receive(%{{.*}} : !soaprt.buffer<1x24xf32, activations>)
// HALO: soaprt.device @{{.*}} id 1
// HALO: soaprt.exchange "both.halo" tag [[HALO]] send(%{{.*}} : !soaprt.buffer<1x16x1x5xf32, activations, channels_last>) to [0] receive(%{{.*}} : !soaprt.buffer<1x16x1x5xf32, activations, channels_last>) from [0]

// Tests that all members of a collective have channels last, and that channels
// of one image, which are contiguous where elements are row-major alone, are
// gathered through copies.
// CHANNELS: soaprt.device @{{.*}} id 0
// CHANNELS: %[[WHOLE:.*]] = soaprt.buffer at {{[0-9]+}} : <1x16x6x5xf32, activations, channels_last>
// CHANNELS: soaprt.collective "both.all_gather" {{.*}} send(%{{.*}} : !soaprt.buffer<1x8x6x5xf32, activations, channels_last>) receive(%[[FIRST:.*]], %[[SECOND:.*]] : !soaprt.buffer<1x8x6x5xf32, activations, channels_last>, !soaprt.buffer<1x8x6x5xf32, activations, channels_last>)
// CHANNELS-NEXT: soaprt.copy "both.all_gather"(%[[FIRST]], %[[SECOND]] : {{.*}}) to(%[[WHOLE]], %[[WHOLE]] : {{.*}}) [#soaprt.box<[0, 0, 0, 0] to [0, 0, 0, 0] sizes [1, 8, 6, 5]>, #soaprt.box<[0, 0, 0, 0] to [0, 8, 0, 0] sizes [1, 8, 6, 5]>]
// CHANNELS: soaprt.device @{{.*}} id 1
// CHANNELS: soaprt.collective "both.all_gather" {{.*}} send(%{{.*}} : !soaprt.buffer<1x8x6x5xf32, activations, channels_last>) receive(%{{.*}} : !soaprt.buffer<1x8x6x5xf32, activations, channels_last>, !soaprt.buffer<1x8x6x5xf32, activations, channels_last>)

// Tests that whole samples are views with channels last, into which they are
// gathered and of which they are sent, and that shares of a reduction have
// channels last. What is drained does not.
// SAMPLES: soaprt.device @{{.*}} id 0
// SAMPLES-DAG: %[[A0:.*]] = soaprt.view %[[A:.*]][0] : <2x16x6x6xf32, activations, channels_last> -> <1x16x6x6xf32, activations, channels_last>
// SAMPLES-DAG: %[[A1:.*]] = soaprt.view %[[A]][576] : <2x16x6x6xf32, activations, channels_last> -> <1x16x6x6xf32, activations, channels_last>
// SAMPLES-DAG: %[[B0:.*]] = soaprt.view %[[B:.*]][0] : <2x8x6x6xf32, activations, channels_last> -> <1x8x6x6xf32, activations, channels_last>
// SAMPLES: soaprt.collective "a.all_gather" {{.*}} receive(%[[A0]], %[[A1]] :
// SAMPLES-NEXT: soaprt.launch "b" @{{.*}}(%[[A]], {{.*}} to(%[[B]] :
// SAMPLES-NEXT: soaprt.collective "b.all_to_all" {{.*}} send(%[[B0]], %{{.*}} :
// SAMPLES: soaprt.collective "d.reduce_scatter" {{.*}} receive(%{{.*}} : !soaprt.buffer<2x8x6x6xf32, activations, channels_last>)
// SAMPLES: soaprt.collective "e.reduce_scatter" {{.*}} receive(%{{.*}} : !soaprt.buffer<1x16x6x6xf32, activations>)

func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<1x4x6x5xf32>
  %w1 = nn.parameter {nn.name = "w1"} : tensor<8x4x3x3xf32> from #nn.random<7, "w1", normal, 0.0, 0.1>
  %w2 = nn.parameter {nn.name = "w2"} : tensor<8x16x3x3xf32> from #nn.random<7, "w2", normal, 0.0, 0.1>
  %s = nn.parameter {nn.name = "s"} : tensor<1x8x1x1xf32> from #nn.random<7, "s", normal, 0.0, 1.0>
  %0 = nn.conv %x, %w1 {nn.name = "first", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<1x4x6x5xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x6x5xf32>
  %1 = nn.mul %0, %s {nn.name = "scaled"} : (tensor<1x8x6x5xf32>, tensor<1x8x1x1xf32>) -> tensor<1x8x6x5xf32>
  %2 = nn.relu %1 {nn.name = "relu"} : tensor<1x8x6x5xf32>
  %3 = nn.concat %2, %0 {nn.name = "both", axis = 1 : i64} : (tensor<1x8x6x5xf32>, tensor<1x8x6x5xf32>) -> tensor<1x16x6x5xf32>
  %4 = nn.conv %3, %w2 {nn.name = "second", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<1x16x6x5xf32>, tensor<8x16x3x3xf32>) -> tensor<1x8x6x5xf32>
  %5 = nn.max_pool %4 {nn.name = "pool", kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>}
    : (tensor<1x8x6x5xf32>) -> tensor<1x8x3x2xf32>
  %6 = nn.reshape %5 {nn.name = "flat"} : (tensor<1x8x3x2xf32>) -> tensor<1x48xf32>
  %7 = nn.softmax %6 {nn.name = "softmax", axis = 1 : i64} : tensor<1x48xf32>
  nn.output %7 {nn.name = "y"} : tensor<1x48xf32>
  return
}
