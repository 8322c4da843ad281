// RUN: soap-opt %s --nn-lower-precision=to=bf16 | FileCheck %s --check-prefixes=CHECK,EXACT
// RUN: soap-opt %s --nn-lower-precision="to=bf16 round-layers" | FileCheck %s --check-prefixes=CHECK,ROUND

// Tests that recurrent layers stay f32, and may round to TF32 where that is asked for.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.cast
// EXACT: nn.rnn {{.*}}nn.name = "rnn"}
// ROUND: nn.rnn {{.*}}nn.name = "rnn", tf32}
// EXACT: nn.rnn {{.*}}nn.name = "wide"}
// ROUND: nn.rnn {{.*}}nn.name = "wide"}
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<5x2x3xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<1x1x6x3xf32> from #nn.splat<1.0 : f32>
  %r = nn.parameter {nn.name = "r"} : tensor<1x1x6x6xf32> from #nn.splat<1.0 : f32>
  %b = nn.parameter {nn.name = "b"} : tensor<1x1x6xf32> from #nn.splat<1.0 : f32>
  %h = nn.parameter {nn.name = "h"} : tensor<1x2x6xf32> from #nn.splat<0.0 : f32>
  %y = nn.rnn %x, %w, %r, %b, %h {nn.name = "rnn"} : (tensor<5x2x3xf32>, tensor<1x1x6x3xf32>, tensor<1x1x6x6xf32>, tensor<1x1x6xf32>, tensor<1x2x6xf32>) -> tensor<5x1x2x6xf32>
  nn.output %y {nn.name = "y"} : tensor<5x1x2x6xf32>
  %x64 = nn.input {nn.name = "x64"} : tensor<5x2x3xf64>
  %w64 = nn.parameter {nn.name = "w64"} : tensor<1x1x6x3xf64> from #nn.splat<1.0 : f64>
  %r64 = nn.parameter {nn.name = "r64"} : tensor<1x1x6x6xf64> from #nn.splat<1.0 : f64>
  %b64 = nn.parameter {nn.name = "b64"} : tensor<1x1x6xf64> from #nn.splat<1.0 : f64>
  %h64 = nn.parameter {nn.name = "h64"} : tensor<1x2x6xf64> from #nn.splat<0.0 : f64>
  %z = nn.rnn %x64, %w64, %r64, %b64, %h64 {nn.name = "wide"} : (tensor<5x2x3xf64>, tensor<1x1x6x3xf64>, tensor<1x1x6x6xf64>, tensor<1x1x6xf64>, tensor<1x2x6xf64>) -> tensor<5x1x2x6xf64>
  nn.output %z {nn.name = "z"} : tensor<5x1x2x6xf64>
  return
}
