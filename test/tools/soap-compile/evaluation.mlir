// Tests that a step of training and the model beside it are two programs over
// the same parameters, at every level.

// REQUIRES: soap-run
// RUN: soap-compile %s --train=sgd --loss=mean-squared-error --devices=2 --strategy=data-parallel --emit=soaprt -o %t.soaprt.mlir
// RUN: FileCheck %s --input-file=%t.soaprt.mlir
// CHECK-DAG: soaprt.input @{{.*}} "x" of "train" : tensor<4x16xf32>
// CHECK-DAG: soaprt.input @{{.*}} "label" of "train" : tensor<4x12xf32>
// CHECK-DAG: soaprt.output @{{.*}} "loss" of "train" : tensor<f32>
// CHECK-DAG: soaprt.input @{{.*}} "x" of "eval" : tensor<4x16xf32>
// CHECK-DAG: soaprt.output @{{.*}} "y" of "eval" : tensor<4x12xf32>
// CHECK-LABEL: soaprt.device @d0
// A parameter is loaded once.
// CHECK: soaprt.load "w"
// CHECK-NOT: soaprt.load "w"
// CHECK: soaprt.main "train"
// CHECK: soaprt.main "eval"
// CHECK-LABEL: soaprt.device @d1

// The levels before can be edited and compiled again.
// RUN: soap-compile %s --train=sgd --loss=mean-squared-error -o %t.one.so --devices=1
// RUN: soap-run %t.one.so --program=eval --output=y=%t.y.npy
// RUN: soap-compile %s --train=sgd --loss=mean-squared-error --emit=nn -o %t.nn.mlir
// RUN: FileCheck %s --input-file=%t.nn.mlir --check-prefix=NN
// NN: module @eval
// NN: nn.parameter {nn.name = "w", nn.state}
// RUN: soap-compile %t.nn.mlir --devices=2 --strategy=data-parallel --emit=strategy -o %t.strategy.mlir
// RUN: soap-compile %t.strategy.mlir --emit=soap -o %t.soap.mlir
// RUN: soap-compile %t.soap.mlir -o %t.two.so
// RUN: soap-run %t.two.so --program=eval --expected=y=%t.y.npy | FileCheck %s --check-prefix=EQUAL
// EQUAL: expected y: equal

// The report has the simulated time of both, and memory is that of both.
// RUN: soap-compile %s --train=sgd --loss=mean-squared-error --devices=2 --strategy=single --emit=report | FileCheck %s --check-prefix=REPORT
// REPORT: idle %     eval ms   (simulated)
// RUN: soap-compile %s --train=sgd --loss=mean-squared-error --devices=2 --strategy=single -o %t.both.so 2>&1 | FileCheck %s --check-prefix=MEMORY
// MEMORY: memory: peak {{.*}}activations {{.*}} (train {{.*}}, eval {{.*}}), parameters
// RUN: soap-run %t.both.so --info | FileCheck %s --check-prefix=INFO
// INFO: program      train
// INFO-NEXT: input        x: f32 [4,16]
// INFO-NEXT: input        label: f32 [4,12]
// INFO-NEXT: output       loss: f32 []
// INFO-NEXT: program      eval
// INFO-NEXT: input        x: f32 [4,16]
// INFO-NEXT: output       y: f32 [4,12]
// INFO: {{ +}}eval: activations {{.*}} rows

// Without it there is one program; a model for inference has one, too.
// RUN: soap-compile %s --train=sgd --loss=mean-squared-error --no-eval --devices=2 --strategy=single --emit=soaprt | FileCheck %s --check-prefix=ALONE
// ALONE: soaprt.main "train"
// ALONE-NOT: "eval"
// RUN: soap-compile %s --devices=1 --emit=soaprt | FileCheck %s --check-prefix=INFERENCE
// INFERENCE: soaprt.main {

func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<4x16xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<16x12xf32> from #nn.random<1, "w", normal, 0.0, 0.3>
  %0 = nn.matmul %x, %w {nn.name = "fc"} : (tensor<4x16xf32>, tensor<16x12xf32>) -> tensor<4x12xf32>
  nn.output %0 {nn.name = "y"} : tensor<4x12xf32>
  return
}
