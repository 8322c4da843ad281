// RUN: soap-opt %s -convert-nn-to-linalg -canonicalize -split-input-file -mlir-print-local-scope | FileCheck %s

// Tests that directions with equal activations are one loop, in which the
// second one takes its steps from the last to the first.
// CHECK-LABEL: func @directions
// CHECK: scf.for %[[D:.*]] = %c0 to %c2
// CHECK: scf.for %[[T:.*]] = %c0 to %c5
// CHECK-DAG: %[[SECOND:.*]] = arith.cmpi eq, %[[D]], %c1
// CHECK-DAG: %[[BACK:.*]] = arith.subi %c4, %[[T]]
// CHECK: arith.select %[[SECOND]], %[[BACK]], %[[T]]
// CHECK-COUNT-1: math.tanh
// CHECK-NOT: math.tanh
func.func @directions(%x: tensor<5x2x3xf32>, %w: tensor<2x1x6x3xf32>, %r: tensor<2x1x6x6xf32>, %b: tensor<2x1x6xf32>, %s: tensor<2x2x6xf32>) -> tensor<5x2x2x6xf32> {
  %0 = nn.rnn %x, %w, %r, %b, %s {nn.name = "rnn"} : (tensor<5x2x3xf32>, tensor<2x1x6x3xf32>, tensor<2x1x6x6xf32>, tensor<2x1x6xf32>, tensor<2x2x6xf32>) -> tensor<5x2x2x6xf32>
  return %0 : tensor<5x2x2x6xf32>
}

// -----

// Tests that directions with activations of their own are two loops.
// CHECK-LABEL: func @activations
// CHECK: scf.for %{{.*}} = %c0 to %c5
// CHECK: math.tanh
// CHECK: scf.for %[[T:.*]] = %c0 to %c5
// CHECK: arith.subi %c4, %[[T]]
// CHECK-NOT: math.tanh
// CHECK: arith.cmpf olt
func.func @activations(%x: tensor<5x2x3xf32>, %w: tensor<2x1x6x3xf32>, %r: tensor<2x1x6x6xf32>, %b: tensor<2x1x6xf32>, %s: tensor<2x2x6xf32>) -> tensor<5x2x2x6xf32> {
  %0 = nn.rnn %x, %w, %r, %b, %s {nn.name = "rnn", activations = [#nn.activation<tanh, 0.0, 0.0>, #nn.activation<relu, 0.0, 0.0>]} : (tensor<5x2x3xf32>, tensor<2x1x6x3xf32>, tensor<2x1x6x6xf32>, tensor<2x1x6xf32>, tensor<2x2x6xf32>) -> tensor<5x2x2x6xf32>
  return %0 : tensor<5x2x2x6xf32>
}

// -----

// Tests that behind each product of a step one operation does all per element,
// and that the hidden state is stored by it.
// CHECK-LABEL: func @gates
// CHECK: scf.for
// CHECK: linalg.fill
// CHECK: linalg.generic {{.*}}"reduction"
// CHECK: %[[GATES:.*]]:2 = linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]
// CHECK-COUNT-2: math.exp
// CHECK: linalg.fill
// CHECK: linalg.generic {{.*}}"reduction"
// CHECK-SAME: ins(%[[GATES]]#1,
// CHECK: %[[NEXT:.*]]:2 = linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]
// CHECK-SAME: ins(%[[GATES]]#0,
// CHECK: math.tanh
// CHECK: tensor.insert_slice %[[NEXT]]#1 into
// CHECK-NEXT: scf.yield %[[NEXT]]#0,
// CHECK-NOT: linalg.generic
func.func @gates(%x: tensor<5x2x3xf32>, %w: tensor<1x3x6x3xf32>, %r: tensor<1x3x6x6xf32>, %b: tensor<1x4x6xf32>, %s: tensor<1x2x6xf32>) -> tensor<5x1x2x6xf32> {
  %0 = nn.gru %x, %w, %r, %b, %s {nn.name = "gru"} : (tensor<5x2x3xf32>, tensor<1x3x6x3xf32>, tensor<1x3x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>) -> tensor<5x1x2x6xf32>
  return %0 : tensor<5x1x2x6xf32>
}
