// REQUIRES: soap-compile
// RUN: echo '{"ops": [{"op": "all", "degrees": {"d0": 2}, "devices": [0, 1]}]}' > %t.json
// RUN: soap-compile %s --calibration=none --strategy=%t.json --emit=strategy | FileCheck %s

// Tests that a parameter with fewer elements than its reader has tiles is not
// split: each device of the reader has it whole.

// CHECK: nn.parameter {{.*}}nn.name = "w"{{.*}}#soap.config<{} replicate = 2 on [0, 1]>
// CHECK: nn.concat

func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<1x4xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<1x4xf32> from #nn.splat<1.0 : f32>
  %all = nn.concat %x, %w {nn.name = "all", axis = 0 : i64}
    : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
  nn.output %all {nn.name = "y"} : tensor<2x4xf32>
  return
}
