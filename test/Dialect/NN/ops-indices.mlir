// Tests that look-ups and stores by element, places and orders survive a round
// trip, in their own and in the generic form.
// RUN: soap-opt %s | soap-opt | FileCheck %s
// RUN: soap-opt %s --mlir-print-op-generic | soap-opt | FileCheck %s

// CHECK-LABEL: func.func @lookups
func.func @lookups(%x: tensor<4x5x3xf32>, %i: tensor<4x2x3xi64>, %p: tensor<6x2xi32>, %b: tensor<4x2x1xi64>) {
  // CHECK: nn.gather_elements %{{.*}}, %{{.*}} {axis = 1 : i64, nn.name = "elements"} : (tensor<4x5x3xf32>, tensor<4x2x3xi64>) -> tensor<4x2x3xf32>
  %0 = nn.gather_elements %x, %i {nn.name = "elements", axis = 1 : i64} : (tensor<4x5x3xf32>, tensor<4x2x3xi64>) -> tensor<4x2x3xf32>
  // CHECK: nn.gather_elements %{{.*}}, %{{.*}} {axis = 1 : i64, base = 5 : i64, nn.name = "part", table_size = 12 : i64}
  %1 = nn.gather_elements %x, %i {nn.name = "part", axis = 1 : i64, base = 5 : i64, table_size = 12 : i64} : (tensor<4x5x3xf32>, tensor<4x2x3xi64>) -> tensor<4x2x3xf32>
  // CHECK: nn.gather_nd %{{.*}}, %{{.*}} {nn.name = "points"} : (tensor<4x5x3xf32>, tensor<6x2xi32>) -> tensor<6x3xf32>
  %2 = nn.gather_nd %x, %p {nn.name = "points"} : (tensor<4x5x3xf32>, tensor<6x2xi32>) -> tensor<6x3xf32>
  // CHECK: nn.gather_nd %{{.*}}, %{{.*}} {bases = array<i64: 2>, batch_dims = 1 : i64, nn.name = "batched", table_sizes = array<i64: 9>} : (tensor<4x5x3xf32>, tensor<4x2x1xi64>) -> tensor<4x2x3xf32>
  %3 = nn.gather_nd %x, %b {nn.name = "batched", batch_dims = 1 : i64, bases = array<i64: 2>, table_sizes = array<i64: 9>} : (tensor<4x5x3xf32>, tensor<4x2x1xi64>) -> tensor<4x2x3xf32>
  return
}

// CHECK-LABEL: func.func @stores
func.func @stores(%x: tensor<4x5xf32>, %i: tensor<4x2xi64>, %u: tensor<4x2xf32>, %p: tensor<6x1xi32>, %v: tensor<6x5xf32>) {
  // CHECK: nn.scatter_elements %{{.*}}, %{{.*}} into %{{.*}} {axis = 1 : i64, nn.name = "store"} : (tensor<4x2xi64>, tensor<4x2xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  %0 = nn.scatter_elements %i, %u into %x {nn.name = "store", axis = 1 : i64} : (tensor<4x2xi64>, tensor<4x2xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  // CHECK: nn.scatter_elements %{{.*}}, %{{.*}} {axis = 1 : i64, base = 5 : i64, nn.name = "part", reduction = #nn.reduce_kind<max>, table_size = 12 : i64} : (tensor<4x2xi64>, tensor<4x2xf32>) -> tensor<4x5xf32>
  %1 = nn.scatter_elements %i, %u {nn.name = "part", axis = 1 : i64, reduction = #nn.reduce_kind<max>, base = 5 : i64, table_size = 12 : i64} : (tensor<4x2xi64>, tensor<4x2xf32>) -> tensor<4x5xf32>
  // CHECK: nn.scatter_nd %{{.*}}, %{{.*}} into %{{.*}} {nn.name = "rows", reduction = #nn.reduce_kind<sum>} : (tensor<6x1xi32>, tensor<6x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  %2 = nn.scatter_nd %p, %v into %x {nn.name = "rows", reduction = #nn.reduce_kind<sum>} : (tensor<6x1xi32>, tensor<6x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  // CHECK: nn.scatter_nd %{{.*}}, %{{.*}} {bases = array<i64: 1>, nn.name = "tile", table_sizes = array<i64: 8>} : (tensor<6x1xi32>, tensor<6x5xf32>) -> tensor<4x5xf32>
  %3 = nn.scatter_nd %p, %v {nn.name = "tile", bases = array<i64: 1>, table_sizes = array<i64: 8>} : (tensor<6x1xi32>, tensor<6x5xf32>) -> tensor<4x5xf32>
  return
}

// CHECK-LABEL: func.func @orders
func.func @orders(%x: tensor<4x5xf32>, %i: tensor<4xi32>, %v: tensor<2xf32>) {
  // CHECK: nn.arg_max %{{.*}} {axis = 1 : i64, keepdims = false, nn.name = "class", select_last} : (tensor<4x5xf32>) -> tensor<4xi64>
  %0 = nn.arg_max %x {nn.name = "class", axis = 1 : i64, keepdims = false, select_last} : (tensor<4x5xf32>) -> tensor<4xi64>
  // CHECK: nn.arg_min %{{.*}} {axis = 0 : i64, keepdims = true, nn.name = "least"} : (tensor<4x5xf32>) -> tensor<1x5xi64>
  %1 = nn.arg_min %x {nn.name = "least", axis = 0 : i64, keepdims = true} : (tensor<4x5xf32>) -> tensor<1x5xi64>
  // CHECK: nn.top_k %{{.*}} {axis = 1 : i64, nn.name = "beams", smallest} : (tensor<4x5xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)
  %2:2 = nn.top_k %x {nn.name = "beams", axis = 1 : i64, smallest} : (tensor<4x5xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)
  // CHECK: nn.cum_sum %{{.*}} {axis = 1 : i64, exclusive, nn.name = "sums", reverse} : tensor<4x5xf32>
  %3 = nn.cum_sum %x {nn.name = "sums", axis = 1 : i64, exclusive, reverse} : tensor<4x5xf32>
  // CHECK: nn.trilu %{{.*}} {diagonal = -1 : i64, nn.name = "triangle", upper} : tensor<4x5xf32>
  %4 = nn.trilu %x {nn.name = "triangle", diagonal = -1 : i64, upper} : tensor<4x5xf32>
  // CHECK: nn.one_hot %{{.*}}, %{{.*}} {axis = 1 : i64, base = 3 : i64, nn.name = "hot", table_size = 9 : i64} : (tensor<4xi32>, tensor<2xf32>) -> tensor<4x6xf32>
  %5 = nn.one_hot %i, %v {nn.name = "hot", axis = 1 : i64, base = 3 : i64, table_size = 9 : i64} : (tensor<4xi32>, tensor<2xf32>) -> tensor<4x6xf32>
  // CHECK: nn.resize %{{.*}} {cubic_a = -5.000000e-01 : f32, {{.*}}exclude_outside, mode = #nn.resize_mode<cubic>
  %6 = nn.resize %x {nn.name = "cubic", mode = #nn.resize_mode<cubic>, numerators = array<i64: 1, 1>, offsets = array<i64: 0, 0>, denominators = array<i64: 1, 2>, cubic_a = -0.5 : f32, exclude_outside} : (tensor<4x5xf32>) -> tensor<4x10xf32>
  return
}
