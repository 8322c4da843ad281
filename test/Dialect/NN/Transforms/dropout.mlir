// RUN: soap-opt %s --nn-remove-dropout | FileCheck %s --check-prefix=INFER
// RUN: soap-opt %s --nn-build-training-step='loss=mean-squared-error optimizer=sgd' \
// RUN:   | FileCheck %s --check-prefix=TRAIN
// RUN: soap-opt %s --nn-build-training-step='loss=mean-squared-error dropout=0.25' \
// RUN:   | FileCheck %s --check-prefix=RATIO
// RUN: soap-opt %s --nn-build-training-step='loss=mean-squared-error dropout=none' \
// RUN:   | FileCheck %s --check-prefix=NONE
// RUN: soap-opt %s --nn-build-training-step='loss=mean-squared-error' --nn-remove-dropout \
// RUN:   | FileCheck %s --check-prefix=STAYS

// Tests that inference has no dropout, that a training step draws other masks in
// every step and for every operation, and the same one for the gradient, whose
// operation is a member of the group.

// INFER-LABEL: func.func @main
// INFER-NOT: nn.dropout
// INFER: %[[Y:.*]] = nn.matmul
// INFER: %[[Z:.*]] = nn.relu %[[Y]]
// INFER: nn.output %[[Z]]

// One schedule, for the masks and the learning rate.
// TRAIN-LABEL: func.func @main
// TRAIN: %[[N:[a-z0-9_]+]], %[[RATE:[a-z0-9_]+]], %{{.*}}, %{{.*}} = nn.schedule {{{.*}}nn.name = "schedule"
// TRAIN-NOT: nn.schedule
// TRAIN: nn.dropout %{{.*}}, %[[N]] {nn.name = "a", ratio = 5.000000e-01 : f64, seed = [[A:.*]] : i64}
// TRAIN-NOT: seed = [[A]] :
// TRAIN: nn.dropout %{{.*}}, %[[N]] {nn.name = "b", ratio = 1.250000e-01 : f64, seed = [[B:.*]] : i64}
// TRAIN: nn.dropout %{{.*}}, %[[N]] {nn.group = #nn.group<"b", {d0 = "d0", d1 = "d1"}>, nn.name = "b.grad", ratio = 1.250000e-01 : f64, seed = [[B]] : i64}
// TRAIN: nn.dropout %{{.*}}, %[[N]] {nn.group = #nn.group<"a", {d0 = "d0", d1 = "d1"}>, nn.name = "a.grad", ratio = 5.000000e-01 : f64, seed = [[A]] : i64}
// TRAIN: nn.sgd %{{.*}}, %{{.*}}, %[[RATE]]

// RATIO-COUNT-4: ratio = 2.500000e-01 : f64

// NONE-LABEL: func.func @main
// NONE-NOT: nn.dropout
// NONE-NOT: nn.schedule
// NONE: nn.output

// STAYS-COUNT-4: nn.dropout
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<4x3xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<3x5xf32> from #nn.random<1, "w", normal, 0.0, 1.0>
  %0 = nn.matmul %x, %w {nn.name = "product"} : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
  %1 = nn.dropout %0 {nn.name = "a", ratio = 0.5 : f64} : tensor<4x5xf32>
  %2 = nn.relu %1 {nn.name = "relu"} : tensor<4x5xf32>
  %3 = nn.dropout %2 {nn.name = "b", ratio = 0.125 : f64} : tensor<4x5xf32>
  nn.output %3 {nn.name = "y"} : tensor<4x5xf32>
  return
}
