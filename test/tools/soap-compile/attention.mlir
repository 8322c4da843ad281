// REQUIRES: soap-run
// RUN: rm -rf %t && mkdir %t

// Tests that attention becomes one operation with a kernel of its own, whose
// scores are no buffer: 3 heads of 64 rows and 512 steps are 384 KiB.
// RUN: soap-compile %s -o %t/one.so 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: soap-run %t/one.so --info | FileCheck %s --implicit-check-not=Softmax
// CHECK: 2 x Attention soap:attention
// PLAN: activations {{[12]?[0-9]?[0-9](\.[0-9])? KiB}}

// Tests that its parts stay apart where the command says so.
// RUN: soap-compile %s --no-attention -o %t/parts.so
// RUN: soap-run %t/parts.so --info | FileCheck %s --check-prefix=PARTS --implicit-check-not=Attention
// RUN: soap-compile %s --no-fuse --emit=strategy | FileCheck %s --check-prefix=APART --implicit-check-not=nn.attention
// RUN: soap-compile %s --keep-nan --emit=strategy | FileCheck %s --check-prefix=APART --implicit-check-not=nn.attention
// PARTS: 2 x Softmax
// APART: nn.softmax

// Tests that it is folded for devices of this machine alone.
// RUN: soap-compile %s --topology=p100 --emit=strategy | FileCheck %s --check-prefix=APART --implicit-check-not=nn.attention

// Tests that with products of bf16 it is folded, of f32, unless the processor
// multiplies these faster and the scores are small.
// RUN: soap-compile %s --precision=bf16 --mcpu=x86-64-v3 --devices=1 --emit=strategy 2> %t/warnings | FileCheck %s --check-prefix=FOLDED --implicit-check-not=nn.softmax
// RUN: soap-compile %s --precision=bf16 --mcpu=sapphirerapids --devices=1 --emit=strategy | FileCheck %s --check-prefix=APART --implicit-check-not=nn.attention
// FOLDED: nn.attention {{.*}}bf16
// FOLDED: nn.attention {{.*}}bf16

// Tests that it counts, and is simulated, as a product of bf16.
// RUN: soap-compile %s --precision=bf16 --mcpu=x86-64-v3 --devices=1 --strategy=single --calibration=none --emit=report 2> %t/warnings | FileCheck %s --check-prefix=COUNT
// COUNT: products: 2 of bf16

// Tests that a model with such attention runs, whether this processor multiplies
// bf16 or not. Scores of all of its heads are large enough.
// RUN: sed 's/tensor<1x3x/tensor<12x3x/g; s/tensor<1x1x1x64xf32>/tensor<12x1x1x64xf32>/g' %s > %t/large.mlir
// RUN: soap-compile %t/large.mlir --precision=bf16 --devices=1 -o %t/bf16.so 2> %t/warnings
// RUN: soap-compile %t/large.mlir -o %t/f32.so
// RUN: soap-run %t/bf16.so --info | FileCheck %s --check-prefix=NARROW
// RUN: soap-run %t/bf16.so --compare=%t/f32.so --rtol=0.02 --atol=0.02 | FileCheck %s --check-prefix=EQUAL
// RUN: soap-compile %t/large.mlir --precision=bf16 --devices=3 --strategy=random-uniform --seed=5 --calibration=none -o %t/three.so 2> %t/warnings
// RUN: soap-run %t/three.so --verify | FileCheck %s --check-prefix=VERIFY
// RUN: soap-run %t/three.so --compare=%t/bf16.so | FileCheck %s --check-prefix=EQUAL
// NARROW: Attention soap:attention

// Tests that both compute the same, on one device and on several, with and
// without several cores.
// RUN: soap-run %t/one.so --compare=%t/parts.so | FileCheck %s --check-prefix=EQUAL
// RUN: soap-compile %s --devices=3 --strategy=random-uniform --seed=5 --calibration=none -o %t/three.so
// RUN: soap-run %t/three.so --verify | FileCheck %s --check-prefix=VERIFY
// RUN: soap-run %t/three.so --compare=%t/parts.so | FileCheck %s --check-prefix=EQUAL
// RUN: soap-compile %s --devices=1 --cores-per-device=2 --calibration=none -o %t/cores.so
// RUN: soap-run %t/cores.so --compare=%t/parts.so | FileCheck %s --check-prefix=EQUAL
// EQUAL: compare y: equal
// VERIFY: verify: equal

func.func @main() {
  %q = nn.input {nn.name = "q"} : tensor<1x3x64x16xf32>
  %k = nn.input {nn.name = "k"} : tensor<1x3x16x512xf32>
  %v = nn.input {nn.name = "v"} : tensor<1x3x512x16xf32>
  %m = nn.input {nn.name = "m"} : tensor<64x512xi1>
  %a = nn.input {nn.name = "a"} : tensor<1x1x1x64xf32>
  %low = nn.constant dense<-1.0e+04> : tensor<f32> {nn.name = "low"}
  %root = nn.constant dense<4.0> : tensor<f32> {nn.name = "root"}
  %0 = nn.matmul %q, %k {nn.name = "scores"} : (tensor<1x3x64x16xf32>, tensor<1x3x16x512xf32>) -> tensor<1x3x64x512xf32>
  %1 = nn.div %0, %root {nn.name = "scaled"} : (tensor<1x3x64x512xf32>, tensor<f32>) -> tensor<1x3x64x512xf32>
  %2 = nn.where %m, %1, %low {nn.name = "masked"} : (tensor<64x512xi1>, tensor<1x3x64x512xf32>, tensor<f32>) -> tensor<1x3x64x512xf32>
  %3 = nn.softmax %2 {nn.name = "weights", axis = 3 : i64} : tensor<1x3x64x512xf32>
  %4 = nn.matmul %3, %v {nn.name = "context"} : (tensor<1x3x64x512xf32>, tensor<1x3x512x16xf32>) -> tensor<1x3x64x16xf32>
  %5 = nn.matmul %q, %4 {nn.name = "scores2", transpose_b} : (tensor<1x3x64x16xf32>, tensor<1x3x64x16xf32>) -> tensor<1x3x64x64xf32>
  %6 = nn.add %5, %a {nn.name = "added"} : (tensor<1x3x64x64xf32>, tensor<1x1x1x64xf32>) -> tensor<1x3x64x64xf32>
  %7 = nn.softmax %6 {nn.name = "weights2", axis = 3 : i64} : tensor<1x3x64x64xf32>
  %8 = nn.matmul %7, %4 {nn.name = "context2"} : (tensor<1x3x64x64xf32>, tensor<1x3x64x16xf32>) -> tensor<1x3x64x16xf32>
  nn.output %8 {nn.name = "y"} : tensor<1x3x64x16xf32>
  return
}
