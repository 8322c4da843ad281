// Tests that on a processor which multiplies bf16, what lies between products of
// --precision=bf16 is bf16: the library rounds what it has made in f32, with a bias of
// f32, of a sum of two convolutions and its relu, of which the first one is rounded
// before; and so are pools. A product whose result only an output reads is f32. Processors that multiply
// f32 as fast keep f32 between products, where casts are the library's, too.
// REQUIRES: soap-compile
// DEFINE: %{compile} = soap-compile %s --devices=1 --calibration=none --no-reference --precision=bf16
// RUN: %{compile} --mcpu=sapphirerapids --emit=soaprt -o - | FileCheck %s
// RUN: %{compile} --mcpu=x86-64-v4 --emit=soaprt -o - 2> %t.warnings | FileCheck %s --check-prefix=F32
// RUN: %{compile} --mcpu=sapphirerapids --no-followers --emit=soaprt -o - | FileCheck %s --check-prefix=APART

// Other machines do what they do whatever the processor is that plans for them.
// DEFINE: %{plan} = soap-compile %s --topology=p100:nodes=1 --strategy=single --precision=bf16 --emit=soap
// RUN: %{plan} --mcpu=sapphirerapids -o %t.amx.mlir 2> %t.warnings
// RUN: %{plan} --mcpu=x86-64-v3 -o %t.avx2.mlir 2> %t.warnings
// RUN: diff %t.amx.mlir %t.avx2.mlir

// CHECK-DAG: soaprt.kernel {{.*}} "nn.conv {{.*}} 1x8x12x12xbf16 16x8x3x3xbf16 16xf32 -> 1x16x12x12xf32 + nn.fused {nn.relu %0 f32; nn.cast %1 bf16} 1x16x12x12xf32 -> 1x16x12x12xbf16"
// CHECK-DAG: soaprt.kernel {{.*}} "nn.max_pool {{.*}} 1x16x12x12xbf16 -> 1x16x6x6xbf16"
// CHECK-DAG: soaprt.kernel {{.*}} "nn.conv {{.*}} 1x16x6x6xbf16 16x16x1x1xbf16 16xf32 -> 1x16x6x6xf32 + nn.fused {nn.cast %0 f32; nn.add %2 %1 f32; nn.relu %3 f32; nn.cast %4 bf16} 1x16x6x6xbf16 1x16x6x6xf32 -> 1x16x6x6xbf16"
// CHECK-DAG: soaprt.kernel {{.*}} "nn.conv {{.*}} 1x16x6x6xbf16 4x16x6x6xbf16 -> 1x4x1x1xf32"
// CHECK: soaprt.launch "stem"
// CHECK-NOT: soaprt.launch "stem.
// CHECK: soaprt.launch "pool"
// CHECK-NOT: soaprt.launch "sum"

// F32-NOT: xf32 -> 1x16x6x6xf32 + nn.fused {{.*}} 1x16x6x6xbf16 ->
// F32: soaprt.kernel {{.*}} "nn.conv {{.*}} + nn.relu 1x16x12x12xf32 -> 1x16x12x12xf32"
// F32: soaprt.kernel {{.*}} "nn.max_pool {{.*}} 1x16x12x12xf32 -> 1x16x6x6xf32"

// APART-NOT: " + "
// APART: soaprt.kernel {{.*}} "nn.fused {nn.relu %0 f32; nn.cast %1 bf16}
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<1x8x12x12xf32>
  %b = nn.parameter {nn.name = "b"} : tensor<16xf32> from #nn.random<7, "b", normal, 0.0, 0.1>
  %w = nn.parameter {nn.name = "w"} : tensor<16x8x3x3xf32> from #nn.random<7, "w", normal, 0.0, 0.1>
  %v = nn.parameter {nn.name = "v"} : tensor<16x16x1x1xf32> from #nn.random<7, "v", normal, 0.0, 0.1>
  %u = nn.parameter {nn.name = "u"} : tensor<16x16x3x3xf32> from #nn.random<7, "u", normal, 0.0, 0.1>
  %t = nn.parameter {nn.name = "t"} : tensor<4x16x6x6xf32> from #nn.random<7, "t", normal, 0.0, 0.1>
  %0 = nn.conv %x, %w bias %b {nn.name = "stem", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<1x8x12x12xf32>, tensor<16x8x3x3xf32>, tensor<16xf32>) -> tensor<1x16x12x12xf32>
  %1 = nn.relu %0 {nn.name = "stem.relu"} : tensor<1x16x12x12xf32>
  %2 = nn.max_pool %1 {nn.name = "pool", kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>}
    : (tensor<1x16x12x12xf32>) -> tensor<1x16x6x6xf32>
  %3 = nn.conv %2, %u bias %b {nn.name = "long", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<1x16x6x6xf32>, tensor<16x16x3x3xf32>, tensor<16xf32>) -> tensor<1x16x6x6xf32>
  %4 = nn.conv %2, %v bias %b {nn.name = "short", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>}
    : (tensor<1x16x6x6xf32>, tensor<16x16x1x1xf32>, tensor<16xf32>) -> tensor<1x16x6x6xf32>
  %5 = nn.add %3, %4 {nn.name = "sum"} : (tensor<1x16x6x6xf32>, tensor<1x16x6x6xf32>) -> tensor<1x16x6x6xf32>
  %6 = nn.relu %5 {nn.name = "sum.relu"} : tensor<1x16x6x6xf32>
  %7 = nn.conv %6, %t {nn.name = "scores", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>}
    : (tensor<1x16x6x6xf32>, tensor<4x16x6x6xf32>) -> tensor<1x4x1x1xf32>
  nn.output %7 {nn.name = "y"} : tensor<1x4x1x1xf32>
  return
}
