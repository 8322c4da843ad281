// RUN: not soap-opt %s --nn-build-training-step='loss=mean-squared-error optimizer=sgd' --nn-recompute=ops=tanh,sofmax 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not soap-opt %s --nn-build-training-step='loss=mean-squared-error optimizer=sgd' --nn-recompute='ops=fc1.grad.*' 2>&1 | FileCheck %s --check-prefix=BACKWARD
// RUN: not soap-opt %s --nn-recompute=ops=tanh 2>&1 | FileCheck %s --check-prefix=INFERENCE
// RUN: not soap-compile %s --train=sgd --loss=mean-squared-error --recompute=sofmax -o %t.so 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not soap-compile %s --train=sgd --loss=mean-squared-error --recompute=auto,tanh -o %t.so 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not soap-compile %s --recompute=tanh -o %t.so 2>&1 | FileCheck %s --check-prefix=NOSTEP

// Tests that operations that there are not, those of the backward pass, and
// graphs without one are refused.

// UNKNOWN: error: {{.*}}expected operations to recompute: elementwise, kinds of operations that the backward pass reads (sub, tanh), or regular expressions that match names of operations of the forward pass, got: 'sofmax'
// BACKWARD: error: {{.*}}got: 'fc1.grad.*'
// INFERENCE: error: expected a step with gradients to recompute for, got none; run nn-build-training-step before
// BOTH: error: expected --recompute=none, auto or a list of operations, got: 'auto,tanh'
// NOSTEP: error: expected --train=sgd, adam or adamw with options of training, got none
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<8x6xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<6x4xf32> from #nn.random<1, "w", normal, 0.0, 0.6>
  %v = nn.parameter {nn.name = "v"} : tensor<4x3xf32> from #nn.random<1, "v", normal, 0.0, 0.6>
  %0 = nn.matmul %x, %w {nn.name = "fc1"} : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %1 = nn.tanh %0 {nn.name = "act"} : tensor<8x4xf32>
  %2 = nn.matmul %1, %v {nn.name = "fc2"} : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  nn.output %2 {nn.name = "y"} : tensor<8x3xf32>
  return
}
