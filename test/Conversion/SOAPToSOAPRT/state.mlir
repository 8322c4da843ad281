// RUN: soap-opt %s --convert-soap-to-soaprt --split-input-file | FileCheck %s

// Tests that a new value is made right where the old one is, by the operation
// that reads the old value last, and that a library kernel does not take what
// is written for constant, unlike the bias that is not.

// CHECK-LABEL: soaprt.device @d0
// CHECK: %[[W:[0-9]+]] = soaprt.buffer : <8x4xf32, parameters>
// CHECK: soaprt.load "w" from {{.*}} into %[[W]]
// CHECK: %[[B:[0-9]+]] = soaprt.buffer : <4xf32, parameters>
// CHECK: soaprt.load "b" from {{.*}} into %[[B]]
// CHECK: soaprt.main "train" {
// CHECK: soaprt.launch "fc" @{{.*}}(%{{.*}}, %[[W]], %[[B]] : {{.*}}) {constants = array<i64: 2>
// CHECK: soaprt.launch "sgd" @{{.*}}(%[[W]], %[[W]], %{{.*}} : {{.*}}) to(%[[W]] : {{.*}})
// CHECK-NOT: soaprt.copy
// CHECK: soaprt.tile "w" : 0 {{.*}} initial program "train" in %[[W]]
// CHECK: soaprt.tile "sgd" : 0 of tensor<8x4xf32> at [0, 0] program "train" in %[[W]]
// CHECK: soaprt.tile "w.write" : 0 of tensor<8x4xf32> at [0, 0] program "train" in %[[W]]
func.func @main() {
  %w = soap.task "w" 0 phase init () -> (!soap.shard<tensor<8x4xf32>, on 0> as #soap.box<"w":0, [0:8, 0:4]>) {
    %0 = nn.parameter {nn.name = "w"} : tensor<8x4xf32> from #nn.file<"m.onnx", 64, 128>
    soap.return %0 : tensor<8x4xf32>
  }
  %b = soap.task "b" 0 phase init () -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"b":0, [0:4]>) {
    %0 = nn.parameter {nn.name = "b"} : tensor<4xf32> from #nn.splat<4.0 : f32>
    soap.return %0 : tensor<4xf32>
  }
  %r = soap.task "r" 0 phase init () -> (!soap.shard<tensor<f32>, on 0> as #soap.box<"r":0, []>) {
    %0 = nn.constant dense<0.5> : tensor<f32> {nn.name = "r"}
    soap.return %0 : tensor<f32>
  }
  %x = soap.task "x" 0 () -> (!soap.shard<tensor<2x8xf32>, on host> as #soap.box<"x":0, [0:2, 0:8]>) {
    %0 = nn.input {nn.name = "x"} : tensor<2x8xf32>
    soap.return %0 : tensor<2x8xf32>
  }
  %f = soap.transfer %x action 0 phase feed : !soap.shard<tensor<2x8xf32>, on host> -> (!soap.shard<tensor<2x8xf32>, on 0> as #soap.box<"x":0, [0:2, 0:8]>)
  %y = soap.task "fc" 0 (%a = %f : !soap.shard<tensor<2x8xf32>, on 0>, %c = %w : !soap.shard<tensor<8x4xf32>, on 0>, %d = %b : !soap.shard<tensor<4xf32>, on 0>) -> (!soap.shard<tensor<2x4xf32>, on 0> as #soap.box<"fc":0, [0:2, 0:4]>) {
    %0 = nn.matmul %a, %c bias %d {nn.name = "fc"} : (tensor<2x8xf32>, tensor<8x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    soap.return %0 : tensor<2x4xf32>
  }
  soap.discard %y : !soap.shard<tensor<2x4xf32>, on 0>
  %n = soap.task "sgd" 0 (%a = %w : !soap.shard<tensor<8x4xf32>, on 0>, %s = %r : !soap.shard<tensor<f32>, on 0>) -> (!soap.shard<tensor<8x4xf32>, on 0> as #soap.box<"sgd":0, [0:8, 0:4]>) {
    %0 = nn.sgd %a, %a, %s {nn.name = "sgd"} : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
    soap.return %0 : tensor<8x4xf32>
  }
  %v = soap.task "w.write" 0 (%a = %n : !soap.shard<tensor<8x4xf32>, on 0>, %c = %w : !soap.shard<tensor<8x4xf32>, on 0>) -> (!soap.shard<tensor<8x4xf32>, on 0> as #soap.box<"w.write":0, [0:8, 0:4]>) {
    %0 = nn.write %a, %c {nn.name = "w.write"} : tensor<8x4xf32>
    soap.return %0 : tensor<8x4xf32>
  }
  soap.discard %v : !soap.shard<tensor<8x4xf32>, on 0>
  return
}

// -----

// Tests that a new value is copied if something reads the old one behind its
// maker.

// CHECK-LABEL: soaprt.device @d0
// CHECK: %[[W:[0-9]+]] = soaprt.buffer : <32xf32, parameters>
// CHECK: soaprt.main "train" {
// CHECK: soaprt.launch "new" @{{.*}}(%[[W]] : {{.*}}) to(%[[N:[0-9]+]] :
// CHECK: soaprt.launch "late" @{{.*}}(%[[W]] :
// CHECK: soaprt.copy "w.write"(%[[N]] : {{.*}}) to(%[[W]] : {{.*}}) [#soaprt.box<[0] to [0] sizes [32]>]
func.func @main() {
  %w = soap.task "w" 0 phase init () -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"w":0, [0:32]>) {
    %0 = nn.parameter {nn.name = "w"} : tensor<32xf32> from #nn.splat<4.0 : f32>
    soap.return %0 : tensor<32xf32>
  }
  %new = soap.task "new" 0 (%a = %w : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"new":0, [0:32]>) {
    %0 = nn.relu %a {nn.name = "new"} : tensor<32xf32>
    soap.return %0 : tensor<32xf32>
  }
  %late = soap.task "late" 0 (%a = %w : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"late":0, [0:32]>) {
    %0 = nn.tanh %a {nn.name = "late"} : tensor<32xf32>
    soap.return %0 : tensor<32xf32>
  }
  %w_write = soap.task "w.write" 0 (%a = %new : !soap.shard<tensor<32xf32>, on 0>, %c = %w : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"w.write":0, [0:32]>) {
    %0 = nn.write %a, %c {nn.name = "w.write"} : tensor<32xf32>
    soap.return %0 : tensor<32xf32>
  }
  soap.discard %late : !soap.shard<tensor<32xf32>, on 0>
  soap.discard %w_write : !soap.shard<tensor<32xf32>, on 0>
  return
}

// -----

// Tests that a reader of a view counts as a reader.

// CHECK-LABEL: soaprt.device @d0
// CHECK: %[[W:[0-9]+]] = soaprt.buffer : <32xf32, parameters>
// CHECK: %[[V:[0-9]+]] = soaprt.view %[[W]][0]
// CHECK: soaprt.main "train" {
// CHECK: soaprt.launch "new" @{{.*}}(%[[W]] : {{.*}}) to(%[[N:[0-9]+]] :
// CHECK: soaprt.launch "late" @{{.*}}(%[[V]] :
// CHECK: soaprt.copy "w.write"(%[[N]] : {{.*}}) to(%[[W]] :
// CHECK: soaprt.tile "w" : 0 {{.*}} initial program "train" in %[[W]]
// CHECK-NEXT: soaprt.tile "view" : 0 {{.*}} initial program "train" in %[[V]]
// CHECK-NEXT: soaprt.tile "new" : 0 of tensor<32xf32> at [0] program "train" in %[[N]]
// CHECK-NEXT: soaprt.tile "late" : 0 of tensor<4x8xf32> at [0, 0] program "train" in
// CHECK-NEXT: soaprt.tile "w.write" : 0 of tensor<32xf32> at [0] program "train" in %[[W]]
func.func @main() {
  %w = soap.task "w" 0 phase init () -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"w":0, [0:32]>) {
    %0 = nn.parameter {nn.name = "w"} : tensor<32xf32> from #nn.splat<4.0 : f32>
    soap.return %0 : tensor<32xf32>
  }
  %view = soap.task "view" 0 (%a = %w : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<4x8xf32>, on 0> as #soap.box<"view":0, [0:4, 0:8]>) {
    %0 = nn.reshape %a {nn.name = "view"} : (tensor<32xf32>) -> tensor<4x8xf32>
    soap.return %0 : tensor<4x8xf32>
  }
  %new = soap.task "new" 0 (%a = %w : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"new":0, [0:32]>) {
    %0 = nn.relu %a {nn.name = "new"} : tensor<32xf32>
    soap.return %0 : tensor<32xf32>
  }
  %late = soap.task "late" 0 (%a = %view : !soap.shard<tensor<4x8xf32>, on 0>) -> (!soap.shard<tensor<4x8xf32>, on 0> as #soap.box<"late":0, [0:4, 0:8]>) {
    %0 = nn.tanh %a {nn.name = "late"} : tensor<4x8xf32>
    soap.return %0 : tensor<4x8xf32>
  }
  %w_write = soap.task "w.write" 0 (%a = %new : !soap.shard<tensor<32xf32>, on 0>, %c = %w : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"w.write":0, [0:32]>) {
    %0 = nn.write %a, %c {nn.name = "w.write"} : tensor<32xf32>
    soap.return %0 : tensor<32xf32>
  }
  soap.discard %late : !soap.shard<tensor<4x8xf32>, on 0>
  soap.discard %w_write : !soap.shard<tensor<32xf32>, on 0>
  return
}

// -----

// Tests that what makes the new value from a view of the old one does not do so
// in place.

// CHECK-LABEL: soaprt.device @d0
// CHECK: %[[W:[0-9]+]] = soaprt.buffer : <4x16xf32, parameters>
// CHECK: %[[V:[0-9]+]] = soaprt.view %[[W]][16]
// CHECK: soaprt.main "train" {
// CHECK: soaprt.launch "new" @{{.*}}(%[[W]], %[[V]] : {{.*}}) to(%[[N:[0-9]+]] :
// CHECK: soaprt.copy "w.write"(%[[N]] : {{.*}}) to(%[[W]] :
func.func @main() {
  %w = soap.task "w" 0 phase init () -> (!soap.shard<tensor<4x16xf32>, on 0> as #soap.box<"w":0, [0:4, 0:16]>) {
    %0 = nn.parameter {nn.name = "w"} : tensor<4x16xf32> from #nn.splat<4.0 : f32>
    soap.return %0 : tensor<4x16xf32>
  }
  %row = soap.task "row" 0 (%a = %w : !soap.shard<tensor<4x16xf32>, on 0>) -> (!soap.shard<tensor<1x16xf32>, on 0> as #soap.box<"row":0, [0:1, 0:16]>) {
    %0 = nn.slice %a {nn.name = "row", starts = array<i64: 1, 0>, steps = array<i64: 1, 1>} : (tensor<4x16xf32>) -> tensor<1x16xf32>
    soap.return %0 : tensor<1x16xf32>
  }
  %new = soap.task "new" 0 (%a = %w : !soap.shard<tensor<4x16xf32>, on 0>, %b = %row : !soap.shard<tensor<1x16xf32>, on 0>) -> (!soap.shard<tensor<4x16xf32>, on 0> as #soap.box<"new":0, [0:4, 0:16]>) {
    %0 = nn.add %a, %b {nn.name = "new"} : (tensor<4x16xf32>, tensor<1x16xf32>) -> tensor<4x16xf32>
    soap.return %0 : tensor<4x16xf32>
  }
  %w_write = soap.task "w.write" 0 (%a = %new : !soap.shard<tensor<4x16xf32>, on 0>, %c = %w : !soap.shard<tensor<4x16xf32>, on 0>) -> (!soap.shard<tensor<4x16xf32>, on 0> as #soap.box<"w.write":0, [0:4, 0:16]>) {
    %0 = nn.write %a, %c {nn.name = "w.write"} : tensor<4x16xf32>
    soap.return %0 : tensor<4x16xf32>
  }
  soap.discard %w_write : !soap.shard<tensor<4x16xf32>, on 0>
  return
}

// -----

// Tests that of two tasks on a device that make copies of one new value, the
// first one leaves the old value to the second.

// CHECK-LABEL: soaprt.device @d0
// CHECK: %[[W:[0-9]+]] = soaprt.buffer : <32xf32, parameters>
// CHECK: soaprt.main "train" {
// CHECK: soaprt.launch "new" @{{.*}}(%[[W]] : {{.*}}) to(%[[N:[0-9]+]] : {{.*}}) {task = 0
// CHECK: soaprt.launch "new" @{{.*}}(%[[W]] : {{.*}}) to(%[[W]] : {{.*}}) {task = 1
// CHECK: soaprt.copy "w.write"(%[[N]] : {{.*}}) to(%[[W]] : {{.*}}) {{.*}}task = 0
// CHECK-NOT: soaprt.copy "w.write"
func.func @main() {
  %w = soap.task "w" 0 phase init () -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"w":0, [0:32]>) {
    %0 = nn.parameter {nn.name = "w"} : tensor<32xf32> from #nn.splat<4.0 : f32>
    soap.return %0 : tensor<32xf32>
  }
  %new = soap.task "new" 0 (%a = %w : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"new":0, [0:32]>) {
    %0 = nn.relu %a {nn.name = "new"} : tensor<32xf32>
    soap.return %0 : tensor<32xf32>
  }
  %new1 = soap.task "new" 1 (%a = %w : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"new":0, [0:32]>) {
    %0 = nn.relu %a {nn.name = "new"} : tensor<32xf32>
    soap.return %0 : tensor<32xf32>
  }
  %w_write = soap.task "w.write" 0 (%a = %new : !soap.shard<tensor<32xf32>, on 0>, %c = %w : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"w.write":0, [0:32]>) {
    %0 = nn.write %a, %c {nn.name = "w.write"} : tensor<32xf32>
    soap.return %0 : tensor<32xf32>
  }
  %w_write1 = soap.task "w.write" 1 (%a = %new1 : !soap.shard<tensor<32xf32>, on 0>, %c = %w : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"w.write":0, [0:32]>) {
    %0 = nn.write %a, %c {nn.name = "w.write"} : tensor<32xf32>
    soap.return %0 : tensor<32xf32>
  }
  soap.discard %w_write : !soap.shard<tensor<32xf32>, on 0>
  soap.discard %w_write1 : !soap.shard<tensor<32xf32>, on 0>
  return
}

// -----

// Tests that a parameter whose old value becomes that of another one is written
// behind it.

// CHECK-LABEL: soaprt.device @d0
// CHECK: soaprt.load "a" {{.*}} into %[[A:[0-9]+]] :
// CHECK: soaprt.load "b" {{.*}} into %[[B:[0-9]+]] :
// CHECK: soaprt.main "train" {
// CHECK: soaprt.launch "new" @{{.*}}(%[[A]] : {{.*}}) to(%[[N:[0-9]+]] :
// CHECK: soaprt.copy "b.write"(%[[A]] : {{.*}}) to(%[[B]] :
// CHECK: soaprt.copy "a.write"(%[[N]] : {{.*}}) to(%[[A]] :
func.func @main() {
  %pa = soap.task "a" 0 phase init () -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"a":0, [0:32]>) {
    %0 = nn.parameter {nn.name = "a"} : tensor<32xf32> from #nn.splat<4.0 : f32>
    soap.return %0 : tensor<32xf32>
  }
  %pb = soap.task "b" 0 phase init () -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"b":0, [0:32]>) {
    %0 = nn.parameter {nn.name = "b"} : tensor<32xf32> from #nn.splat<4.0 : f32>
    soap.return %0 : tensor<32xf32>
  }
  %new = soap.task "new" 0 (%a = %pa : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"new":0, [0:32]>) {
    %0 = nn.relu %a {nn.name = "new"} : tensor<32xf32>
    soap.return %0 : tensor<32xf32>
  }
  %b_write = soap.task "b.write" 0 (%a = %pa : !soap.shard<tensor<32xf32>, on 0>, %c = %pb : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"b.write":0, [0:32]>) {
    %0 = nn.write %a, %c {nn.name = "b.write"} : tensor<32xf32>
    soap.return %0 : tensor<32xf32>
  }
  %a_write = soap.task "a.write" 0 (%a = %new : !soap.shard<tensor<32xf32>, on 0>, %c = %pa : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"a.write":0, [0:32]>) {
    %0 = nn.write %a, %c {nn.name = "a.write"} : tensor<32xf32>
    soap.return %0 : tensor<32xf32>
  }
  soap.discard %a_write : !soap.shard<tensor<32xf32>, on 0>
  soap.discard %b_write : !soap.shard<tensor<32xf32>, on 0>
  return
}

// -----

// Tests that the number of the step lies in the memory of the device, starts at
// 0 and is written by the row that reads it.

// CHECK-LABEL: soaprt.device @d0
// CHECK: %[[COUNT:[0-9]+]] = soaprt.buffer : <i64, parameters>
// CHECK: soaprt.load "s" from #nn.splat<0 : i64> of tensor<i64> at [] into %[[COUNT]]
// CHECK: soaprt.main {
// CHECK: soaprt.launch "s" @{{.*}}(%[[COUNT]] : {{.*}}) to(%[[COUNT]], %{{.*}}, %{{.*}}, %{{.*}} :
func.func @main() {
  %n:4 = soap.task "s" 0 phase init () -> (!soap.shard<tensor<i64>, on 0> as #soap.box<"s":0, []>, !soap.shard<tensor<f32>, on 0> as #soap.box<"s":1, []>, !soap.shard<tensor<f32>, on 0> as #soap.box<"s":2, []>, !soap.shard<tensor<f32>, on 0> as #soap.box<"s":3, []>) {
    %0:4 = nn.schedule {nn.name = "s", kind = 0 : i32, rate = 0.5 : f64} : () -> (tensor<i64>, tensor<f32>, tensor<f32>, tensor<f32>)
    soap.return %0#0, %0#1, %0#2, %0#3 : tensor<i64>, tensor<f32>, tensor<f32>, tensor<f32>
  }
  return
}

// -----

// Tests that slices of a table are updated where it lies, one look-up behind the
// other and behind the update of the whole, with no copy of it.

// CHECK-LABEL: soaprt.device @d0
// CHECK: %[[W:[0-9]+]] = soaprt.buffer : <8x4xf32, parameters>
// CHECK: soaprt.main "train" {
// CHECK: soaprt.launch "grad" @{{.*}}(%[[W]] : {{.*}}) to(%[[G:[0-9]+]] :
// CHECK: soaprt.launch "whole" @{{.*}}(%[[W]], %[[G]], %{{.*}} : {{.*}}) to(%[[W]] :
// CHECK: soaprt.launch "first" @{{.*}}(%[[W]], %{{.*}}, %{{.*}}, %{{.*}} : {{.*}}) to(%[[W]] :
// CHECK: soaprt.launch "second" @{{.*}}(%[[W]], %{{.*}}, %{{.*}}, %{{.*}} : {{.*}}) to(%[[W]] :
// CHECK-NOT: soaprt.copy
// CHECK: soaprt.tile "first" : 0 of tensor<8x4xf32> at [0, 0] program "train" in %[[W]]
func.func @main() {
  %w = soap.task "w" 0 phase init () -> (!soap.shard<tensor<8x4xf32>, on 0> as #soap.box<"w":0, [0:8, 0:4]>) {
    %0 = nn.parameter {nn.name = "w"} : tensor<8x4xf32> from #nn.splat<4.0 : f32>
    soap.return %0 : tensor<8x4xf32>
  }
  %r = soap.task "r" 0 phase init () -> (!soap.shard<tensor<f32>, on 0> as #soap.box<"r":0, []>) {
    %0 = nn.constant dense<0.5> : tensor<f32> {nn.name = "r"}
    soap.return %0 : tensor<f32>
  }
  %i = soap.task "i" 0 phase init () -> (!soap.shard<tensor<3x1xi64>, on 0> as #soap.box<"i":0, [0:3, 0:1]>) {
    %0 = nn.constant dense<[[1], [7], [1]]> : tensor<3x1xi64> {nn.name = "i"}
    soap.return %0 : tensor<3x1xi64>
  }
  %g = soap.task "g" 0 phase init () -> (!soap.shard<tensor<3x4xf32>, on 0> as #soap.box<"g":0, [0:3, 0:4]>) {
    %0 = nn.parameter {nn.name = "g"} : tensor<3x4xf32> from #nn.splat<1.0 : f32>
    soap.return %0 : tensor<3x4xf32>
  }
  %grad = soap.task "grad" 0 (%a = %w : !soap.shard<tensor<8x4xf32>, on 0>) -> (!soap.shard<tensor<8x4xf32>, on 0> as #soap.box<"grad":0, [0:8, 0:4]>) {
    %0 = nn.tanh %a {nn.name = "grad"} : tensor<8x4xf32>
    soap.return %0 : tensor<8x4xf32>
  }
  %whole = soap.task "whole" 0 (%a = %w : !soap.shard<tensor<8x4xf32>, on 0>, %b = %grad : !soap.shard<tensor<8x4xf32>, on 0>, %s = %r : !soap.shard<tensor<f32>, on 0>) -> (!soap.shard<tensor<8x4xf32>, on 0> as #soap.box<"whole":0, [0:8, 0:4]>) {
    %0 = nn.sgd %a, %b, %s {nn.name = "whole"} : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
    soap.return %0 : tensor<8x4xf32>
  }
  %first = soap.task "first" 0 (%a = %whole : !soap.shard<tensor<8x4xf32>, on 0>, %b = %i : !soap.shard<tensor<3x1xi64>, on 0>, %c = %g : !soap.shard<tensor<3x4xf32>, on 0>, %s = %r : !soap.shard<tensor<f32>, on 0>) -> (!soap.shard<tensor<8x4xf32>, on 0> as #soap.box<"first":0, [0:8, 0:4]>) {
    %0 = nn.sparse_sgd %a, %b, %c, %s {nn.name = "first"} : (tensor<8x4xf32>, tensor<3x1xi64>, tensor<3x4xf32>, tensor<f32>) -> tensor<8x4xf32>
    soap.return %0 : tensor<8x4xf32>
  }
  %second = soap.task "second" 0 (%a = %first : !soap.shard<tensor<8x4xf32>, on 0>, %b = %i : !soap.shard<tensor<3x1xi64>, on 0>, %c = %g : !soap.shard<tensor<3x4xf32>, on 0>, %s = %r : !soap.shard<tensor<f32>, on 0>) -> (!soap.shard<tensor<8x4xf32>, on 0> as #soap.box<"second":0, [0:8, 0:4]>) {
    %0 = nn.sparse_sgd %a, %b, %c, %s {nn.name = "second"} : (tensor<8x4xf32>, tensor<3x1xi64>, tensor<3x4xf32>, tensor<f32>) -> tensor<8x4xf32>
    soap.return %0 : tensor<8x4xf32>
  }
  %v = soap.task "w.write" 0 (%a = %second : !soap.shard<tensor<8x4xf32>, on 0>, %c = %w : !soap.shard<tensor<8x4xf32>, on 0>) -> (!soap.shard<tensor<8x4xf32>, on 0> as #soap.box<"w.write":0, [0:8, 0:4]>) {
    %0 = nn.write %a, %c {nn.name = "w.write"} : tensor<8x4xf32>
    soap.return %0 : tensor<8x4xf32>
  }
  soap.discard %v : !soap.shard<tensor<8x4xf32>, on 0>
  return
}

// -----

// Tests that what is updated is a copy if something reads the old value later.

// CHECK-LABEL: soaprt.device @d0
// CHECK: %[[W:[0-9]+]] = soaprt.buffer : <8x4xf32, parameters>
// CHECK: soaprt.main "train" {
// CHECK: soaprt.copy "update"(%[[W]] : {{.*}}) to(%[[N:[0-9]+]] : {{.*}}) [#soaprt.box<[0, 0] to [0, 0] sizes [8, 4]>]
// CHECK: soaprt.launch "update" @{{.*}}(%[[N]], %{{.*}}, %{{.*}}, %{{.*}} : {{.*}}) to(%[[N]] :
// CHECK: soaprt.launch "late" @{{.*}}(%[[W]] :
// CHECK: soaprt.copy "w.write"(%[[N]] : {{.*}}) to(%[[W]] :
func.func @main() {
  %w = soap.task "w" 0 phase init () -> (!soap.shard<tensor<8x4xf32>, on 0> as #soap.box<"w":0, [0:8, 0:4]>) {
    %0 = nn.parameter {nn.name = "w"} : tensor<8x4xf32> from #nn.splat<4.0 : f32>
    soap.return %0 : tensor<8x4xf32>
  }
  %r = soap.task "r" 0 phase init () -> (!soap.shard<tensor<f32>, on 0> as #soap.box<"r":0, []>) {
    %0 = nn.constant dense<0.5> : tensor<f32> {nn.name = "r"}
    soap.return %0 : tensor<f32>
  }
  %i = soap.task "i" 0 phase init () -> (!soap.shard<tensor<3x1xi64>, on 0> as #soap.box<"i":0, [0:3, 0:1]>) {
    %0 = nn.constant dense<[[1], [7], [1]]> : tensor<3x1xi64> {nn.name = "i"}
    soap.return %0 : tensor<3x1xi64>
  }
  %g = soap.task "g" 0 phase init () -> (!soap.shard<tensor<3x4xf32>, on 0> as #soap.box<"g":0, [0:3, 0:4]>) {
    %0 = nn.parameter {nn.name = "g"} : tensor<3x4xf32> from #nn.splat<1.0 : f32>
    soap.return %0 : tensor<3x4xf32>
  }
  %update = soap.task "update" 0 (%a = %w : !soap.shard<tensor<8x4xf32>, on 0>, %b = %i : !soap.shard<tensor<3x1xi64>, on 0>, %c = %g : !soap.shard<tensor<3x4xf32>, on 0>, %s = %r : !soap.shard<tensor<f32>, on 0>) -> (!soap.shard<tensor<8x4xf32>, on 0> as #soap.box<"update":0, [0:8, 0:4]>) {
    %0 = nn.sparse_sgd %a, %b, %c, %s {nn.name = "update"} : (tensor<8x4xf32>, tensor<3x1xi64>, tensor<3x4xf32>, tensor<f32>) -> tensor<8x4xf32>
    soap.return %0 : tensor<8x4xf32>
  }
  %late = soap.task "late" 0 (%a = %w : !soap.shard<tensor<8x4xf32>, on 0>) -> (!soap.shard<tensor<8x4xf32>, on 0> as #soap.box<"late":0, [0:8, 0:4]>) {
    %0 = nn.tanh %a {nn.name = "late"} : tensor<8x4xf32>
    soap.return %0 : tensor<8x4xf32>
  }
  %v = soap.task "w.write" 0 (%a = %update : !soap.shard<tensor<8x4xf32>, on 0>, %c = %w : !soap.shard<tensor<8x4xf32>, on 0>) -> (!soap.shard<tensor<8x4xf32>, on 0> as #soap.box<"w.write":0, [0:8, 0:4]>) {
    %0 = nn.write %a, %c {nn.name = "w.write"} : tensor<8x4xf32>
    soap.return %0 : tensor<8x4xf32>
  }
  soap.discard %v : !soap.shard<tensor<8x4xf32>, on 0>
  soap.discard %late : !soap.shard<tensor<8x4xf32>, on 0>
  return
}

// -----

// Tests that a table whose own rows are the slices is copied first.

// CHECK-LABEL: soaprt.device @d0
// CHECK: %[[W:[0-9]+]] = soaprt.buffer : <8x4xf32, parameters>
// CHECK: soaprt.main "train" {
// CHECK: soaprt.copy "update"(%[[W]] : {{.*}}) to(%[[N:[0-9]+]] :
// CHECK: soaprt.launch "update" @{{.*}}(%[[N]], %{{.*}}, %[[W]], %{{.*}} : {{.*}}) to(%[[N]] :
func.func @main() {
  %w = soap.task "w" 0 phase init () -> (!soap.shard<tensor<8x4xf32>, on 0> as #soap.box<"w":0, [0:8, 0:4]>) {
    %0 = nn.parameter {nn.name = "w"} : tensor<8x4xf32> from #nn.splat<4.0 : f32>
    soap.return %0 : tensor<8x4xf32>
  }
  %r = soap.task "r" 0 phase init () -> (!soap.shard<tensor<f32>, on 0> as #soap.box<"r":0, []>) {
    %0 = nn.constant dense<0.5> : tensor<f32> {nn.name = "r"}
    soap.return %0 : tensor<f32>
  }
  %i = soap.task "i" 0 phase init () -> (!soap.shard<tensor<3x1xi64>, on 0> as #soap.box<"i":0, [0:3, 0:1]>) {
    %0 = nn.constant dense<[[1], [7], [1]]> : tensor<3x1xi64> {nn.name = "i"}
    soap.return %0 : tensor<3x1xi64>
  }
  %g = soap.task "g" 0 phase init () -> (!soap.shard<tensor<3x4xf32>, on 0> as #soap.box<"g":0, [0:3, 0:4]>) {
    %0 = nn.parameter {nn.name = "g"} : tensor<3x4xf32> from #nn.splat<1.0 : f32>
    soap.return %0 : tensor<3x4xf32>
  }
  %all = soap.task "all" 0 phase init () -> (!soap.shard<tensor<8x1xi64>, on 0> as #soap.box<"all":0, [0:8, 0:1]>) {
    %0 = nn.constant dense<2> : tensor<8x1xi64> {nn.name = "all"}
    soap.return %0 : tensor<8x1xi64>
  }
  %update = soap.task "update" 0 (%a = %w : !soap.shard<tensor<8x4xf32>, on 0>, %b = %all : !soap.shard<tensor<8x1xi64>, on 0>, %c = %w : !soap.shard<tensor<8x4xf32>, on 0>, %s = %r : !soap.shard<tensor<f32>, on 0>) -> (!soap.shard<tensor<8x4xf32>, on 0> as #soap.box<"update":0, [0:8, 0:4]>) {
    %0 = nn.sparse_sgd %a, %b, %c, %s {nn.name = "update"} : (tensor<8x4xf32>, tensor<8x1xi64>, tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
    soap.return %0 : tensor<8x4xf32>
  }
  %v = soap.task "w.write" 0 (%a = %update : !soap.shard<tensor<8x4xf32>, on 0>, %c = %w : !soap.shard<tensor<8x4xf32>, on 0>) -> (!soap.shard<tensor<8x4xf32>, on 0> as #soap.box<"w.write":0, [0:8, 0:4]>) {
    %0 = nn.write %a, %c {nn.name = "w.write"} : tensor<8x4xf32>
    soap.return %0 : tensor<8x4xf32>
  }
  soap.discard %v : !soap.shard<tensor<8x4xf32>, on 0>
  return
}

// -----

// Tests that an update whose result something else reads, too, leaves it as it is.

// CHECK-LABEL: soaprt.device @d0
// CHECK: %[[W:[0-9]+]] = soaprt.buffer : <8x4xf32, parameters>
// CHECK: soaprt.main "train" {
// CHECK: soaprt.launch "first" @{{.*}}(%[[F:[0-9]+]], %{{.*}} : {{.*}}) to(%[[F]] :
// CHECK: soaprt.copy "second"(%[[F]] : {{.*}}) to(%[[S:[0-9]+]] :
// CHECK: soaprt.launch "second" @{{.*}}(%[[S]], %{{.*}} : {{.*}}) to(%[[S]] :
// CHECK: soaprt.launch "late" @{{.*}}(%[[F]] :
// CHECK: soaprt.copy "w.write"(%[[S]] : {{.*}}) to(%[[W]] :
func.func @main() {
  %w = soap.task "w" 0 phase init () -> (!soap.shard<tensor<8x4xf32>, on 0> as #soap.box<"w":0, [0:8, 0:4]>) {
    %0 = nn.parameter {nn.name = "w"} : tensor<8x4xf32> from #nn.splat<4.0 : f32>
    soap.return %0 : tensor<8x4xf32>
  }
  %r = soap.task "r" 0 phase init () -> (!soap.shard<tensor<f32>, on 0> as #soap.box<"r":0, []>) {
    %0 = nn.constant dense<0.5> : tensor<f32> {nn.name = "r"}
    soap.return %0 : tensor<f32>
  }
  %i = soap.task "i" 0 phase init () -> (!soap.shard<tensor<3x1xi64>, on 0> as #soap.box<"i":0, [0:3, 0:1]>) {
    %0 = nn.constant dense<[[1], [7], [1]]> : tensor<3x1xi64> {nn.name = "i"}
    soap.return %0 : tensor<3x1xi64>
  }
  %g = soap.task "g" 0 phase init () -> (!soap.shard<tensor<3x4xf32>, on 0> as #soap.box<"g":0, [0:3, 0:4]>) {
    %0 = nn.parameter {nn.name = "g"} : tensor<3x4xf32> from #nn.splat<1.0 : f32>
    soap.return %0 : tensor<3x4xf32>
  }
  %first = soap.task "first" 0 (%a = %w : !soap.shard<tensor<8x4xf32>, on 0>, %b = %i : !soap.shard<tensor<3x1xi64>, on 0>, %c = %g : !soap.shard<tensor<3x4xf32>, on 0>, %s = %r : !soap.shard<tensor<f32>, on 0>) -> (!soap.shard<tensor<8x4xf32>, on 0> as #soap.box<"first":0, [0:8, 0:4]>) {
    %0 = nn.sparse_sgd %a, %b, %c, %s {nn.name = "first"} : (tensor<8x4xf32>, tensor<3x1xi64>, tensor<3x4xf32>, tensor<f32>) -> tensor<8x4xf32>
    soap.return %0 : tensor<8x4xf32>
  }
  %second = soap.task "second" 0 (%a = %first : !soap.shard<tensor<8x4xf32>, on 0>, %b = %i : !soap.shard<tensor<3x1xi64>, on 0>, %c = %g : !soap.shard<tensor<3x4xf32>, on 0>, %s = %r : !soap.shard<tensor<f32>, on 0>) -> (!soap.shard<tensor<8x4xf32>, on 0> as #soap.box<"second":0, [0:8, 0:4]>) {
    %0 = nn.sparse_sgd %a, %b, %c, %s {nn.name = "second"} : (tensor<8x4xf32>, tensor<3x1xi64>, tensor<3x4xf32>, tensor<f32>) -> tensor<8x4xf32>
    soap.return %0 : tensor<8x4xf32>
  }
  %late = soap.task "late" 0 (%a = %first : !soap.shard<tensor<8x4xf32>, on 0>) -> (!soap.shard<tensor<8x4xf32>, on 0> as #soap.box<"late":0, [0:8, 0:4]>) {
    %0 = nn.tanh %a {nn.name = "late"} : tensor<8x4xf32>
    soap.return %0 : tensor<8x4xf32>
  }
  %v = soap.task "w.write" 0 (%a = %second : !soap.shard<tensor<8x4xf32>, on 0>, %c = %w : !soap.shard<tensor<8x4xf32>, on 0>) -> (!soap.shard<tensor<8x4xf32>, on 0> as #soap.box<"w.write":0, [0:8, 0:4]>) {
    %0 = nn.write %a, %c {nn.name = "w.write"} : tensor<8x4xf32>
    soap.return %0 : tensor<8x4xf32>
  }
  soap.discard %v : !soap.shard<tensor<8x4xf32>, on 0>
  soap.discard %late : !soap.shard<tensor<8x4xf32>, on 0>
  return
}
