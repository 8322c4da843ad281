// RUN: soap-opt %s --nn-build-training-step='loss=mean-squared-error output=y optimizer=sgd accumulate=2' | FileCheck %s

// Tests that the schedule of a step does not go with dropout that only an output without a loss reads.

// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.dropout
// CHECK: nn.schedule
// CHECK: nn.sgd
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<4x3xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<3xf32> from #nn.file<"m", 0, 12>
  %y = nn.mul %x, %w {nn.name = "scale"} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %d = nn.dropout %x {nn.name = "drop", ratio = 0.5 : f64} : tensor<4x3xf32>
  nn.output %y {nn.name = "y"} : tensor<4x3xf32>
  nn.output %d {nn.name = "unread"} : tensor<4x3xf32>
  return
}
