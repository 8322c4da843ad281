// RUN: soap-opt %s --soap-parallelize=devices=1 --soap-lower=layouts=true -split-input-file | FileCheck %s

// Tests that channels of an image, which are views of it where elements are
// row-major, are copied out of one with channels last: before all drains, between
// which nothing stands.
// CHECK: %[[C:.*]] = soaprt.buffer at {{[0-9]+}} : <1x64x6x6xf32, activations, channels_last>
// CHECK: soaprt.launch "c" {{.*}} to(%[[C]] :
// CHECK-NEXT: soaprt.copy "y"(%[[C]] : {{.*}}) to(%[[Y:.*]] : {{.*}}) [#soaprt.box<[0, 0, 0, 0] to [0, 0, 0, 0] sizes [1, 4, 6, 6]>]
// CHECK-NEXT: soaprt.copy "z"(%[[C]] : {{.*}}) to(%[[Z:.*]] : {{.*}}) [#soaprt.box<[0, 4, 0, 0] to [0, 0, 0, 0] sizes [1, 4, 6, 6]>]
// CHECK-NEXT: soaprt.drain "y" @{{.*}} from(%[[Y]] :
// CHECK-NEXT: soaprt.drain "z" @{{.*}} from(%[[Z]] :
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<1x64x6x6xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<64x64x3x3xf32> from #nn.random<7, "w", normal, 0.0, 0.1>
  %c = nn.conv %x, %w {nn.name = "c", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<1x64x6x6xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x6x6xf32>
  %0 = nn.slice %c {nn.name = "first", starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<1x64x6x6xf32>) -> tensor<1x4x6x6xf32>
  %1 = nn.slice %c {nn.name = "second", starts = array<i64: 0, 4, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<1x64x6x6xf32>) -> tensor<1x4x6x6xf32>
  nn.output %0 {nn.name = "y"} : tensor<1x4x6x6xf32>
  nn.output %1 {nn.name = "z"} : tensor<1x4x6x6xf32>
  return
}

// -----

// Tests that a kernel which likes channels last reads channels of such an image
// through a copy with channels last, right before it, and whole samples where
// they are.
// CHECK-DAG: %[[C:.*]] = soaprt.buffer at {{[0-9]+}} : <2x64x6x6xf32, activations, channels_last>
// CHECK-DAG: %[[SAMPLE:.*]] = soaprt.view %[[C]][2304] : <2x64x6x6xf32, activations, channels_last> -> <1x64x6x6xf32, activations, channels_last>
// CHECK-DAG: %[[PART:.*]] = soaprt.buffer at {{[0-9]+}} : <1x16x6x6xf32, activations, channels_last>
// CHECK: soaprt.copy "e"(%[[C]] : {{.*}}) to(%[[PART]] : {{.*}}) [#soaprt.box<[0, 16, 0, 0] to [0, 0, 0, 0] sizes [1, 16, 6, 6]>]
// CHECK-NEXT: soaprt.launch "e" {{.*}}(%[[PART]],
// CHECK: soaprt.launch "d" {{.*}}(%[[SAMPLE]],
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<2x64x6x6xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<64x64x3x3xf32> from #nn.random<7, "w", normal, 0.0, 0.1>
  %v = nn.parameter {nn.name = "v"} : tensor<8x16x3x3xf32> from #nn.random<7, "v", normal, 0.0, 0.1>
  %c = nn.conv %x, %w {nn.name = "c", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<2x64x6x6xf32>, tensor<64x64x3x3xf32>) -> tensor<2x64x6x6xf32>
  %0 = nn.slice %c {nn.name = "part", starts = array<i64: 0, 16, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x64x6x6xf32>) -> tensor<1x16x6x6xf32>
  %e = nn.conv %0, %v {nn.name = "e", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<1x16x6x6xf32>, tensor<8x16x3x3xf32>) -> tensor<1x8x6x6xf32>
  %1 = nn.slice %c {nn.name = "sample", starts = array<i64: 1, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x64x6x6xf32>) -> tensor<1x64x6x6xf32>
  %d = nn.conv %1, %w {nn.name = "d", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<1x64x6x6xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x6x6xf32>
  nn.output %e {nn.name = "y"} : tensor<1x8x6x6xf32>
  nn.output %d {nn.name = "z"} : tensor<1x64x6x6xf32>
  return
}
