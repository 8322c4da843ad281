// REQUIRES: soap-compile
// RUN: echo '{"ops": [{"op": "left", "degrees": {"d0": 2}, "devices": [0, 1]}, \
// RUN:   {"op": "right", "degrees": {"d1": 3}, "devices": [2, 1, 0]}, \
// RUN:   {"op": "sum", "degrees": {"d0": 3}, "devices": [2, 0, 1]}, \
// RUN:   {"op": "a", "devices": [1]}, {"op": "b", "devices": [2]}], \
// RUN:   "order": ["b", "z", "x", "a", "right", "left", "w", "sum", "y"]}' > %t.json
// RUN: soap-compile %s --no-fuse --calibration=none --strategy=%t.json --emit=soaprt | FileCheck %s

// Tests that a launch order may name everything, and turn around who reads a
// value first: what moves is planned for the readers in launch order, parameters
// and inputs that are fetched at the same place in the order in which they are
// named. The compiler compares it with the simulation. Inputs and outputs are
// numbered as in the model.

// CHECK: soaprt.input {{.*}}"x"
// CHECK: soaprt.input {{.*}}"z"
// CHECK: soaprt.output {{.*}}"y"
// CHECK: soaprt.output {{.*}}"w"

func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<6x6xf32>
  %z = nn.input {nn.name = "z"} : tensor<6x6xf32>
  %a = nn.parameter {nn.name = "a"} : tensor<6x6xf32> from #nn.splat<1.0 : f32>
  %b = nn.parameter {nn.name = "b"} : tensor<6x6xf32> from #nn.splat<2.0 : f32>
  %left = nn.add %x, %a {nn.name = "left"}
    : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
  %right = nn.mul %z, %b {nn.name = "right"}
    : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
  %sum = nn.add %left, %right {nn.name = "sum"}
    : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
  nn.output %sum {nn.name = "y"} : tensor<6x6xf32>
  nn.output %left {nn.name = "w"} : tensor<6x6xf32>
  return
}
