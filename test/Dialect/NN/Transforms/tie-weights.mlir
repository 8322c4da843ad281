// RUN: soap-opt %s --nn-build-training-step='loss=mean-squared-error optimizer=sgd' | FileCheck %s --check-prefix=APART
// RUN: soap-opt %s --nn-build-training-step='loss=mean-squared-error optimizer=sgd tie-weights=.*kernel' | FileCheck %s
// RUN: not soap-opt %s --nn-build-training-step='loss=mean-squared-error tie-weights=kernel' 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not soap-opt %s --nn-build-training-step='loss=mean-squared-error tie-weights=(' 2>&1 | FileCheck %s --check-prefix=REGEX

// Tests that equal tensors that are stored once are several parameters.
// APART: nn.sgd {{.*}}nn.name = "first.kernel.update"
// APART: nn.sgd {{.*}}nn.name = "bias.update"
// APART: nn.sgd {{.*}}nn.name = "last.kernel.update"

// Tests that those whose names an option matches are one, and that the gradient
// of the one is the sum of both.
// CHECK: %[[W:.*]] = nn.parameter {nn.name = "first.kernel"}
// CHECK: nn.matmul %{{.*}}, %[[W]] {nn.name = "first"}
// CHECK: nn.parameter {nn.name = "bias"}
// CHECK-NOT: nn.parameter {{.*}}"last.kernel"
// CHECK: nn.matmul %{{.*}}, %[[W]] {nn.name = "last"}
// CHECK: %[[SUM:.*]] = nn.add {{.*}} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK: nn.sgd %[[W]], %[[SUM]],
// CHECK-NOT: nn.sgd {{.*}}kernel

// Tests that an option that ties nothing, or is no expression, is a mistake.
// NONE: error: expected 'tie-weights' to match several parameters of one shape with the same elements of a file, got: 'kernel'
// REGEX: error: expected a regular expression for 'tie-weights', got: '('
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<2x4xf32>
  %w = nn.parameter {nn.name = "first.kernel"} : tensor<4x4xf32> from #nn.file<"w.bin", 0, 64>
  %0 = nn.matmul %x, %w {nn.name = "first"} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %b = nn.parameter {nn.name = "bias"} : tensor<4x4xf32> from #nn.file<"w.bin", 0, 64>
  %1 = nn.matmul %0, %b {nn.name = "middle"} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %v = nn.parameter {nn.name = "last.kernel"} : tensor<4x4xf32> from #nn.file<"w.bin", 0, 64>
  %2 = nn.matmul %1, %v {nn.name = "last"} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  nn.output %2 {nn.name = "y"} : tensor<2x4xf32>
  return
}
