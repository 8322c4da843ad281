// Tests that the data-parallel strategy splits sample loops and replicates
// parameters, and that ends of the graph live on the host.
// RUN: soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=2 \
// RUN:   -soap-init-strategy=strategy=data-parallel -soap-verify-strategy | FileCheck %s --check-prefix=DATA
// DATA: soap.topology @machine
// DATA: nn.input {nn.name = "x", {{.*}}soap.config = #soap.config<{} on [host]>
// DATA: nn.parameter {nn.name = "w", soap.config = #soap.config<{} replicate = 2 on [0, 1]>
// DATA: nn.conv {{.*}}nn.name = "conv"{{.*}}soap.config = #soap.config<{n = 2} on [0, 1]>
// DATA: nn.matmul {{.*}}nn.name = "fc"{{.*}}soap.config = #soap.config<{n = 2} on [0, 1]>
// DATA: nn.output {{.*}}soap.config = #soap.config<{} on [host]>

// Tests that data parallelism takes no more devices than there are samples.
// RUN: soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=12 \
// RUN:   -soap-init-strategy=strategy=data-parallel | FileCheck %s --check-prefix=WIDE
// WIDE: nn.conv {{.*}}soap.config = #soap.config<{n = 8} on [0 to 7]>

// Tests that a published machine is attached by its name, and that devices are
// those of its nodes.
// RUN: soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=name=dgx-a100:nodes=2,memory=40 \
// RUN:   -soap-init-strategy=strategy=data-parallel | FileCheck %s --check-prefix=NAMED
// NAMED: soap.topology @machine
// NAMED: {id = 15 : i64, kind = "A100-SXM4-40GB", memory_bytes = 42949672960 : i64, node = 1 : i64}
// NAMED: name = "dgx-a100-40gb-2x8"
// NAMED: nn.conv {{.*}}soap.config = #soap.config<{n = 8} on [0 to 7]>

// Tests that model parallelism puts blocks of operations on devices.
// RUN: soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=2 \
// RUN:   -soap-init-strategy=strategy=model-parallel | FileCheck %s --check-prefix=MODEL
// MODEL: nn.conv {{.*}}soap.config = #soap.config<{} on [0]>
// MODEL: nn.matmul {{.*}}soap.config = #soap.config<{} on [1]>

// Tests that tensor parallelism splits the output features of weights.
// RUN: soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=2 \
// RUN:   -soap-init-strategy=strategy=tensor-parallel | FileCheck %s --check-prefix=TENSOR
// TENSOR: nn.parameter {nn.name = "w", soap.config = #soap.config<{d0 = 2} on [0, 1]>
// TENSOR: nn.conv {{.*}}soap.config = #soap.config<{f = 2} on [0, 1]>

// Tests that "one weird trick" splits convolutions by sample and fully connected
// layers by output channel.
// RUN: soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=2 \
// RUN:   -soap-init-strategy=strategy=owt -soap-verify-strategy | FileCheck %s --check-prefix=OWT
// OWT: nn.conv {{.*}}soap.config = #soap.config<{n = 2} on [0, 1]>
// OWT: nn.relu {{.*}}soap.config = #soap.config<{d0 = 2} on [0, 1]>
// OWT: nn.parameter {nn.name = "v", soap.config = #soap.config<{d1 = 2} on [0, 1]>
// OWT: nn.matmul {{.*}}soap.config = #soap.config<{f = 2} on [0, 1]>

// Tests that the expert strategy for recurrent networks gives every layer, with
// what follows it, a device of its own, and that steps that share weights stay
// together.
// RUN: soap-opt %S/Inputs/lstm-layers.mlir -soap-attach-topology=devices=3 \
// RUN:   -soap-init-strategy=strategy=expert-rnn -soap-verify-strategy | FileCheck %s --check-prefix=RNN
// RNN: nn.lstm {{.*}}nn.name = "layer1.step1"{{.*}}soap.config = #soap.config<{} on [0]>
// RNN: nn.lstm {{.*}}nn.name = "layer1.step2"{{.*}}soap.config = #soap.config<{} on [0]>
// RNN: nn.lstm {{.*}}nn.name = "layer2.step1"{{.*}}soap.config = #soap.config<{} on [1]>
// RNN: nn.lstm {{.*}}nn.name = "layer2.step2"{{.*}}soap.config = #soap.config<{} on [1]>
// RNN: nn.matmul {{.*}}nn.name = "fc"{{.*}}soap.config = #soap.config<{} on [2]>

// Tests that an unknown strategy is an error that lists the known ones.
// RUN: not soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology -soap-init-strategy=strategy=best 2>&1 \
// RUN:   | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: expected a strategy single, data-parallel, zero-1, fsdp, model-parallel, tensor-parallel, spatial, owt, expert-rnn, random, zero-2, random-uniform or random-team, got: 'best'

// Tests that a random strategy depends on its seed alone.
// RUN: soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=4 '-soap-init-strategy=strategy=random seed=3' -o %t.a
// RUN: soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=4 '-soap-init-strategy=strategy=random seed=3' -o %t.b
// RUN: soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=4 '-soap-init-strategy=strategy=random seed=4' -o %t.c
// RUN: cmp %t.a %t.b
// RUN: not cmp %t.a %t.c

// Tests that an exported strategy imports as the same attributes.
// RUN: soap-opt %t.a -soap-export-strategy=file=%t.json -o /dev/null
// RUN: soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=4 -soap-import-strategy=file=%t.json -o %t.d
// RUN: cmp %t.a %t.d
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t.json
// JSON: "format": "soap-strategy"
// JSON: "model_fingerprint": "{{[0-9a-f]+}}"
// JSON: "topology": "machine-4"

// Tests that regular expressions name operations, and that the launch order of
// the file becomes block order.
// RUN: soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=2 -soap-import-strategy=file=%S/Inputs/by-hand.json \
// RUN:   | FileCheck %s --check-prefix=HAND
// HAND: nn.parameter {nn.name = "v"
// HAND: nn.conv {{.*}}soap.config = #soap.config<{h = 2} on [1, 0]>
// HAND: nn.relu {{.*}}soap.config = #soap.config<{} on [0]>
// HAND: nn.matmul {{.*}}soap.config = #soap.config<{} on [0]>

// Tests that a simulation annotates operations and prints the table.
// RUN: soap-opt %t.d -soap-simulate=report=1 -o %t.e | FileCheck %s --check-prefix=TABLE
// RUN: FileCheck %s --check-prefix=TIMES --input-file=%t.e
// TABLE: op {{.*}}kind {{.*}}degrees {{.*}}devices {{.*}}simulated us {{.*}}bytes sent
// TABLE: conv {{.*}}nn.conv
// TABLE: simulated step time: {{[0-9.]+}} ms
// TIMES: func.func @main() attributes {soap.simulated_ns = {{[0-9]+}} : i64}
// TIMES: nn.conv {{.*}}soap.times = [array<i64: {{[0-9]+}}, {{[0-9]+}}, {{[0-9]+}}>

// Tests that a search with a limit on proposals is repeatable and not worse
// than data parallelism, its start.
// RUN: soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=2 '-soap-search=proposals=500 seed=1' -o %t.f
// RUN: soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=2 '-soap-search=proposals=500 seed=1' -o %t.g
// RUN: cmp %t.f %t.g
// RUN: soap-opt %t.f -soap-verify-strategy | FileCheck %s --check-prefix=FOUND
// FOUND: nn.conv {{.*}}soap.config
