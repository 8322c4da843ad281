// A layer as exporters write it, weights (F, K) and their transpose. Neither the
// step nor the gradient of the weights transposes anything.

// RUN: soap-compile %s --train=sgd --loss=mean-squared-error --no-eval --emit=nn -o - \
// RUN:   | FileCheck %s --implicit-check-not=nn.transpose

// CHECK: nn.matmul {{.*}} transpose_b} : (tensor<5x2x3xf32>, tensor<4x3xf32>)
// CHECK: nn.matmul {{.*}} transpose_a} : {{.*}} -> tensor<4x3xf32>

func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<5x2x3xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<4x3xf32> from #nn.random<1, "w", normal, 0.0, 0.3>
  %t = nn.transpose %w {nn.name = "t", permutation = array<i64: 1, 0>} : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %y = nn.matmul %x, %t {nn.name = "fc"} : (tensor<5x2x3xf32>, tensor<3x4xf32>) -> tensor<5x2x4xf32>
  nn.output %y {nn.name = "y"} : tensor<5x2x4xf32>
  return
}
