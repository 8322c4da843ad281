// RUN: soap-opt %s --split-input-file --soap-parallelize="devices=1 fuse=true" --soap-lower="layouts=true followers=true target=cuda" --soaprt-verify-programs | FileCheck %s
// RUN: soap-opt %s --split-input-file --soap-parallelize="devices=1 fuse=true" --soap-lower="layouts=true followers=true" | FileCheck %s --check-prefix=APART
// RUN: not soap-opt %s --split-input-file --soaprt-join-kernels=target=nothing -o - 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: error: expected the name of a target

// The CPU's library has softmax and layer norms of its own.
// APART-NOT: " & "
// APART: soaprt.launch "masked"
// APART: soaprt.launch "weights"

// Tests that what scales and masks a softmax is part of it, with operands that are
// broadcast: its row stands where the softmax stood, and what lay between has neither
// buffer nor tile.
// CHECK: soaprt.kernel [[KERNEL:@k[_0-9]+]] "nn.fused {{.*}} & nn.softmax {{.*}}" native @kernels::@[[FUNCTION:soap_native_[0-9]+_fused_softmax]] index {{[0-9]+}} sizes [] (%{{.*}}: tensor<2x4x8x64xf32>, %{{.*}}: tensor<f32>, %{{.*}}: tensor<2x1x1x64xf32>) attributes {flops = {{.*}}} {
// CHECK-NEXT: nn.fused
// CHECK: %[[W:.*]] = nn.softmax
// CHECK-NEXT: soaprt.yield %[[W]]
// CHECK: soaprt.launch "weights" [[KERNEL]](%{{.*}}, %{{.*}}, %{{.*}} : {{.*}}) to(%{{.*}} : !soaprt.buffer<2x4x8x64xf32, activations>)
// CHECK-NOT: soaprt.launch
// CHECK-NOT: soaprt.tile "masked"
// CHECK: func.func @[[FUNCTION]](%{{.*}}: memref<2x4x8x64xf32>{{.*}}, %{{.*}}: memref<f32>{{.*}}, %{{.*}}: memref<2x1x1x64xf32>{{.*}}, %{{.*}}: memref<2x4x8x64xf32>
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<2x4x8x64xf32>
  %s = nn.input {nn.name = "s"} : tensor<f32>
  %m = nn.input {nn.name = "m"} : tensor<2x1x1x64xf32>
  %0 = nn.mul %x, %s {nn.name = "scaled"} : (tensor<2x4x8x64xf32>, tensor<f32>) -> tensor<2x4x8x64xf32>
  %1 = nn.add %0, %m {nn.name = "masked"} : (tensor<2x4x8x64xf32>, tensor<2x1x1x64xf32>) -> tensor<2x4x8x64xf32>
  %2 = nn.softmax %1 {nn.name = "weights", axis = 3 : i64} : tensor<2x4x8x64xf32>
  nn.output %2 {nn.name = "y"} : tensor<2x4x8x64xf32>
  return
}

// -----

// Tests a residual sum that the next residual sum reads, too: it is a result, and the
// layer norm is none. The second layer norm takes its sum in the same way, and both
// launches share a kernel with what reads them.
// CHECK-LABEL: "nn.add {{.*}} & nn.layer_norm {{.*}} & nn.cast
// CHECK: %[[SUM:.*]] = nn.add
// CHECK-NEXT: %[[NORM:.*]] = nn.layer_norm %[[SUM]]
// CHECK-NEXT: %[[CAST:.*]] = nn.cast %[[NORM]]
// CHECK-NEXT: soaprt.yield %[[SUM]], %[[CAST]] : tensor<4x64xf32>, tensor<4x64xbf16>
// CHECK: soaprt.launch "norm1" {{.*}} to(%[[KEPT:[0-9]+]], %{{.*}} : !soaprt.buffer<4x64xf32, activations>, !soaprt.buffer<4x64xbf16, activations>)
// CHECK-NEXT: soaprt.launch "product"
// CHECK-NEXT: soaprt.launch "norm2" {{.*}}(%[[KEPT]], {{.*}} to(%{{.*}}, %{{.*}} : !soaprt.buffer<4x64xf32, activations>, !soaprt.buffer<4x64xbf16, activations>)
// CHECK-NOT: soaprt.launch
// CHECK-NOT: soaprt.tile "norm1"
// CHECK: soaprt.tile "sum1" : 0 of tensor<4x64xf32> at [0, 0] in %[[KEPT]] :
// CHECK-NOT: soaprt.tile "norm1"
func.func @main() {
  %a = nn.input {nn.name = "a"} : tensor<4x64xf32>
  %b = nn.input {nn.name = "b"} : tensor<4x64xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<64x64xbf16> from #nn.random<7, "w", normal, 0.0, 0.1>
  %g = nn.parameter {nn.name = "g"} : tensor<64xf32> from #nn.random<7, "g", normal, 0.0, 0.1>
  %0 = nn.add %a, %b {nn.name = "sum1"} : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  %1 = nn.layer_norm %0, %g {nn.name = "norm1", axis = 1 : i64, epsilon = 1.0e-5 : f32} : (tensor<4x64xf32>, tensor<64xf32>) -> tensor<4x64xf32>
  %2 = nn.cast %1 {nn.name = "cast1"} : (tensor<4x64xf32>) -> tensor<4x64xbf16>
  %3 = nn.matmul %2, %w {nn.name = "product"} : (tensor<4x64xbf16>, tensor<64x64xbf16>) -> tensor<4x64xf32>
  %4 = nn.add %0, %3 {nn.name = "sum2"} : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  %5 = nn.layer_norm %4, %g {nn.name = "norm2", axis = 1 : i64, epsilon = 1.0e-5 : f32} : (tensor<4x64xf32>, tensor<64xf32>) -> tensor<4x64xf32>
  %6 = nn.cast %5 {nn.name = "cast2"} : (tensor<4x64xf32>) -> tensor<4x64xbf16>
  nn.output %4 {nn.name = "y"} : tensor<4x64xf32>
  nn.output %6 {nn.name = "z"} : tensor<4x64xbf16>
  return
}

// -----

// Tests that a launch keeps off where another row has to read its result before the
// second one has all that it reads: a product of the sum is added to the sum. What
// adds it is the softmax's.
// CHECK-LABEL: "nn.sub {{.*}} & nn.softmax
// CHECK: soaprt.launch "sum"
// CHECK-NEXT: soaprt.launch "product"
// CHECK-NEXT: soaprt.launch "weights"
// CHECK-NOT: soaprt.launch
func.func @main() {
  %a = nn.input {nn.name = "a"} : tensor<4x64xf32>
  %b = nn.input {nn.name = "b"} : tensor<4x64xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<64x64xf32> from #nn.random<7, "w", normal, 0.0, 0.1>
  %0 = nn.add %a, %b {nn.name = "sum"} : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  %1 = nn.matmul %0, %w {nn.name = "product"} : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  %2 = nn.sub %0, %1 {nn.name = "difference"} : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  %3 = nn.softmax %2 {nn.name = "weights", axis = 1 : i64} : tensor<4x64xf32>
  nn.output %3 {nn.name = "y"} : tensor<4x64xf32>
  return
}

// -----

// Tests that a result which is read twice by the second launch is no buffer, and a
// chain behind a row of a sum and one in front of it.
// CHECK-LABEL: "nn.sigmoid {{.*}} & nn.reduce {{.*}} & nn.fused
// CHECK: soaprt.launch "mean" {{.*}}(%{{[0-9]+}} : !soaprt.buffer<4x64xf32, activations>) to(%{{[0-9]+}} : !soaprt.buffer<4x64xf32, activations>)
// CHECK-NOT: soaprt.launch
func.func @main() {
  %a = nn.input {nn.name = "a"} : tensor<4x64xf32>
  %0 = nn.sigmoid %a {nn.name = "gate"} : tensor<4x64xf32>
  %1 = nn.reduce %0 {nn.name = "mean", kind = #nn.reduce_kind<sum>, axes = array<i64: 1>, keepdims = true, scale = 0.015625 : f32} : (tensor<4x64xf32>) -> tensor<4x1xf32>
  %2 = nn.sub %0, %1 {nn.name = "less"} : (tensor<4x64xf32>, tensor<4x1xf32>) -> tensor<4x64xf32>
  %3 = nn.mul %2, %0 {nn.name = "again"} : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  nn.output %3 {nn.name = "y"} : tensor<4x64xf32>
  return
}

// -----

// Tests what does not pay: rows that are too long for registers, and a transposition,
// which has other rows than the softmax.
// CHECK-LABEL: soaprt.input @in0 "a" : tensor<4x20000xf32>
// CHECK: soaprt.launch "gate"
// CHECK-NEXT: soaprt.launch "long"
// CHECK-NEXT: soaprt.launch "turned"
// CHECK-NEXT: soaprt.launch "last"
// CHECK-NOT: soaprt.launch
func.func @main() {
  %a = nn.input {nn.name = "a"} : tensor<4x20000xf32>
  %0 = nn.sigmoid %a {nn.name = "gate"} : tensor<4x20000xf32>
  %1 = nn.softmax %0 {nn.name = "long", axis = 1 : i64} : tensor<4x20000xf32>
  %2 = nn.transpose %1 {nn.name = "turned", permutation = array<i64: 1, 0>} : (tensor<4x20000xf32>) -> tensor<20000x4xf32>
  %3 = nn.relu %2 {nn.name = "last"} : tensor<20000x4xf32>
  nn.output %3 {nn.name = "y"} : tensor<20000x4xf32>
  return
}
