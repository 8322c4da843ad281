// RUN: soap-opt %s --nn-fold-gelu --split-input-file | FileCheck %s

// As PyTorch exports it.
// CHECK-LABEL: @exported
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>
// CHECK-NEXT: %[[Y:.*]] = nn.gelu %[[X]] {nn.name = "y"} : tensor<4x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @exported(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %sqrt2 = nn.constant dense<1.41421354> : tensor<f32> {nn.name = "sqrt2"}
  %one = nn.constant dense<1.0> : tensor<f32> {nn.name = "one"}
  %half = nn.constant dense<0.5> : tensor<f32> {nn.name = "half"}
  %0 = nn.div %x, %sqrt2 {nn.name = "a"} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %1 = nn.erf %0 {nn.name = "b"} : tensor<4x8xf32>
  %2 = nn.add %1, %one {nn.name = "c"} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %3 = nn.mul %x, %2 {nn.name = "d"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = nn.mul %3, %half {nn.name = "y"} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// -----

// Other orders, and x is itself a sum and a product: x is what erf is applied to.
// CHECK-LABEL: @orders
// CHECK: %[[X:.*]] = nn.add {{.*}} {nn.name = "x"}
// CHECK-NEXT: %[[Y:.*]] = nn.gelu %[[X]] {nn.name = "y"}
// CHECK-NEXT: return %[[Y]]
func.func @orders(%a: tensor<4x8xf32>, %bias: tensor<8xf32>) -> tensor<4x8xf32> {
  %factor = nn.constant dense<0.707106769> : tensor<f32> {nn.name = "factor"}
  %halves = nn.constant dense<0.5> : tensor<4x8xf32> {nn.name = "halves"}
  %two = nn.constant dense<2.0> : tensor<f32> {nn.name = "two"}
  %scaled = nn.mul %two, %a {nn.name = "scaled"} : (tensor<f32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %x = nn.add %scaled, %bias {nn.name = "x"} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %0 = nn.mul %factor, %x {nn.name = "p"} : (tensor<f32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = nn.erf %0 {nn.name = "q"} : tensor<4x8xf32>
  %2 = nn.mul %halves, %1 {nn.name = "r"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = nn.add %halves, %2 {nn.name = "s"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = nn.mul %3, %x {nn.name = "y"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// -----

// The approximation by tanh, as GPT-2 has it.
// CHECK-LABEL: @approximate
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>
// CHECK-NEXT: %[[Y:.*]] = nn.gelu %[[X]] {approximate, nn.name = "y"}
// CHECK-NEXT: return %[[Y]]
func.func @approximate(%x: tensor<8xf32>) -> tensor<8xf32> {
  %cubic = nn.constant dense<4.471500e-02> : tensor<f32> {nn.name = "cubic"}
  %factor = nn.constant dense<0.797884583> : tensor<f32> {nn.name = "factor"}
  %one = nn.constant dense<1.0> : tensor<f32> {nn.name = "one"}
  %half = nn.constant dense<0.5> : tensor<f32> {nn.name = "half"}
  %0 = nn.mul %x, %x {nn.name = "a"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = nn.mul %0, %x {nn.name = "b"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = nn.mul %1, %cubic {nn.name = "c"} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = nn.add %x, %2 {nn.name = "d"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %4 = nn.mul %3, %factor {nn.name = "e"} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %5 = nn.tanh %4 {nn.name = "t"} : tensor<8xf32>
  %6 = nn.add %5, %one {nn.name = "f"} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %7 = nn.mul %x, %half {nn.name = "g"} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %8 = nn.mul %7, %6 {nn.name = "y"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %8 : tensor<8xf32>
}

// -----

// What others read stays.
// CHECK-LABEL: @shared
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>
// CHECK: %[[E:.*]] = nn.erf
// CHECK: %[[Y:.*]] = nn.gelu %[[X]]
// CHECK-NEXT: return %[[Y]], %[[E]]
func.func @shared(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %factor = nn.constant dense<0.707106769> : tensor<f32> {nn.name = "factor"}
  %one = nn.constant dense<1.0> : tensor<f32> {nn.name = "one"}
  %half = nn.constant dense<0.5> : tensor<f32> {nn.name = "half"}
  %0 = nn.mul %x, %factor {nn.name = "a"} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = nn.erf %0 {nn.name = "b"} : tensor<8xf32>
  %2 = nn.add %1, %one {nn.name = "c"} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = nn.mul %2, %half {nn.name = "d"} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %4 = nn.mul %3, %x {nn.name = "y"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %4, %1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// Another constant, another x, a sum of another number, other types.
// CHECK-LABEL: @others
// CHECK-NOT: nn.gelu
func.func @others(%x: tensor<8xf32>, %z: tensor<8xf32>, %w: tensor<8xf64>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf64>) {
  %factor = nn.constant dense<0.707106769> : tensor<f32> {nn.name = "factor"}
  %near = nn.constant dense<0.7072> : tensor<f32> {nn.name = "near"}
  %one = nn.constant dense<1.0> : tensor<f32> {nn.name = "one"}
  %half = nn.constant dense<0.5> : tensor<f32> {nn.name = "half"}
  %0 = nn.mul %x, %near {nn.name = "a"} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = nn.erf %0 {nn.name = "b"} : tensor<8xf32>
  %2 = nn.add %1, %one {nn.name = "c"} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = nn.mul %2, %half {nn.name = "d"} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %4 = nn.mul %3, %x {nn.name = "y"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %5 = nn.mul %x, %factor {nn.name = "a1"} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %6 = nn.erf %5 {nn.name = "b1"} : tensor<8xf32>
  %7 = nn.add %6, %one {nn.name = "c1"} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %8 = nn.mul %7, %half {nn.name = "d1"} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %9 = nn.mul %8, %z {nn.name = "y1"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %10 = nn.sub %6, %one {nn.name = "c2"} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %11 = nn.mul %10, %half {nn.name = "d2"} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %12 = nn.mul %11, %x {nn.name = "y2"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %factor3 = nn.constant dense<0.70710678118654757> : tensor<f64> {nn.name = "factor3"}
  %one3 = nn.constant dense<1.0> : tensor<f64> {nn.name = "one3"}
  %half3 = nn.constant dense<0.5> : tensor<f64> {nn.name = "half3"}
  %13 = nn.mul %w, %factor3 {nn.name = "a3"} : (tensor<8xf64>, tensor<f64>) -> tensor<8xf64>
  %14 = nn.erf %13 {nn.name = "b3"} : tensor<8xf64>
  %15 = nn.add %14, %one3 {nn.name = "c3"} : (tensor<8xf64>, tensor<f64>) -> tensor<8xf64>
  %16 = nn.mul %15, %half3 {nn.name = "d3"} : (tensor<8xf64>, tensor<f64>) -> tensor<8xf64>
  %17 = nn.mul %16, %w {nn.name = "y3"} : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  return %4, %9, %12, %17 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf64>
}
