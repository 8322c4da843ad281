// Tests that options of optimizers are checked, each by its name and value.
// RUN: not soap-opt %s --nn-build-training-step='loss=mean-squared-error optimizer=lion' 2>&1 | FileCheck %s --check-prefix=E0
// E0: error: expected optimizer=sgd, adam or adamw, got: 'lion'
// RUN: not soap-opt %s --nn-build-training-step='loss=mean-squared-error optimizer=sgd schedule=square' 2>&1 | FileCheck %s --check-prefix=E1
// E1: error: expected schedule=constant, step, cosine or linear, got: 'square'
// RUN: not soap-opt %s --nn-build-training-step='loss=mean-squared-error optimizer=sgd lr=-1.0' 2>&1 | FileCheck %s --check-prefix=E2
// E2: error: expected 'lr' of at least 0, got: -1
// RUN: not soap-opt %s --nn-build-training-step='loss=mean-squared-error optimizer=sgd lr=1e40' 2>&1 | FileCheck %s --check-prefix=E2B
// E2B: error: expected 'lr' of at least 0, finite as f32, got:
// RUN: not soap-opt %s --nn-build-training-step='loss=mean-squared-error optimizer=sgd factor=-1.0' 2>&1 | FileCheck %s --check-prefix=E3
// E3: error: expected 'factor' of at least 0, got: -1
// RUN: not soap-opt %s --nn-build-training-step='loss=mean-squared-error optimizer=sgd momentum=1.0' 2>&1 | FileCheck %s --check-prefix=E4
// E4: error: expected 'momentum' of at least 0 and below 1, got: 1
// RUN: not soap-opt %s --nn-build-training-step='loss=mean-squared-error optimizer=adam beta1=1.5' 2>&1 | FileCheck %s --check-prefix=E5
// E5: error: expected 'beta1' of at least 0 and below 1, got: 1.5
// RUN: not soap-opt %s --nn-build-training-step='loss=mean-squared-error optimizer=adam beta2=-0.5' 2>&1 | FileCheck %s --check-prefix=E6
// E6: error: expected 'beta2' of at least 0 and below 1, got: -
// RUN: not soap-opt %s --nn-build-training-step='loss=mean-squared-error optimizer=adam epsilon=-1.0' 2>&1 | FileCheck %s --check-prefix=E7
// E7: error: expected 'epsilon' of at least 0, got: -1
// RUN: not soap-opt %s --nn-build-training-step='loss=mean-squared-error optimizer=sgd weight-decay=-1.0' 2>&1 | FileCheck %s --check-prefix=E8
// E8: error: expected 'weight-decay' of at least 0, got: -1
// RUN: not soap-opt %s --nn-build-training-step='loss=mean-squared-error optimizer=sgd clip-norm=-1.0' 2>&1 | FileCheck %s --check-prefix=E9
// E9: error: expected 'clip-norm' of at least 0, got: -1
// RUN: not soap-opt %s --nn-build-training-step='loss=mean-squared-error optimizer=sgd warmup=-1' 2>&1 | FileCheck %s --check-prefix=E10
// E10: error: expected a 'warmup' of 0 steps or more and a 'period' of 1 or more, got: -1 and 1
// RUN: not soap-opt %s --nn-build-training-step='loss=mean-squared-error optimizer=sgd period=0' 2>&1 | FileCheck %s --check-prefix=E11
// E11: error: expected a 'warmup' of 0 steps or more and a 'period' of 1 or more, got: 0 and 0
// RUN: not soap-opt %s --nn-build-training-step='loss=mean-squared-error optimizer=adam momentum=0.5' 2>&1 | FileCheck %s --check-prefix=E12
// E12: error: expected 'momentum' and 'nesterov' with optimizer=sgd, got: optimizer=adam
// RUN: not soap-opt %s --nn-build-training-step='loss=mean-squared-error optimizer=adamw nesterov' 2>&1 | FileCheck %s --check-prefix=E13
// E13: error: expected 'momentum' and 'nesterov' with optimizer=sgd, got: optimizer=adamw
// RUN: not soap-opt %s --nn-build-training-step='loss=mean-squared-error optimizer=sgd nesterov' 2>&1 | FileCheck %s --check-prefix=E14
// E14: error: expected a 'momentum' above 0 with 'nesterov', got: 0
// RUN: not soap-opt %s --nn-build-training-step='loss=mean-squared-error batch-norm-momentum=1.5' 2>&1 | FileCheck %s --check-prefix=E15
// E15: error: expected 'batch-norm-momentum' from 0 to 1, got: 1.5
// RUN: not soap-opt %s --nn-build-training-step='loss=mean-squared-error dropout=1.0' 2>&1 | FileCheck %s --check-prefix=E16
// E16: error: expected dropout=model, none or a ratio of at least 0 and below 1, got: '1.0'
// RUN: not soap-opt %s --nn-build-training-step='loss=mean-squared-error dropout=0.5' 2>&1 | FileCheck %s --check-prefix=E17
// E17: error: expected a model with Dropout for dropout=0.5, got one without; export the model for training, or leave the ratio out
// RUN: not soap-opt %s --nn-build-training-step='loss=mean-squared-error batch-norm=mine' 2>&1 | FileCheck %s --check-prefix=E18
// E18: error: expected batch-norm=global, local or frozen, got: 'mine'
// RUN: not soap-opt %s --nn-build-training-step='loss=mean-squared-error accumulate=0' 2>&1 | FileCheck %s --check-prefix=E19
// E19: error: expected 'accumulate' of 1 or more, got: 0
// RUN: not soap-opt %s --nn-build-training-step='loss=mean-squared-error accumulate=2' 2>&1 | FileCheck %s --check-prefix=E20
// E20: error: expected an input with a batch to accumulate over, got none
// RUN: not soap-opt %s --nn-build-training-step='loss=mean-squared-error batch-norm-variance=naive' 2>&1 | FileCheck %s --check-prefix=E21
// E21: error: expected batch-norm-variance=two-pass or shifted, got: 'naive'

func.func @main() {
  %w = nn.parameter {nn.name = "w"} : tensor<4x3xf32> from #nn.file<"m", 0, 48>
  nn.output %w {nn.name = "y"} : tensor<4x3xf32>
  return
}
