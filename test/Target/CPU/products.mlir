// RUN: soap-opt %s --pass-pipeline='builtin.module(native-build-kernels,builtin.module(native-kernels-to-llvm{level=loops}))' -mlir-print-local-scope | FileCheck %s
// RUN: soap-opt %s --pass-pipeline='builtin.module(native-build-kernels,builtin.module(native-kernels-to-llvm))' -mlir-print-local-scope | FileCheck %s --check-prefix=LLVM

func.func @main(%x: tensor<5x2x8xf32>, %w: tensor<1x4x16x8xf32>, %r: tensor<1x4x16x16xf32>, %b: tensor<1x4x16xf32>,
                %s: tensor<1x2x16xf32>, %y: tensor<5x1x2x16xf32>,
                %x64: tensor<5x2x8xf64>, %w64: tensor<1x4x16x8xf64>, %r64: tensor<1x4x16x16xf64>, %b64: tensor<1x4x16xf64>,
                %s64: tensor<1x2x16xf64>) {
  %0:2 = nn.lstm %x, %w, %r, %b, %s, %s {nn.name = "forward"}
    : (tensor<5x2x8xf32>, tensor<1x4x16x8xf32>, tensor<1x4x16x16xf32>, tensor<1x4x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
    -> (tensor<5x1x2x16xf32>, tensor<1x2x16xf32>)
  %1:4 = nn.lstm_backward %x, %w, %r, %b, %s, %s, %y, %y, %s {nn.name = "backward"}
    : (tensor<5x2x8xf32>, tensor<1x4x16x8xf32>, tensor<1x4x16x16xf32>, tensor<1x4x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>,
       tensor<5x1x2x16xf32>, tensor<5x1x2x16xf32>, tensor<1x2x16xf32>)
    -> (tensor<1x2x5x4x16xf32>, tensor<1x2x5x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
  %2:2 = nn.lstm %x64, %w64, %r64, %b64, %s64, %s64 {nn.name = "double"}
    : (tensor<5x2x8xf64>, tensor<1x4x16x8xf64>, tensor<1x4x16x16xf64>, tensor<1x4x16xf64>, tensor<1x2x16xf64>, tensor<1x2x16xf64>)
    -> (tensor<5x1x2x16xf64>, tensor<1x2x16xf64>)
  return
}

// The products with all inputs are one: ten rows (steps and samples), 64
// columns (gates and units), of which a row of the weight [gate, unit, k] is one
// column. Those with the states are one per step.
// CHECK-LABEL: func.func @soap_native_0_lstm
// CHECK-SAME: %[[SERVICES:[a-z0-9]+]]: !llvm.ptr)
// CHECK: %[[PRODUCT:.*]] = llvm.load %[[SERVICES]]
// CHECK: llvm.call %[[PRODUCT]](%c10_i64, %c64_i64, %c8_i64, %{{[0-9]+}}, %c8_i64, %c1_i64, %{{[0-9]+}}, %c1_i64, %c8_i64, %{{[0-9]+}}, %c64_i64) : !llvm.ptr
// CHECK: scf.for
// CHECK: llvm.call %{{[0-9]+}}(%c2_i64, %c64_i64, %c16_i64, %{{[0-9]+}}, %c16_i64, %c1_i64, %{{[0-9]+}}, %c1_i64, %c16_i64, %{{[0-9]+}}, %c64_i64) : !llvm.ptr
// CHECK-NOT: llvm.call

// Inputs, states, and in each step back the gradients of all gates, whose rows
// are 5 * 64 elements apart.
// CHECK-LABEL: func.func @soap_native_1_lstm_backward
// CHECK-COUNT-2: llvm.call
// CHECK: scf.for
// CHECK: llvm.call %{{[0-9]+}}(%c2_i64, %c16_i64, %c64_i64, %{{[0-9]+}}, %c320_i64, %c1_i64, %{{[0-9]+}}, %c16_i64, %c1_i64, %{{[0-9]+}}, %c16_i64) : !llvm.ptr
// CHECK-NOT: llvm.call

// Other types are computed by loops.
// CHECK-LABEL: func.func @soap_native_2_lstm
// CHECK-NOT: llvm.call

// The services lie behind the eight buffers.
// LLVM-LABEL: llvm.func @soap_native_0_lstm(
// LLVM: llvm.getelementptr %{{.*}}[8] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
