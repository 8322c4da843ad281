// RUN: soap-opt %s --soap-parallelize="devices=2 strategy=tensor-parallel" --soap-lower=layouts=true | FileCheck %s

// Tests that gathered channels are copied to their image before the first row
// that reads it, so that what is launched in between waits for nothing.
// CHECK: soaprt.collective "a.all_gather" {{.*}} receive(%[[FIRST:.*]], %[[SECOND:.*]] : !soaprt.buffer<1x8x6x6xf32, activations, channels_last>
// CHECK-NEXT: soaprt.launch "b"
// CHECK-NEXT: soaprt.copy "a.all_gather"(%[[FIRST]], %[[SECOND]] : {{.*}}) to(%[[A:.*]], %[[A]] :
// CHECK-NEXT: soaprt.launch "c" @{{.*}}(%[[A]],
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<1x8x6x6xf32>
  %wa = nn.parameter {nn.name = "wa"} : tensor<16x8x3x3xf32> from #nn.random<7, "wa", normal, 0.0, 0.1>
  %wb = nn.parameter {nn.name = "wb"} : tensor<16x8x3x3xf32> from #nn.random<7, "wb", normal, 0.0, 0.1>
  %wc = nn.parameter {nn.name = "wc"} : tensor<16x16x3x3xf32> from #nn.random<7, "wc", normal, 0.0, 0.1>
  %a = nn.conv %x, %wa {nn.name = "a", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<1x8x6x6xf32>, tensor<16x8x3x3xf32>) -> tensor<1x16x6x6xf32>
  %b = nn.conv %x, %wb {nn.name = "b", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<1x8x6x6xf32>, tensor<16x8x3x3xf32>) -> tensor<1x16x6x6xf32>
  %c = nn.conv %a, %wc {nn.name = "c", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<1x16x6x6xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x6x6xf32>
  nn.output %b {nn.name = "y"} : tensor<1x16x6x6xf32>
  nn.output %c {nn.name = "z"} : tensor<1x16x6x6xf32>
  return
}
