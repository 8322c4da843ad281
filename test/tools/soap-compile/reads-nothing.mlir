// RUN: soap-compile %s --emit=soap --devices=2 --strategy=data-parallel | FileCheck %s

// Tests that an input is fed before its first reader: windows that all lie in the
// padding read nothing, which the task graph and the partitioned program must both
// know (soap-compile compares them).

// CHECK: soap.transfer {{.*}} phase feed {{.*}}"later"
// CHECK: soap.transfer {{.*}} phase feed {{.*}}"early"
func.func @main() {
  %x = nn.input {nn.name = "early"} : tensor<2x1x1x2xf32>
  %v = nn.input {nn.name = "later"} : tensor<2x3xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<1x1x1x4xf32> from #nn.random<1, "w", normal, 0.0, 0.5>
  %y = nn.conv %x, %w {nn.name = "padding", strides = array<i64: 1, 3>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 4>, pads_hi = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x1x1x2xf32>, tensor<1x1x1x4xf32>) -> tensor<2x1x1x1xf32>
  %u = nn.relu %v {nn.name = "relu"} : tensor<2x3xf32>
  %z = nn.ceil %x {nn.name = "ceil"} : tensor<2x1x1x2xf32>
  nn.output %y {nn.name = "y"} : tensor<2x1x1x1xf32>
  nn.output %u {nn.name = "u"} : tensor<2x3xf32>
  nn.output %z {nn.name = "z"} : tensor<2x1x1x2xf32>
  return
}
