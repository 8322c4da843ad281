// RUN: soap-opt %s --split-input-file --soap-parallelize="devices=1" --soap-lower="layouts=true followers=true" --soaprt-verify-programs | FileCheck %s
// RUN: soap-opt %s --split-input-file --soap-parallelize="devices=1" --soap-lower="layouts=true followers=false" | FileCheck %s --check-prefix=APART

// Tests that a shuffle between convolutions reads and writes tensors with
// channels last, in a kernel that exchanges the two innermost dims, and that
// what lay between has neither buffer nor tile.
// CHECK: soaprt.kernel {{.*}} "nn.transpose {{.*}}1x3x4x7x6xf32 -> 1x4x3x7x6xf32" native @kernels::@[[SHUFFLE:[a-z0-9_]+]] {{.*}}(%arg0: tensor<1x12x7x6xf32>) attributes {channels_last = array<i64: 0, 1>{{.*}}} {
// CHECK-NEXT: [[SPLIT:%.*]] = nn.reshape %arg0 {nn.name = "shuffle.split"} : (tensor<1x12x7x6xf32>) -> tensor<1x3x4x7x6xf32>
// CHECK-NEXT: [[SWAPPED:%.*]] = nn.transpose [[SPLIT]]
// CHECK-NEXT: nn.reshape [[SWAPPED]] {nn.name = "shuffle.joined"} : (tensor<1x4x3x7x6xf32>) -> tensor<1x12x7x6xf32>
// CHECK-NOT: soaprt.view
// CHECK: soaprt.launch "shuffle" {{.*}}(%{{.*}} : !soaprt.buffer<1x12x7x6xf32, activations, channels_last>) to(%{{.*}} : !soaprt.buffer<1x12x7x6xf32, activations, channels_last>)
// CHECK-NOT: soaprt.tile "split"
// CHECK-NOT: soaprt.tile "shuffle"
// CHECK: soaprt.tile "joined"
// CHECK: func.func @[[SHUFFLE]](%arg0: memref<42x3x4xf32>{{.*}}, %arg1: memref<42x4x3xf32>

// Tests that all is apart where every tensor is to have a place.
// APART: soaprt.view
// APART: soaprt.view
// APART: soaprt.launch "shuffle" {{.*}}(%{{.*}} : !soaprt.buffer<1x3x4x7x6xf32, activations>) to(%{{.*}} : !soaprt.buffer<1x4x3x7x6xf32, activations>)
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<1x5x7x6xf32>
  %w1 = nn.parameter {nn.name = "w1"} : tensor<12x5x3x3xf32> from #nn.random<7, "w1", normal, 0.0, 0.1>
  %w2 = nn.parameter {nn.name = "w2"} : tensor<12x1x3x3xf32> from #nn.random<7, "w2", normal, 0.0, 0.1>
  %0 = nn.conv %x, %w1 {nn.name = "first", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<1x5x7x6xf32>, tensor<12x5x3x3xf32>) -> tensor<1x12x7x6xf32>
  %1 = nn.reshape %0 {nn.name = "split"} : (tensor<1x12x7x6xf32>) -> tensor<1x3x4x7x6xf32>
  %2 = nn.transpose %1 {nn.name = "shuffle", permutation = array<i64: 0, 2, 1, 3, 4>} : (tensor<1x3x4x7x6xf32>) -> tensor<1x4x3x7x6xf32>
  %3 = nn.reshape %2 {nn.name = "joined"} : (tensor<1x4x3x7x6xf32>) -> tensor<1x12x7x6xf32>
  %4 = nn.conv %3, %w2 {nn.name = "second", groups = 12 : i64, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<1x12x7x6xf32>, tensor<12x1x3x3xf32>) -> tensor<1x12x7x6xf32>
  nn.output %4 {nn.name = "y"} : tensor<1x12x7x6xf32>
  return
}

// -----

// Tests that views stay of what is exchanged otherwise, that a view stays which
// another kernel reads, and that a result stays which is read as it is made.
// CHECK-LABEL: soaprt.kernel @k0 "nn.relu
// CHECK: soaprt.launch "other" {{.*}}(%{{.*}} : !soaprt.buffer<1x3x4x7x6xf32, activations>) to(%{{.*}} : !soaprt.buffer<1x3x4x6x7xf32, activations>)
// CHECK: soaprt.launch "shuffle" {{.*}}(%{{.*}} : !soaprt.buffer<1x12x7x6xf32, activations>) to(%{{.*}} : !soaprt.buffer<1x12x7x6xf32, activations>)
// CHECK: soaprt.launch "read" {{.*}}(%{{.*}} : !soaprt.buffer<1x3x4x7x6xf32, activations>) to(%{{.*}} : !soaprt.buffer<1x4x3x7x6xf32, activations>)
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<1x12x7x6xf32>
  %0 = nn.relu %x {nn.name = "relu"} : tensor<1x12x7x6xf32>
  %1 = nn.reshape %0 {nn.name = "split"} : (tensor<1x12x7x6xf32>) -> tensor<1x3x4x7x6xf32>
  %2 = nn.transpose %1 {nn.name = "other", permutation = array<i64: 0, 1, 2, 4, 3>} : (tensor<1x3x4x7x6xf32>) -> tensor<1x3x4x6x7xf32>
  %3 = nn.reshape %2 {nn.name = "otherJoined"} : (tensor<1x3x4x6x7xf32>) -> tensor<1x12x6x7xf32>
  %4 = nn.transpose %1 {nn.name = "shuffle", permutation = array<i64: 0, 2, 1, 3, 4>} : (tensor<1x3x4x7x6xf32>) -> tensor<1x4x3x7x6xf32>
  %5 = nn.reshape %4 {nn.name = "joined"} : (tensor<1x4x3x7x6xf32>) -> tensor<1x12x7x6xf32>
  %6 = nn.exp %1 {nn.name = "exp"} : tensor<1x3x4x7x6xf32>
  %7 = nn.transpose %1 {nn.name = "read", permutation = array<i64: 0, 2, 1, 3, 4>} : (tensor<1x3x4x7x6xf32>) -> tensor<1x4x3x7x6xf32>
  %8 = nn.tanh %7 {nn.name = "tanh"} : tensor<1x4x3x7x6xf32>
  %9 = nn.reshape %7 {nn.name = "readJoined"} : (tensor<1x4x3x7x6xf32>) -> tensor<1x12x7x6xf32>
  nn.output %3 {nn.name = "a"} : tensor<1x12x6x7xf32>
  nn.output %5 {nn.name = "b"} : tensor<1x12x7x6xf32>
  nn.output %6 {nn.name = "c"} : tensor<1x3x4x7x6xf32>
  nn.output %8 {nn.name = "d"} : tensor<1x4x3x7x6xf32>
  nn.output %9 {nn.name = "e"} : tensor<1x12x7x6xf32>
  return
}
