// RUN: soap-opt %s --split-input-file --test-partition-spec -o /dev/null | FileCheck %s

// Tests that a table is split by rows, of one or of several dimensions: parts
// are summed, and a tile knows where it lies.
func.func @lookups(%x: tensor<6x4xf32>, %i: tensor<3x4xi64>, %p: tensor<5x2xi64>) {
  // CHECK-LABEL: elements: nn.gather_elements
  // CHECK-NEXT: loops: d0=3 attribute d1=4 attribute v=6 attribute reduction
  // CHECK-NEXT: operand 0: (v, d1)
  // CHECK-NEXT: operand 1: (d0, d1)
  // CHECK-NEXT: result 0: (d0, d1) sum
  // CHECK: task 1: reads [3:6, 0:4] [0:3, 0:4] writes [0:3, 0:4]
  // CHECK: nn.gather_elements {{.*}}base = 3 : i64{{.*}}table_size = 6 : i64
  %0 = nn.gather_elements %x, %i {nn.name = "elements", axis = 0 : i64, test.degrees = {v = 2}} : (tensor<6x4xf32>, tensor<3x4xi64>) -> tensor<3x4xf32>
  // CHECK-LABEL: points: nn.gather_nd
  // CHECK-NEXT: loops: d0=5 attribute v0=6 attribute reduction v1=4 attribute reduction
  // CHECK-NEXT: operand 0: (v0, v1)
  // CHECK-NEXT: operand 1: (d0, [0,1])
  // CHECK-NEXT: result 0: (d0) sum
  // CHECK: task 1: reads [0:6, 2:4] [0:5, 0:2] writes [0:5]
  // CHECK: nn.gather_nd {{.*}}bases = array<i64: 0, 2>{{.*}}table_sizes = array<i64: 6, 4>
  %1 = nn.gather_nd %x, %p {nn.name = "points", test.degrees = {v1 = 2}} : (tensor<6x4xf32>, tensor<5x2xi64>) -> tensor<5xf32>
  return
}

// -----

// Tests that a store is split by rows, and that with a reduction its updates
// are, too: the data are in the first part only.
func.func @stores(%x: tensor<6x4xf32>, %i: tensor<3x4xi64>, %u: tensor<3x4xf32>, %p: tensor<5x1xi64>, %v: tensor<5x4xf32>) {
  // CHECK-LABEL: store: nn.scatter_elements
  // CHECK-NEXT: loops: d0=6 attribute d1=4 attribute
  // CHECK-NEXT: operand 0: ([0,2], d1)
  // CHECK-NEXT: operand 1: ([0,2], d1)
  // CHECK-NEXT: operand 2: (d0, d1)
  // CHECK-NEXT: result 0: (d0, d1)
  // CHECK: task 1: reads [0:3, 0:4] [0:3, 0:4] [3:6, 0:4] writes [3:6, 0:4]
  // CHECK: nn.scatter_elements {{.*}}base = 3 : i64{{.*}}table_size = 6 : i64
  %0 = nn.scatter_elements %i, %u into %x {nn.name = "store", axis = 0 : i64, test.degrees = {d0 = 2}} : (tensor<3x4xi64>, tensor<3x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  // CHECK-LABEL: add: nn.scatter_nd
  // CHECK-NEXT: loops: d0=6 attribute d1=4 attribute u0=5 attribute reduction
  // CHECK-NEXT: operand 0: (u0, [0,0])
  // CHECK-NEXT: operand 1: (u0, d1)
  // CHECK-NEXT: operand 2: (d0, d1) first only
  // CHECK-NEXT: result 0: (d0, d1) sum
  // CHECK: task 1: reads [2:5, 0:1] [2:5, 0:4] none writes [0:6, 0:4]
  // CHECK: nn.scatter_nd %{{[^ ]*}}, %{{[^ ]*}} {nn.name = "add", reduction = #nn.reduce_kind<sum>}
  %1 = nn.scatter_nd %p, %v into %x {nn.name = "add", reduction = #nn.reduce_kind<sum>, test.degrees = {u0 = 2}} : (tensor<5x1xi64>, tensor<5x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  return
}

// -----

// Tests that a tile without updates is its data.
func.func @untouched(%x: tensor<6x4xf32>, %i: tensor<6x2xi64>, %u: tensor<6x2xf32>) {
  // CHECK-LABEL: store: nn.scatter_elements
  // CHECK-NEXT: loops: d0=6 attribute d1=4 attribute
  // CHECK: task 1: reads none none [0:6, 2:4] writes [0:6, 2:4]
  // CHECK: nn.slice {{.*}} {nn.name = "store", starts = array<i64: 0, 0>, steps = array<i64: 1, 1>}
  %0 = nn.scatter_elements %i, %u into %x {nn.name = "store", axis = 0 : i64, test.degrees = {d1 = 2}} : (tensor<6x2xi64>, tensor<6x2xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  return
}

// -----

// Tests that what needs all elements along an axis is split along the others.
func.func @orders(%x: tensor<6x4xf32>, %i: tensor<6xi64>, %v: tensor<2xf32>) {
  // CHECK-LABEL: max: nn.arg_max
  // CHECK-NEXT: loops: d0=6 attribute
  // CHECK-NEXT: operand 0: (d0, [0,3])
  // CHECK-NEXT: result 0: (d0)
  %0 = nn.arg_max %x {nn.name = "max", axis = 1 : i64, keepdims = false} : (tensor<6x4xf32>) -> tensor<6xi64>
  // CHECK-LABEL: min: nn.arg_min
  // CHECK-NEXT: loops: d1=4 attribute
  // CHECK-NEXT: operand 0: ([0,5], d1)
  // CHECK-NEXT: result 0: ([0,0], d1)
  %1 = nn.arg_min %x {nn.name = "min", axis = 0 : i64, keepdims = true} : (tensor<6x4xf32>) -> tensor<1x4xi64>
  // CHECK-LABEL: top: nn.top_k
  // CHECK-NEXT: loops: d0=6 attribute
  // CHECK-NEXT: operand 0: (d0, [0,3])
  // CHECK-NEXT: result 0: (d0, [0,1])
  // CHECK-NEXT: result 1: (d0, [0,1])
  %2:2 = nn.top_k %x {nn.name = "top", axis = 1 : i64} : (tensor<6x4xf32>) -> (tensor<6x2xf32>, tensor<6x2xi64>)
  // CHECK-LABEL: sums: nn.cum_sum
  // CHECK-NEXT: loops: d0=6 attribute
  // CHECK-NEXT: operand 0: (d0, [0,3])
  // CHECK-NEXT: result 0: (d0, [0,3])
  %3 = nn.cum_sum %x {nn.name = "sums", axis = 1 : i64} : tensor<6x4xf32>
  // CHECK-LABEL: triangle: nn.trilu
  // CHECK-NEXT: loops: d0=6 attribute d1=4 attribute
  // CHECK: task 1: reads [3:6, 0:4] writes [3:6, 0:4]
  // CHECK: nn.trilu {{.*}}diagonal = 2 : i64
  %4 = nn.trilu %x {nn.name = "triangle", diagonal = -1 : i64, test.degrees = {d0 = 2}} : tensor<6x4xf32>
  // CHECK-LABEL: hot: nn.one_hot
  // CHECK-NEXT: loops: d0=6 attribute d1=5 attribute
  // CHECK-NEXT: operand 0: (d0)
  // CHECK-NEXT: operand 1: ([0,1])
  // CHECK-NEXT: result 0: (d0, d1)
  // CHECK: nn.one_hot {{.*}}base = 2 : i64{{.*}}table_size = 5 : i64
  %5 = nn.one_hot %i, %v {nn.name = "hot", axis = 1 : i64, test.degrees = {d1 = 2}} : (tensor<6xi64>, tensor<2xf32>) -> tensor<6x5xf32>
  // CHECK-LABEL: cubic: nn.resize
  // CHECK-NEXT: loops: d0=6 attribute d1=8 attribute
  // CHECK-NEXT: operand 0: (d0, floor((d1*2+[-5,7])/4))
  %6 = nn.resize %x {nn.name = "cubic", mode = #nn.resize_mode<cubic>, numerators = array<i64: 1, 2>, offsets = array<i64: 0, -1>, denominators = array<i64: 1, 4>} : (tensor<6x4xf32>) -> tensor<6x8xf32>
  return
}
