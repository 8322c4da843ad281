// RUN: soap-opt %s --convert-soap-to-soaprt | FileCheck %s

// Tests that the program beside a step takes the step's parameters, those that it
// writes and those that it reads, and loads only others.

// CHECK-LABEL: soaprt.device @d0
// CHECK: %[[W:[0-9]+]] = soaprt.buffer : <32xf32, parameters>
// CHECK: soaprt.load "w" from {{.*}} into %[[W]]
// CHECK: %[[C:[0-9]+]] = soaprt.buffer : <32xf32, parameters>
// CHECK: soaprt.load "c" from {{.*}} into %[[C]]
// CHECK-NOT: soaprt.load "{{w|c}}"
// CHECK: %[[D:[0-9]+]] = soaprt.buffer : <32xf32, parameters>
// CHECK: soaprt.load "d" from {{.*}} into %[[D]]
// CHECK: soaprt.main "train" {
// CHECK: soaprt.launch "new" @{{.*}}(%[[W]], %[[C]] : {{.*}}) to(%[[W]] :
// CHECK: soaprt.tile "new" : 0 of tensor<32xf32> at [0] program "train" in %[[W]]
// CHECK: soaprt.main "eval" {
// CHECK: soaprt.launch "y" @{{.*}}(%[[W]], %[[C]] : {{.*}}) to(%[[Y:[0-9]+]] :
// CHECK: soaprt.launch "z" @{{.*}}(%[[Y]], %[[D]] : {{.*}})
// CHECK: soaprt.tile "y" : 0 of tensor<32xf32> at [0] program "eval" in %[[Y]]
func.func @main() {
  %w = soap.task "w" 0 phase init () -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"w":0, [0:32]>) {
    %0 = nn.parameter {nn.name = "w"} : tensor<32xf32> from #nn.splat<4.0 : f32>
    soap.return %0 : tensor<32xf32>
  }
  %c = soap.task "c" 0 phase init () -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"c":0, [0:32]>) {
    %0 = nn.parameter {nn.name = "c"} : tensor<32xf32> from #nn.splat<5.0 : f32>
    soap.return %0 : tensor<32xf32>
  }
  %n = soap.task "new" 0 (%a = %w : !soap.shard<tensor<32xf32>, on 0>, %b = %c : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"new":0, [0:32]>) {
    %0 = nn.add %a, %b {nn.name = "new"} : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    soap.return %0 : tensor<32xf32>
  }
  %v = soap.task "w.write" 0 (%a = %n : !soap.shard<tensor<32xf32>, on 0>, %b = %w : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"w.write":0, [0:32]>) {
    %0 = nn.write %a, %b {nn.name = "w.write"} : tensor<32xf32>
    soap.return %0 : tensor<32xf32>
  }
  soap.discard %v : !soap.shard<tensor<32xf32>, on 0>
  return
}
module @eval {
  func.func @main() {
    %w = soap.task "w" 0 phase init () -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"w":0, [0:32]>) {
      %0 = nn.parameter {nn.name = "w"} : tensor<32xf32> from #nn.splat<4.0 : f32>
      soap.return %0 : tensor<32xf32>
    }
    %c = soap.task "c" 0 phase init () -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"c":0, [0:32]>) {
      %0 = nn.parameter {nn.name = "c"} : tensor<32xf32> from #nn.splat<5.0 : f32>
      soap.return %0 : tensor<32xf32>
    }
    %d = soap.task "d" 0 phase init () -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"d":0, [0:32]>) {
      %0 = nn.parameter {nn.name = "d"} : tensor<32xf32> from #nn.splat<5.0 : f32>
      soap.return %0 : tensor<32xf32>
    }
    %y = soap.task "y" 0 (%a = %w : !soap.shard<tensor<32xf32>, on 0>, %b = %c : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"y":0, [0:32]>) {
      %0 = nn.mul %a, %b {nn.name = "y"} : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
      soap.return %0 : tensor<32xf32>
    }
    %z = soap.task "z" 0 (%a = %y : !soap.shard<tensor<32xf32>, on 0>, %b = %d : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"z":0, [0:32]>) {
      %0 = nn.mul %a, %b {nn.name = "z"} : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
      soap.return %0 : tensor<32xf32>
    }
    soap.discard %z : !soap.shard<tensor<32xf32>, on 0>
    return
  }
}
