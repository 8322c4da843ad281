// REQUIRES: soap-compile
// RUN: echo '{"ops": [{"op": "product", "degrees": {"n": 2, "k": 3}, "devices": [1, 0, 1, 1, 1, 0]}]}' > %t.json
// RUN: soap-compile %s --calibration=none --strategy=%t.json --emit=soap | FileCheck %s

// Tests that tiles of one device whose partial results are different parts are
// not put together: device 0 has part 1 of the first rows and part 2 of the last.

// CHECK-DAG: #soap.box<"product":0, [0:2, 0:4], part 1 of 3>
// CHECK-DAG: #soap.box<"product":0, [2:4, 0:4], part 2 of 3>
// CHECK: soap.reduce_scatter
// CHECK: soap.reduce_scatter

func.func @main() {
  %a = nn.input {nn.name = "a"} : tensor<4x3xf32>
  %b = nn.input {nn.name = "b"} : tensor<3x4xf32>
  %product = nn.matmul %a, %b {nn.name = "product"}
    : (tensor<4x3xf32>, tensor<3x4xf32>) -> tensor<4x4xf32>
  nn.output %product {nn.name = "y"} : tensor<4x4xf32>
  return
}
