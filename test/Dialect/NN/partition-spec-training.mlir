// RUN: soap-opt %s --test-partition-spec -o /dev/null | FileCheck %s

// Tests that updates and writes are split like the parameter, along all of its
// dimensions, and that scalars are whole on every device.
func.func @main() {
  // CHECK-LABEL: w: nn.parameter
  %w = nn.parameter {nn.name = "w"} : tensor<5x6xf32> from #nn.splat<1.0 : f32>
  %g = nn.input {nn.name = "g"} : tensor<5x6xf32>
  // CHECK-LABEL: schedule: nn.schedule
  // CHECK-NEXT: loops:{{$}}
  // CHECK-NEXT: result 0: ()
  // CHECK-NEXT: result 1: ()
  // CHECK-NEXT: result 2: ()
  // CHECK-NEXT: result 3: ()
  %n, %rate, %c1, %c2 = nn.schedule {nn.name = "schedule", kind = 2 : i32, rate = 1.0e-01 : f64} : () -> (tensor<i64>, tensor<f32>, tensor<f32>, tensor<f32>)
  // CHECK-LABEL: sgd: nn.sgd
  // CHECK-NEXT: loops: d0=5 {{[a-z]+}} d1=6
  // CHECK-NEXT: operand 0: (d0, d1)
  // CHECK-NEXT: operand 1: (d0, d1)
  // CHECK-NEXT: operand 2: ()
  // CHECK-NEXT: result 0: (d0, d1)
  // CHECK-NEXT: task 0: reads [0:2, 0:6] [0:2, 0:6] [] writes [0:2, 0:6] flops 48 bytes
  // CHECK: nn.sgd {{.*}} {nn.name = "sgd", weight_decay = 5.000000e-01 : f64} : (tensor<2x6xf32>, tensor<2x6xf32>, tensor<f32>) -> tensor<2x6xf32>
  // CHECK: task 1: reads [2:5, 0:6] [2:5, 0:6] [] writes [2:5, 0:6] flops 72 bytes
  %0 = nn.sgd %w, %g, %rate {nn.name = "sgd", weight_decay = 5.0e-01 : f64, test.degrees = {d0 = 2}} : (tensor<5x6xf32>, tensor<5x6xf32>, tensor<f32>) -> tensor<5x6xf32>
  // Every part of a table takes the slices of all samples, of its own columns.
  // CHECK-LABEL: sparse: nn.sparse_sgd
  // CHECK-NEXT: loops: d0=5 {{[a-z]+}} d1=6
  // CHECK-NEXT: operand 0: (d0, d1)
  // CHECK-NEXT: operand 1: ([0,3], [0,2], [0,0])
  // CHECK-NEXT: operand 2: ([0,3], [0,2], d1)
  // CHECK-NEXT: operand 3: ()
  // CHECK-NEXT: result 0: (d0, d1)
  // CHECK-NEXT: task 0: reads [0:2, 0:3] [0:4, 0:3, 0:1] [0:4, 0:3, 0:3] [] writes [0:2, 0:3] flops 72 bytes 288
  // CHECK: nn.sparse_sgd {{.*}} {bases = array<i64: 0>, nn.name = "sparse", table_sizes = array<i64: 5>} : (tensor<2x3xf32>, tensor<4x3x1xi64>, tensor<4x3x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  // CHECK: task 3: reads [2:5, 3:6] [0:4, 0:3, 0:1] [0:4, 0:3, 3:6] [] writes [2:5, 3:6] flops 72 bytes 312
  // CHECK: nn.sparse_sgd {{.*}} {bases = array<i64: 2>, nn.name = "sparse", table_sizes = array<i64: 5>}
  %i = nn.input {nn.name = "i"} : tensor<4x3x1xi64>
  %slices = nn.input {nn.name = "slices"} : tensor<4x3x6xf32>
  %sparse = nn.sparse_sgd %w, %i, %slices, %rate {nn.name = "sparse", test.degrees = {d0 = 2, d1 = 2}} : (tensor<5x6xf32>, tensor<4x3x1xi64>, tensor<4x3x6xf32>, tensor<f32>) -> tensor<5x6xf32>
  // CHECK-LABEL: momentum: nn.momentum
  // CHECK-NEXT: loops: d0=5 {{[a-z]+}} d1=6
  // CHECK-NEXT: operand 0: (d0, d1)
  // CHECK-NEXT: operand 1: (d0, d1)
  // CHECK-NEXT: operand 2: (d0, d1)
  // CHECK-NEXT: operand 3: ()
  // CHECK-NEXT: operand 4: ()
  // CHECK-NEXT: result 0: (d0, d1)
  // CHECK-NEXT: result 1: (d0, d1)
  // CHECK: nn.momentum {{.*}} {momentum = 9.000000e-01 : f64, nn.name = "momentum"} : (tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>, tensor<f32>, tensor<f32>) -> (tensor<5x3xf32>, tensor<5x3xf32>)
  %1:2 = nn.momentum %0, %g, %g, %rate, %c1 {nn.name = "momentum", momentum = 9.0e-01 : f64, test.degrees = {d1 = 2}} : (tensor<5x6xf32>, tensor<5x6xf32>, tensor<5x6xf32>, tensor<f32>, tensor<f32>) -> (tensor<5x6xf32>, tensor<5x6xf32>)
  // CHECK-LABEL: adam: nn.adam
  // CHECK-NEXT: loops: d0=5 {{[a-z]+}} d1=6
  // CHECK-NEXT: operand 0: (d0, d1)
  // CHECK-NEXT: operand 1: (d0, d1)
  // CHECK-NEXT: operand 2: (d0, d1)
  // CHECK-NEXT: operand 3: (d0, d1)
  // CHECK-NEXT: operand 4: ()
  // CHECK-NEXT: operand 5: ()
  // CHECK-NEXT: operand 6: ()
  // CHECK-NEXT: result 0: (d0, d1)
  // CHECK-NEXT: result 1: (d0, d1)
  // CHECK-NEXT: result 2: (d0, d1)
  %2:3 = nn.adam %1#0, %g, %g, %g, %rate, %c1, %c2 {nn.name = "adam"} : (tensor<5x6xf32>, tensor<5x6xf32>, tensor<5x6xf32>, tensor<5x6xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<5x6xf32>, tensor<5x6xf32>, tensor<5x6xf32>)
  // CHECK-LABEL: w.write: nn.write
  // CHECK-NEXT: loops: d0=5 {{[a-z]+}} d1=6
  // CHECK-NEXT: operand 0: (d0, d1)
  // CHECK-NEXT: operand 1: (d0, d1)
  // CHECK-NEXT: result 0: (d0, d1)
  // CHECK: task 1: reads [0:2, 3:6] [0:2, 3:6] writes [0:2, 3:6] flops 0 bytes 0
  // CHECK: nn.write {{.*}} {nn.name = "w.write"} : tensor<2x3xf32>
  %3 = nn.write %2#0, %w {nn.name = "w.write", test.degrees = {d0 = 2, d1 = 2}} : tensor<5x6xf32>
  // A tile knows where it lies of the whole, also of a part of it.
  // CHECK-LABEL: drop: nn.dropout
  // CHECK-NEXT: loops: d0=5 {{[a-z]+}} d1=6
  // CHECK-NEXT: operand 0: (d0, d1)
  // CHECK-NEXT: operand 1: ()
  // CHECK-NEXT: result 0: (d0, d1)
  // CHECK: task 1: reads [0:2, 3:6] [] writes [0:2, 3:6] flops 480 bytes
  // CHECK: nn.dropout {{.*}} {global_shape = array<i64: 5, 6>, nn.name = "drop", offsets = array<i64: 0, 3>, ratio = 5.000000e-01 : f64, seed = 3 : i64} : tensor<2x3xf32>, tensor<i64>
  %4 = nn.dropout %3, %n {nn.name = "drop", ratio = 0.5 : f64, seed = 3 : i64, test.degrees = {d0 = 2, d1 = 2}} : tensor<5x6xf32>, tensor<i64>
  // CHECK-LABEL: part: nn.dropout
  // CHECK: nn.dropout {{.*}} {global_shape = array<i64: 9, 6>, nn.name = "part", offsets = array<i64: 6, 0>, ratio = 5.000000e-01 : f64} : tensor<3x6xf32>, tensor<i64>
  %5 = nn.dropout %4, %n {nn.name = "part", ratio = 0.5 : f64, offsets = array<i64: 4, 0>, global_shape = array<i64: 9, 6>, test.degrees = {d0 = 2}} : tensor<5x6xf32>, tensor<i64>
  return
}



// Tests that a sum of parts has a loop that indexes nothing, along which it takes
// its operands as they are, and that a task is the sum of one part.
func.func @parts() {
  %a = nn.input {nn.name = "a"} : tensor<6x3xf32>
  // CHECK-LABEL: sum: nn.add
  // CHECK-NEXT: loops: d0=6 {{[a-z]+}} d1=3 {{[a-z]+}} part0=8 {{[a-z]+}}
  // CHECK-NEXT: operand 0: (d0, d1) unreduced
  // CHECK-NEXT: operand 1: (d0, d1) unreduced
  // CHECK-NEXT: result 0: (d0, d1) sum
  // CHECK: task 3: reads [3:6, 0:3] [3:6, 0:3] writes [3:6, 0:3]
  // CHECK: nn.add {{.*}} {nn.name = "sum"} : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %0 = nn.add %a, %a {nn.name = "sum", nn.parts = array<i64: 8>, test.degrees = {d0 = 2, part0 = 2}} : (tensor<6x3xf32>, tensor<6x3xf32>) -> tensor<6x3xf32>
  return
}
