// RUN: soap-opt %s -soap-attach-topology=devices=2 '-soap-schedule=policy=program report' 2>&1 | FileCheck %s --check-prefix=PROGRAM
// RUN: soap-opt %s -soap-attach-topology=devices=2 '-soap-schedule=policy=fifo report' 2>&1 | FileCheck %s --check-prefix=FIFO
// RUN: soap-opt %s -soap-attach-topology=devices=2 '-soap-schedule=policy=critical-path report' 2>&1 | FileCheck %s --check-prefix=PATH
// RUN: soap-opt %s -soap-attach-topology=devices=2 '-soap-schedule=policy=critical-path' -soap-partition -soap-schedule | FileCheck %s --check-prefix=TASKS
// RUN: soap-compile %s --schedule=fifo --export-strategy=%t.fifo.json --emit=strategy | FileCheck %s --check-prefix=COMPILED
// RUN: soap-compile %s --schedule=critical-path --emit=strategy --print-strategy | FileCheck %s --check-prefix=TABLE
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t.fifo.json
// RUN: soap-opt %s -soap-attach-topology=devices=2 -soap-partition '-soap-schedule=policy=fifo report' 2>&1 | FileCheck %s --check-prefix=TASKFIFO
// RUN: soap-opt %s -soap-attach-topology=devices=2 -soap-partition '-soap-schedule=policy=critical-path' -soap-verify-partition | FileCheck %s --check-prefix=TASKPATH
// RUN: soap-opt %s -soap-partition '-soap-schedule=policy=program' | not soap-opt -soap-schedule=policy=fifo 2>&1 | FileCheck %s --check-prefix=TOPOLOGY
// RUN: not soap-opt %s -soap-attach-topology=devices=2 -soap-schedule=policy=simulated 2>&1 | FileCheck %s --check-prefix=EARLY
// RUN: not soap-opt %s -soap-schedule=policy=best 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not soap-opt %s -soap-schedule=policy=fifo 2>&1 | FileCheck %s --check-prefix=TOPOLOGY
// RUN: not soap-compile %s --schedule=best --emit=strategy 2>&1 | FileCheck %s --check-prefix=OPTION

// Device 0 has "late" to do, which waits for device 1, and two that are ready:
// "leaf", which nobody waits for, and "long", the first of three.

// Tests that the order of the program stays.
// PROGRAM: nn.matmul {{.*}}"remote"
// PROGRAM: nn.matmul {{.*}}"late"
// PROGRAM: nn.matmul {{.*}}"leaf"
// PROGRAM: nn.matmul {{.*}}"long"

// Tests that fifo launches what is ready, in the order of the graph.
// FIFO: remark: schedule: policy fifo, simulated step time {{[0-9]+}} ns
// FIFO: nn.matmul {{.*}}"remote"
// FIFO-NEXT: nn.matmul {{.*}}"leaf"
// FIFO-NEXT: nn.matmul {{.*}}"long"
// FIFO: nn.matmul {{.*}}"late"

// Tests that critical-path launches what most waits for.
// PATH: remark: schedule: policy critical-path, simulated step time {{[0-9]+}} ns
// PATH-DAG: nn.matmul {{.*}}"remote"
// PATH-DAG: nn.matmul {{.*}}"long"
// PATH: nn.matmul {{.*}}"leaf"

// Tests that tasks follow.
// TASKS: soap.task "long" 0
// TASKS: soap.task "leaf" 0

// Tests the same as a decision of soap-compile.
// COMPILED: nn.matmul {{.*}}"leaf"
// COMPILED: nn.matmul {{.*}}"late"
// JSON: "order": [
// JSON: "remote",
// JSON: "leaf",
// JSON: "long",
// TABLE: by launch order: program {{[0-9.]+}} ms, fifo {{[0-9.]+}} ms, critical-path {{[0-9.]+}} ms

// Tests that tasks alone are ordered in the same way.
// TASKFIFO: remark: schedule: {{[0-9]+}} rows, {{.*}} none circular
// TASKFIFO: soap.task "leaf" 0
// TASKFIFO: soap.task "long" 0
// TASKFIFO: soap.task "late" 0
// TASKPATH: soap.task "long" 0
// TASKPATH: soap.task "leaf" 0

// Tests what policies need.
// EARLY: error: expected policy=program, fifo or critical-path before soap-partition, got: simulated
// UNKNOWN: error: expected policy=program, fifo, critical-path, simulated, block, got: best
// TOPOLOGY: error: expected a soap.topology in the module, got none
// OPTION: error: expected --schedule=program or fifo or critical-path, got: 'best'
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<256x256xf32>
  %w = nn.parameter {nn.name = "w", soap.config = #soap.config<{} replicate = 2 on [0, 1]>} : tensor<256x256xf32> from #nn.splat<0.01 : f32>
  %remote = nn.matmul %x, %w {nn.name = "remote", soap.config = #soap.config<{} on [1]>} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %late = nn.matmul %remote, %w {nn.name = "late", soap.config = #soap.config<{} on [0]>} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %leaf = nn.matmul %x, %w {nn.name = "leaf", soap.config = #soap.config<{} on [0]>} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %long = nn.matmul %x, %w {nn.name = "long", soap.config = #soap.config<{} on [0]>} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %second = nn.matmul %long, %w {nn.name = "second", soap.config = #soap.config<{} on [1]>} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %third = nn.matmul %second, %w {nn.name = "third", soap.config = #soap.config<{} on [1]>} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  nn.output %late {nn.name = "a"} : tensor<256x256xf32>
  nn.output %leaf {nn.name = "b"} : tensor<256x256xf32>
  nn.output %third {nn.name = "c"} : tensor<256x256xf32>
  return
}
