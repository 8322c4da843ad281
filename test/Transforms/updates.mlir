// Tests that zero-1 shards the update of a parameter, its state, what the norm of
// gradients needs of it and the parameter itself over the devices that data
// parallel copies it to, and leaves small parameters as they are.
// RUN: soap-opt %s -nn-build-training-step='loss=mean-squared-error optimizer=sgd momentum=0.5 clip-norm=1.0' \
// RUN:   -soap-attach-topology=devices=4 -o %t.step.mlir
// RUN: soap-opt %t.step.mlir -soap-init-strategy=strategy=zero-1 -soap-verify-strategy -o %t.zero.mlir
// RUN: FileCheck %s --check-prefix=ZERO < %t.zero.mlir
// ZERO: nn.parameter {nn.name = "w", soap.config = #soap.config<{d0 = 4} on [0 to 3]>}
// ZERO: nn.parameter {nn.name = "b", soap.config = #soap.config<{} replicate = 4 on [0 to 3]>}
// ZERO: nn.matmul {{.*}}nn.name = "fc", soap.config = #soap.config<{n = 4} on [0 to 3]>
// ZERO: nn.mul {{.*}}nn.name = "w.square", nn.update = "w.update", soap.config = #soap.config<{d0 = 4} on [0 to 3]>
// ZERO: nn.reduce {{.*}}nn.update = "w.update", soap.config = #soap.config<{d0 = 4} on [0 to 3]>
// ZERO: nn.mul {{.*}}nn.name = "b.square", nn.update = "b.update", soap.config = #soap.config<{} replicate = 4 on [0 to 3]>
// ZERO: nn.parameter {nn.name = "w.velocity", soap.config = #soap.config<{d0 = 4} on [0 to 3]>}
// ZERO: nn.momentum {{.*}}nn.name = "w.update", soap.config = #soap.config<{d0 = 4} on [0 to 3]>
// ZERO: nn.write {{.*}}nn.name = "w.write", nn.update = "w.update", soap.config = #soap.config<{d0 = 4} on [0 to 3]>
// ZERO: nn.write {{.*}}nn.name = "w.velocity.write", nn.update = "w.update", soap.config = #soap.config<{d0 = 4} on [0 to 3]>

// Tests that its gradient is reduced to the shards alone, and that the parameter
// is gathered once.
// RUN: soap-opt %t.zero.mlir -soap-partition | FileCheck %s --check-prefix=MOVES
// MOVES: soap.all_gather {{.*}}#soap.box<"w":0
// MOVES-NOT: soap.all_gather {{.*}}#soap.box<"w":0
// MOVES: soap.reduce_scatter {{.*}}#soap.box<"fc.grad":0, [48:64, 0:96]>
// MOVES-NOT: soap.all_gather {{.*}}#soap.box<"w":0

// Tests that zero-2 is the same.
// RUN: soap-opt %t.step.mlir -soap-init-strategy=strategy=zero-2 | diff %t.zero.mlir -

// Tests that a strategy file names parameters whose updates have configurations
// of their own, and no others.
// RUN: soap-opt %t.zero.mlir -soap-export-strategy=file=%t.json -o %t.none
// RUN: FileCheck %s --check-prefix=FILE < %t.json
// RUN: soap-opt %t.step.mlir -soap-import-strategy=file=%t.json | diff %t.zero.mlir -
// FILE: "parameters": [
// FILE-NEXT: {
// FILE-NEXT: "degrees": {
// FILE-NEXT: "d0": 4
// FILE-NEXT: },
// FILE-NEXT: "devices": [
// FILE: "parameter": "w"
// FILE-NOT: "parameter"
// RUN: soap-opt %t.step.mlir -soap-init-strategy=strategy=data-parallel -soap-export-strategy=file=%t.data.json -o %t.none
// RUN: not grep parameters %t.data.json

// Tests that updates may be anywhere, by a regular expression, and that the last
// entry wins.
// RUN: echo '{"ops": [{"op": ".*", "devices": [0]}], "parameters": [{"parameter": ".", "devices": [2]}, {"parameter": "w", "degrees": {"d1": 3}, "replicate": 2, "devices": [1, 2, 3, 1, 0, 2]}]}' > %t.any.json
// RUN: soap-opt %t.step.mlir -soap-import-strategy=file=%t.any.json -soap-verify-strategy | FileCheck %s --check-prefix=ANY
// ANY: nn.parameter {nn.name = "w", soap.config = #soap.config<{d1 = 3} replicate = 2 on [1 to 3, 1, 0, 2]>}
// ANY: nn.parameter {nn.name = "b", soap.config = #soap.config<{} on [2]>}
// ANY: nn.matmul {{.*}}nn.name = "fc", soap.config = #soap.config<{} on [0]>
// ANY: nn.write {{.*}}nn.name = "b.write"{{.*}}soap.config = #soap.config<{} on [2]>

// Tests that mistakes are errors: a parameter that there is not, or that is not
// updated; a dimension that it has not; another key; no list.
// RUN: sed 's/"parameter": "w"/"parameter": "ww"/' %t.any.json > %t.bad.json
// RUN: not soap-opt %t.step.mlir -soap-import-strategy=file=%t.bad.json 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: error: {{.*}}parameter 1 ('ww'): expected the name of a parameter that the model updates, or a regular expression that matches some, got: 'ww'; did you mean 'w'?
// RUN: sed 's/"d1": 3/"d2": 3/' %t.any.json > %t.bad.json
// RUN: not soap-opt %t.step.mlir -soap-import-strategy=file=%t.bad.json 2>&1 | FileCheck %s --check-prefix=LOOP
// LOOP: error: {{.*}}parameter 1 ('w'): expected loops of node 'w.update' (d0, d1) in 'degrees', got: 'd2'
// RUN: sed 's/"replicate": 2/"gather": true/' %t.any.json > %t.bad.json
// RUN: not soap-opt %t.step.mlir -soap-import-strategy=file=%t.bad.json 2>&1 | FileCheck %s --check-prefix=KEY
// KEY: error: {{.*}}parameter 1 ('w'): expected the keys parameter, degrees, replicate, devices, regather, got: 'gather'
// RUN: echo '{"ops": [{"op": ".*", "devices": [0]}], "parameters": {}}' > %t.bad.json
// RUN: not soap-opt %t.step.mlir -soap-import-strategy=file=%t.bad.json 2>&1 | FileCheck %s --check-prefix=LIST
// LIST: error: {{.*}}a strategy: expected 'parameters' to be an array, got: {}
// RUN: not soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=4 -soap-import-strategy=file=%t.any.json 2>&1 \
// RUN:   | FileCheck %s --check-prefix=INFERENCE
// INFERENCE: error: {{.*}}got: '.'; this model is no training step

// Tests that in IR, state that is split otherwise than its update is an error.
// RUN: sed '/w.velocity.write/s/{d0 = 4}/{d1 = 4}/' %t.zero.mlir > %t.apart.mlir
// RUN: not soap-opt %t.apart.mlir -soap-verify-strategy 2>&1 | FileCheck %s --check-prefix=STATE
// STATE: error: {{.*}}node 'w.velocity.write': expected the configuration that follows from that of its update's leader, 'w.update'; leave it out, or change the leader's

// Tests that configurations that are left out follow from that of the update.
// RUN: sed -E '/nn.name = "w.(velocity.)?write"/s/, soap.config = #soap.config<[^>]*>//' %t.zero.mlir > %t.some.mlir
// RUN: not diff %t.zero.mlir %t.some.mlir > %t.none
// RUN: soap-opt %t.some.mlir -soap-export-strategy=file=%t.some.json -o %t.none
// RUN: diff %t.json %t.some.json

func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<8x64xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<64x96xf32> from #nn.splat<0.5 : f32>
  %b = nn.parameter {nn.name = "b"} : tensor<96xf32> from #nn.splat<0.0 : f32>
  %y = nn.matmul %x, %w bias %b {nn.name = "fc"} : (tensor<8x64xf32>, tensor<64x96xf32>, tensor<96xf32>) -> tensor<8x96xf32>
  nn.output %y {nn.name = "scores"} : tensor<8x96xf32>
  return
}
