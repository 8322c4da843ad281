// RUN: soap-opt %s --nn-build-training-step='loss=mean-squared-error optimizer=adamw lr=0.5 weight-decay=0.25 decay-vectors=false clip-norm=2.0 schedule=cosine warmup=5 period=100 batch-norm-momentum=0.75' --split-input-file \
// RUN:   | FileCheck %s
// RUN: soap-opt %s --nn-build-training-step='loss=mean-squared-error optimizer=sgd momentum=0.5 nesterov freeze=b|mean' --split-input-file \
// RUN:   | FileCheck %s --check-prefix=SGD

// Tests that updates and writes join the group of the operation that reads the
// parameter, that state starts at 0, and that squares of gradients are summed
// in these groups before they meet in one factor, which is at most 1.

// CHECK-LABEL: func.func @main
// CHECK: %[[W:[0-9]+]] = nn.parameter {nn.name = "w"}
// CHECK: %[[B:[0-9]+]] = nn.parameter {nn.name = "b"}
// CHECK: %[[DW:[0-9]+]] = nn.matmul {{.*}}transpose_a}
// CHECK: %[[DB:[0-9]+]] = nn.reshape %{{.*}} {nn.group = #nn.group<"fc", {d0 = "f", part0 = "n"}>
// CHECK: %[[W2:.*]] = nn.mul %[[DW]], %[[DW]] {nn.group = #nn.group<"fc", {d0 = "k", d1 = "f"}>
// CHECK: %[[WS:[0-9]+]] = nn.reduce %[[W2]] {axes = array<i64: 0, 1>{{.*}}nn.group = #nn.group<"fc", {d0 = "k", d1 = "f"}>
// CHECK: %[[WR:[0-9]+]] = nn.reshape %[[WS]]
// CHECK: %[[B2:.*]] = nn.mul %[[DB]], %[[DB]] {nn.group = #nn.group<"fc", {d0 = "f"}>
// CHECK: %[[BS:[0-9]+]] = nn.reduce %[[B2]]
// CHECK: %[[ALL:[0-9]+]] = nn.concat %[[WR]], %[[BS]] {{.*}}nn.name = "clip.squares"
// CHECK: %[[SUM:[0-9]+]] = nn.reduce %[[ALL]]
// CHECK: %[[ONE:[0-9]+]] = nn.constant dense<1.000000e+00>
// CHECK: %[[SCALE:[0-9]+]] = nn.min %{{.*}}, %[[ONE]]
// CHECK: %{{.*}}, %[[RATE:[a-z0-9_]+]], %[[C1:.*]], %[[C2:.*]] = nn.schedule {kind = 2 : i32, nn.name = "schedule", period = 100 : i64, rate = 5.000000e-01 : f64, warmup = 5 : i64} : () -> (tensor<i64>, tensor<f32>, tensor<f32>, tensor<f32>)
// CHECK: %[[WM:[0-9]+]] = nn.parameter {nn.name = "w.mean"} : tensor<4x3xf32> from #nn.splat<0.000000e+00 : f32>
// CHECK: %[[WV:[0-9]+]] = nn.parameter {nn.name = "w.variance"} : tensor<4x3xf32> from #nn.splat<0.000000e+00 : f32>
// CHECK: %[[NW:[a-z0-9_]+]], %[[NM:[a-z0-9_]+]], %[[NV:[a-z0-9_]+]] = nn.adam %[[W]], %[[DW]], %[[WM]], %[[WV]], %[[RATE]], %[[C1]], %[[C2]], %[[SCALE]] {decoupled, nn.group = #nn.group<"fc", {d0 = "k", d1 = "f"}>, nn.name = "w.update", weight_decay = 2.500000e-01 : f64}
// CHECK: %[[NB:[a-z0-9_]+]], %{{.*}}, %{{.*}} = nn.adam %[[B]], %[[DB]], {{.*}} {decoupled, nn.group = #nn.group<"fc", {d0 = "f"}>, nn.name = "b.update"}
// CHECK: nn.write %[[NW]], %[[W]] {nn.group = #nn.group<"fc", {d0 = "k", d1 = "f"}>, nn.name = "w.write", nn.update = "w.update"}
// CHECK: nn.write %[[NM]], %[[WM]] {nn.group = #nn.group<"fc", {d0 = "k", d1 = "f"}>, nn.name = "w.mean.write", nn.update = "w.update"}
// CHECK: nn.write %[[NV]], %[[WV]] {{.*}}nn.name = "w.variance.write"
// CHECK: nn.write %[[NB]], %[[B]] {nn.group = #nn.group<"fc", {d0 = "f"}>, nn.name = "b.write", nn.update = "b.update"}
// CHECK: nn.output %{{.*}} {nn.name = "loss"}
// CHECK-NOT: nn.output

// SGD-LABEL: func.func @main
// SGD: %[[W:[0-9]+]] = nn.parameter {nn.name = "w"}
// SGD: %[[V:[0-9]+]] = nn.parameter {nn.name = "w.velocity"}
// SGD: %[[NW:[a-z0-9_]+]], %[[NV:[a-z0-9_]+]] = nn.momentum %[[W]], %{{.*}}, %[[V]], %{{.*}} {momentum = 5.000000e-01 : f64, nesterov, nn.group = #nn.group<"fc", {d0 = "k", d1 = "f"}>, nn.name = "w.update"}
// SGD-NEXT: nn.write %[[NW]], %[[W]]
// SGD-NEXT: nn.write %[[NV]], %[[V]]
// SGD-NEXT: nn.output %{{.*}} {nn.name = "loss"}
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<8x4xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<4x3xf32> from #nn.file<"m", 0, 48>
  %b = nn.parameter {nn.name = "b"} : tensor<3xf32> from #nn.file<"m", 48, 12>
  %y = nn.matmul %x, %w bias %b {nn.name = "fc"} : (tensor<8x4xf32>, tensor<4x3xf32>, tensor<3xf32>) -> tensor<8x3xf32>
  nn.output %y {nn.name = "scores"} : tensor<8x3xf32>
  return
}

// -----

// Tests that a batch norm keeps running statistics, of the unbiased variance
// (2x9 elements per channel: 18/17 of the other), without a gradient of them.

// CHECK-LABEL: func.func @main
// CHECK: %[[MEAN:[0-9]+]] = nn.parameter {nn.name = "mean"}
// CHECK: %[[VARIANCE:[0-9]+]] = nn.parameter {nn.name = "variance"}
// CHECK: nn.constant dense<7.500000e-01>
// CHECK: nn.mul %[[MEAN]]
// CHECK: nn.constant dense<2.500000e-01>
// CHECK: nn.mul %[[VARIANCE]]
// CHECK: nn.constant dense<0.264705{{.*}}>
// CHECK-DAG: nn.write %{{.*}}, %[[MEAN]] {nn.group = #nn.group<"bn.mean", {d0 = "d1"}>, nn.name = "mean.write"}
// CHECK-DAG: nn.write %{{.*}}, %[[VARIANCE]] {nn.group = #nn.group<"bn.mean", {d0 = "d1"}>, nn.name = "variance.write"}
// CHECK-NOT: "mean.mean"
// SGD-LABEL: func.func @main
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<2x4x9xf32>
  %scale = nn.parameter {nn.name = "scale"} : tensor<4xf32> from #nn.splat<1.0 : f32>
  %shift = nn.parameter {nn.name = "shift"} : tensor<4xf32> from #nn.splat<0.0 : f32>
  %mean = nn.parameter {nn.name = "mean"} : tensor<4xf32> from #nn.splat<0.0 : f32>
  %variance = nn.parameter {nn.name = "variance"} : tensor<4xf32> from #nn.splat<1.0 : f32>
  %n = nn.batch_norm %x, %scale, %shift, %mean, %variance {nn.name = "bn", epsilon = 1.0e-05 : f32} : tensor<2x4x9xf32>, tensor<4xf32>
  nn.output %n {nn.name = "scores"} : tensor<2x4x9xf32>
  return
}
