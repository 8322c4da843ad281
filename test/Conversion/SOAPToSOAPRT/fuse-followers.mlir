// RUN: soap-opt %s --split-input-file --soap-parallelize="devices=1 fuse=true" --soap-lower="layouts=true followers=true" --soaprt-verify-programs | FileCheck %s
// RUN: soap-opt %s --split-input-file --soap-parallelize="devices=1 fuse=true" --convert-soap-to-soaprt --soaprt-fuse-followers=keep-nan=true | FileCheck %s --check-prefix=NAN
// RUN: soap-opt %s --split-input-file --soap-parallelize="devices=1 fuse=true" --soap-lower="followers=true target=cuda" | FileCheck %s --check-prefix=APART

// Without a library that can, all stays apart.
// APART-NOT: " + "
// APART: soaprt.launch "relu"

// Tests that a relu is the convolution's, whose row stands where it stood, and
// that what lay between has neither buffer nor tile.
// CHECK: soaprt.kernel [[CONV:@k[_0-9]+]] "nn.conv {{.*}} + nn.relu 1x8x6x5xf32 -> 1x8x6x5xf32" (%arg0: tensor<1x4x6x5xf32>, %arg1: tensor<8x4x3x3xf32>)
// CHECK-NOT: soaprt.kernel {{.*}} "nn.relu
// CHECK: soaprt.launch "conv" [[CONV]](%{{.*}}, %{{.*}} : {{.*}}) to(%{{.*}} : !soaprt.buffer<1x8x6x5xf32, activations>)
// CHECK-NOT: soaprt.launch
// CHECK-NOT: soaprt.tile "conv"
// CHECK: soaprt.tile "relu"

// Tests that the library keeps off where it would make a number of NaN.
// NAN: soaprt.launch "conv"
// NAN: soaprt.launch "relu"
// NAN: soaprt.tile "conv"
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<1x4x6x5xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<8x4x3x3xf32> from #nn.random<7, "w", normal, 0.0, 0.1>
  %0 = nn.conv %x, %w {nn.name = "conv", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<1x4x6x5xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x6x5xf32>
  %1 = nn.relu %0 {nn.name = "relu"} : tensor<1x8x6x5xf32>
  nn.output %1 {nn.name = "y"} : tensor<1x8x6x5xf32>
  return
}

// -----

// Tests that a relu is a transposed convolution's whose windows lie side by
// side, and no other's.
// CHECK: soaprt.kernel {{.*}} "nn.conv_backward_data {{.*}} + nn.relu 1x8x6x4xf32 -> 1x8x6x4xf32"
// CHECK-NOT: soaprt.launch "relu1"
// CHECK: soaprt.launch "side"
// CHECK: soaprt.launch "overlapping"
// CHECK: soaprt.launch "relu2"
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<1x4x3x2xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<4x8x2x2xf32> from #nn.random<7, "w", normal, 0.0, 0.1>
  %v = nn.parameter {nn.name = "v"} : tensor<8x4x3x3xf32> from #nn.random<7, "v", normal, 0.0, 0.1>
  %0 = nn.conv_backward_data %x, %w {nn.name = "side", strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>}
    : (tensor<1x4x3x2xf32>, tensor<4x8x2x2xf32>) -> tensor<1x8x6x4xf32>
  %1 = nn.relu %0 {nn.name = "relu1"} : tensor<1x8x6x4xf32>
  %2 = nn.conv_backward_data %1, %v {nn.name = "overlapping", strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>}
    : (tensor<1x8x6x4xf32>, tensor<8x4x3x3xf32>) -> tensor<1x4x13x9xf32>
  %3 = nn.relu %2 {nn.name = "relu2"} : tensor<1x4x13x9xf32>
  nn.output %3 {nn.name = "y"} : tensor<1x4x13x9xf32>
  return
}

// -----

// Tests that a residual addition and its relu are the later convolution's, and
// that the result takes the place of the other operand, which dies there; a sum
// keeps NaN, but not with a relu behind it.
// CHECK-LABEL: soaprt.kernel {{.*}} "nn.conv {{.*}} + nn.fused {nn.add %0 %1 f32; nn.relu %2 f32}{{.*}}" ({{.*}}) attributes {{.*}}in_place = 2 : i64} {
// CHECK: soaprt.buffer at 0 : <1x8x6x5xf32, activations>
// CHECK: soaprt.buffer at [[PLACE:[0-9]+]] : <1x8x6x5xf32, activations>
// CHECK: soaprt.buffer at [[PLACE]] : <1x8x6x5xf32, activations>
// CHECK: soaprt.launch "first"
// CHECK: soaprt.launch "second" {{.*}} {{{.*}}in_place = 2 : i64
// CHECK-NOT: soaprt.launch
// NAN-LABEL: soaprt.launch "first"
// NAN: soaprt.launch "second"
// NAN: soaprt.launch "relu"
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<1x8x6x5xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<8x8x3x3xf32> from #nn.random<7, "w", normal, 0.0, 0.1>
  %0 = nn.conv %x, %w {nn.name = "first", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<1x8x6x5xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x6x5xf32>
  %1 = nn.conv %x, %w {nn.name = "second", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<1x8x6x5xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x6x5xf32>
  %2 = nn.add %0, %1 {nn.name = "add"} : (tensor<1x8x6x5xf32>, tensor<1x8x6x5xf32>) -> tensor<1x8x6x5xf32>
  %3 = nn.relu %2 {nn.name = "relu"} : tensor<1x8x6x5xf32>
  nn.output %3 {nn.name = "y"} : tensor<1x8x6x5xf32>
  return
}

// -----

// Tests that the other operand has a place of its own where it is read later.
// CHECK-LABEL: "nn.conv {{.*}} + nn.add
// CHECK-NOT: in_place
// CHECK: soaprt.launch "first"
// CHECK-NEXT: soaprt.launch "second" {{.*}}(%{{.*}}, %{{.*}}, %{{.*}} : {{.*}})
// CHECK-NEXT: soaprt.launch "pool"
// CHECK-NEXT: soaprt.launch "again"
// NAN-LABEL: "nn.conv {{.*}} + nn.add
// NAN: soaprt.launch "again"
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<1x8x6x5xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<8x8x3x3xf32> from #nn.random<7, "w", normal, 0.0, 0.1>
  %0 = nn.conv %x, %w {nn.name = "first", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<1x8x6x5xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x6x5xf32>
  %1 = nn.conv %0, %w {nn.name = "second", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<1x8x6x5xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x6x5xf32>
  %2 = nn.add %1, %0 {nn.name = "add"} : (tensor<1x8x6x5xf32>, tensor<1x8x6x5xf32>) -> tensor<1x8x6x5xf32>
  %3 = nn.max_pool %2 {nn.name = "pool", kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>}
    : (tensor<1x8x6x5xf32>) -> tensor<1x8x6x5xf32>
  %4 = nn.div %3, %0 {nn.name = "again"} : (tensor<1x8x6x5xf32>, tensor<1x8x6x5xf32>) -> tensor<1x8x6x5xf32>
  nn.output %4 {nn.name = "y"} : tensor<1x8x6x5xf32>
  return
}

// -----

// Tests a chain of a scale and shift per channel and a bound behind a
// convolution with channels last, a GELU behind a product, and what nothing
// follows: a quotient.
// CHECK-LABEL: "nn.conv {{.*}} + nn.fused {nn.mul %{{.*}}; nn.add %{{.*}}; nn.clip {{.*}}attributes {channels_last = array<i64: 0, 4>
// CHECK: "nn.matmul {{.*}} + nn.gelu
// CHECK: soaprt.launch "conv"
// CHECK-NEXT: soaprt.launch "last"
// CHECK: soaprt.launch "product"
// CHECK-NEXT: soaprt.launch "other"
// CHECK-NEXT: soaprt.launch "quotient"
// CHECK-NOT: soaprt.launch
// NAN: soaprt.launch "gelu"
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<1x4x6x5xf32>
  %s = nn.input {nn.name = "s"} : tensor<1x8x1x1xf32>
  %b = nn.input {nn.name = "b"} : tensor<8x1x1xf32>
  %w0 = nn.parameter {nn.name = "w0"} : tensor<8x4x3x3xf32> from #nn.random<7, "w0", normal, 0.0, 0.1>
  %w = nn.parameter {nn.name = "w"} : tensor<8x8x3x3xf32> from #nn.random<7, "w", normal, 0.0, 0.1>
  %v = nn.parameter {nn.name = "v"} : tensor<240x16xf32> from #nn.random<7, "v", normal, 0.0, 0.1>
  %00 = nn.conv %x, %w0 {nn.name = "first", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<1x4x6x5xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x6x5xf32>
  %0 = nn.conv %00, %w {nn.name = "conv", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<1x8x6x5xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x6x5xf32>
  %1 = nn.mul %0, %s {nn.name = "scaled"} : (tensor<1x8x6x5xf32>, tensor<1x8x1x1xf32>) -> tensor<1x8x6x5xf32>
  %2 = nn.add %b, %1 {nn.name = "shifted"} : (tensor<8x1x1xf32>, tensor<1x8x6x5xf32>) -> tensor<1x8x6x5xf32>
  %3 = nn.clip %2 {nn.name = "bound", min = 0.0 : f32, max = 6.0 : f32} : tensor<1x8x6x5xf32>
  %30 = nn.conv %3, %w {nn.name = "last", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<1x8x6x5xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x6x5xf32>
  %4 = nn.reshape %30 {nn.name = "flat"} : (tensor<1x8x6x5xf32>) -> tensor<1x240xf32>
  %5 = nn.matmul %4, %v {nn.name = "product"} : (tensor<1x240xf32>, tensor<240x16xf32>) -> tensor<1x16xf32>
  %6 = nn.gelu %5 {nn.name = "gelu"} : tensor<1x16xf32>
  nn.output %6 {nn.name = "y"} : tensor<1x16xf32>
  %7 = nn.matmul %4, %v {nn.name = "other"} : (tensor<1x240xf32>, tensor<240x16xf32>) -> tensor<1x16xf32>
  %8 = nn.div %6, %7 {nn.name = "quotient"} : (tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<1x16xf32>
  nn.output %8 {nn.name = "z"} : tensor<1x16xf32>
  return
}
