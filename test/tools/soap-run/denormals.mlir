// REQUIRES: soap-compile, soap-run
// RUN: rm -rf %t && mkdir %t
// RUN: soap-compile %s -o %t/1.so
// RUN: soap-compile %s --devices=2 --strategy=data-parallel -o %t/2.so
// RUN: soap-run %t/1.so --cores-per-device=2 --input=x=random:0:1:2 --input=w=random:1:9.7656e-24:9.7657e-24 --print=native --print=library --print=halves | FileCheck %s --check-prefix=FLUSHED
// RUN: soap-run %t/2.so --input=x=random:0:1:2 --input=w=random:1:9.7656e-24:9.7657e-24 --print=native --print=library --print=halves | FileCheck %s --check-prefix=FLUSHED
// RUN: soap-run %t/1.so --cores-per-device=2 --input=x=random:0:1:2 --input=w=random:1:9.7656e-24:9.7657e-24 --keep-denormals --print=native --print=library --print=halves | FileCheck %s --check-prefix=KEPT
// RUN: soap-run %t/2.so --input=x=random:0:1:2 --input=w=random:1:9.7656e-24:9.7657e-24 --keep-denormals --print=native --print=library --print=halves | FileCheck %s --check-prefix=KEPT

// Tests that denormal numbers (1 to 2 times 1e-40) are zeros, on all threads of
// a device, unless they are asked for. Sums are 1024 * 1024 * 1.5 * 1e-6 then.
// Numbers that are denormal in f16 alone (1 to 2 times 1e-6) are kept.

// FLUSHED: native: f32 []
// FLUSHED-NEXT: 0{{$}}
// FLUSHED: library: f32 []
// FLUSHED-NEXT: 0{{$}}
// FLUSHED: halves: f32 []
// FLUSHED-NEXT: 1.57
// KEPT: native: f32 []
// KEPT-NEXT: 1.57
// KEPT: library: f32 []
// KEPT-NEXT: 1.57
// KEPT: halves: f32 []
// KEPT-NEXT: 1.57

func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<1024x1024xf32>
  %small = nn.constant dense<1.0e-20> : tensor<f32> {nn.name = "small"}
  %large = nn.constant dense<1.0e34> : tensor<f32> {nn.name = "large"}
  %0 = nn.mul %x, %small {nn.name = "smaller"} : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024x1024xf32>
  %1 = nn.mul %0, %small {nn.name = "smallest"} : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024x1024xf32>
  %2 = nn.mul %1, %large {nn.name = "large.native"} : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024x1024xf32>
  %3 = nn.reduce %2 {axes = array<i64: 0, 1>, keepdims = false, kind = #nn.reduce_kind<sum>, nn.name = "sum.native"} : (tensor<1024x1024xf32>) -> tensor<f32>
  %w = nn.input {nn.name = "w"} : tensor<1024x1024xf32>
  %4 = nn.matmul %0, %w {nn.name = "product"} : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %5 = nn.mul %4, %large {nn.name = "large.library"} : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024x1024xf32>
  %6 = nn.reduce %5 {axes = array<i64: 0, 1>, keepdims = false, kind = #nn.reduce_kind<sum>, nn.name = "sum.library"} : (tensor<1024x1024xf32>) -> tensor<f32>
  %millionth = nn.constant dense<1.0e-6> : tensor<f32> {nn.name = "millionth"}
  %7 = nn.mul %x, %millionth {nn.name = "millionths"} : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024x1024xf32>
  %8 = nn.cast %7 {nn.name = "narrow"} : (tensor<1024x1024xf32>) -> tensor<1024x1024xf16>
  %9 = nn.cast %8 {nn.name = "wide"} : (tensor<1024x1024xf16>) -> tensor<1024x1024xf32>
  %10 = nn.reduce %9 {axes = array<i64: 0, 1>, keepdims = false, kind = #nn.reduce_kind<sum>, nn.name = "sum.halves"} : (tensor<1024x1024xf32>) -> tensor<f32>
  nn.output %3 {nn.name = "native"} : tensor<f32>
  nn.output %6 {nn.name = "library"} : tensor<f32>
  nn.output %10 {nn.name = "halves"} : tensor<f32>
  return
}
