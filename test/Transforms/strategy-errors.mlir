// Tests that a strategy needs a topology.
// RUN: not soap-opt %S/Inputs/conv-fc.mlir -soap-init-strategy 2>&1 | FileCheck %s --check-prefix=TOPOLOGY
// TOPOLOGY: error: expected a soap.topology in the module, got none; run soap-attach-topology

// Tests that a strategy needs a model.
// RUN: echo 'func.func @main() { return }' | not soap-opt -soap-attach-topology=devices=2 -soap-init-strategy 2>&1 \
// RUN:   | FileCheck %s --check-prefix=EMPTY
// EMPTY: error: expected operations of the nn dialect in @main, got: none; import a model with soap-translate

// Tests that a machine needs a device.
// RUN: not soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=0 2>&1 | FileCheck %s --check-prefix=DEVICES
// DEVICES: error: expected at least one device, got: 0; ask for 1 or more

// Tests that the names of machines and their keys are known, with the nearest
// one, and that a machine is a file or a name.
// RUN: not soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=name=dgx-h10:nodes=2 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: error: expected a topology file (*.json) or one of the names {{.*}}dgx-h100{{.*}}, got: 'dgx-h10'; did you mean 'dgx-h100'
// RUN: not soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=name=p100:node=2 2>&1 | FileCheck %s --check-prefix=KEYNAME
// KEYNAME: error: expected nodes=N behind 'p100:', got: 'node=2'; did you mean 'nodes'?
// RUN: not soap-opt %S/Inputs/conv-fc.mlir '-soap-attach-topology=name=p100 file=%t.none' 2>&1 | FileCheck %s --check-prefix=TWO
// TWO: error: expected file= or name=, got: both; leave one of them out

// Tests that a topology file must exist.
// RUN: not soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=file=%t.none 2>&1 | FileCheck %s --check-prefix=FILE
// FILE: error: {{.*}}none

// Tests that strategies are read from and written to a file.
// RUN: not soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=2 -soap-import-strategy 2>&1 | FileCheck %s --check-prefix=IMPORT
// IMPORT: error: expected file=FILE.json, a strategy, got: none
// RUN: not soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=2 -soap-init-strategy -soap-export-strategy 2>&1 | FileCheck %s --check-prefix=EXPORT
// EXPORT: error: expected file=FILE.json to write, got: none

// Tests that an unknown strategy is answered by the known ones.
// RUN: not soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=2 -soap-init-strategy=strategy=fastest 2>&1 \
// RUN:   | FileCheck %s --check-prefix=STRATEGY
// STRATEGY: error: {{.*}}data-parallel{{.*}}fastest

// Tests that an unknown search algorithm is answered by the known ones.
// RUN: not soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=2 -soap-search=algorithm=magic 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SEARCH
// SEARCH: error: unknown search algorithm 'magic'; choose one of mcmc, exhaustive, optcnn

// Tests that this machine has a number of devices that is not too large, and that a strategy which cannot be written is
// an error.
// RUN: not soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=1000000 2>&1 | FileCheck %s --check-prefix=MANY
// MANY: error: expected at most 256 devices on this machine, got: 1000000; describe other machines in a topology file
// RUN: not soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=2 -soap-init-strategy -soap-export-strategy=file=/dev/full 2>&1 | FileCheck %s --check-prefix=FULL
// FULL: error: cannot write '/dev/full': No space left on device

// Tests that a search has a chain.
// RUN: not soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=2 -soap-search=chains=0 2>&1 | FileCheck %s --check-prefix=CHAINS
// CHAINS: error: expected 1 to 1000 Markov chains, got: 0

// Tests that operations without a configuration are listed.
// RUN: not soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=2 -soap-verify-strategy 2>&1 \
// RUN:   | FileCheck %s --check-prefix=MISSING
// MISSING: error: expected a soap.config on every operation; run soap-init-strategy
// MISSING: conv

// Tests that the strategy of another model is refused.
// RUN: sed -e 's/"ops"/"model_fingerprint": "0123456789abcdef", "ops"/' %S/Inputs/by-hand.json > %t.other.json
// RUN: not soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=2 -soap-import-strategy=file=%t.other.json 2>&1 \
// RUN:   | FileCheck %s --check-prefix=OTHER
// OTHER: error: {{.*}}0123456789abcdef

// Tests that a device that does not exist is refused.
// RUN: sed -e 's/\[1, 0\]/[7, 0]/' %S/Inputs/by-hand.json > %t.device.json
// RUN: not soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=2 -soap-import-strategy=file=%t.device.json 2>&1 \
// RUN:   | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: {{.*}}7

// Tests that a degree larger than the loop is refused.
// RUN: sed -e 's/"h": 2/"h": 9/' %S/Inputs/by-hand.json > %t.degree.json
// RUN: not soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=2 -soap-import-strategy=file=%t.degree.json 2>&1 \
// RUN:   | FileCheck %s --check-prefix=DEGREE
// DEGREE: error: {{.*}}conv{{.*}}9

// Tests that too little memory is an error that names the device.
// RUN: soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=1 -soap-init-strategy \
// RUN:   | sed -e 's/memory_bytes = [0-9]*/memory_bytes = 1000/' \
// RUN:   | not soap-opt -soap-verify-strategy 2>&1 | FileCheck %s --check-prefix=MEMORY
// MEMORY: error: {{.*}}device 0{{.*}}1000

// Tests that names, keys, loops, operands and policies that nobody knows are
// answered by the nearest.
// RUN: not soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=2 -soap-import-strategy=file=%S/Inputs/misspelled-op.json 2>&1 \
// RUN:   | FileCheck %s --check-prefix=OP
// OP: error: entry 1 ('cnv'): expected the name of a node of this model, or a regular expression that matches some, got: 'cnv'; did you mean 'conv'?
// RUN: sed -e 's/"cnv"/"bn.*"/' %S/Inputs/misspelled-op.json > %t.unmatched.json
// RUN: not soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=2 -soap-import-strategy=file=%t.unmatched.json 2>&1 \
// RUN:   | FileCheck %s --check-prefix=UNMATCHED
// UNMATCHED: error: entry 1 ('bn.*'): expected the name of a node of this model, or a regular expression that matches some, got: 'bn.*'; the strategy may be another model's
// RUN: sed -e 's/"cnv", "degrees"/"conv", "degree"/' %S/Inputs/misspelled-op.json > %t.key.json
// RUN: not soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=2 -soap-import-strategy=file=%t.key.json 2>&1 \
// RUN:   | FileCheck %s --check-prefix=KEY
// KEY: error: entry 1 ('conv'): expected the keys op, degrees, replicate, devices, regather, got: 'degree'; did you mean 'degrees'?
// RUN: sed -e 's/"ops"/"orders": "fifo", "ops"/' %S/Inputs/misspelled-op.json > %t.root.json
// RUN: not soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=2 -soap-import-strategy=file=%t.root.json 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ROOT
// ROOT: error: a strategy: expected the keys format, {{.*}}ops, parameters, got: 'orders'; did you mean 'order'?
// RUN: sed -e 's/"cnv".*}/"conv", "devices": [0], "regather": ["ww"]}/' %S/Inputs/misspelled-op.json > %t.regather.json
// RUN: not soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=2 -soap-import-strategy=file=%t.regather.json 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REGATHER
// REGATHER: error: entry 1 ('conv'): expected operands of node 'conv' in 'regather' (numbers below 2 or x, w), got: "ww"; did you mean 'w'?
// RUN: sed -e 's/"cnv"/"conv"/' -e 's/"ops"/"order": "critical", "ops"/' %S/Inputs/misspelled-op.json > %t.policy.json
// RUN: not soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=2 -soap-import-strategy=file=%t.policy.json 2>&1 \
// RUN:   | FileCheck %s --check-prefix=POLICY
// POLICY: error: expected 'order' to be "graph", "fifo", "critical-path" or a list of nodes, got: "critical"; did you mean 'critical-path'?
// RUN: sed -e 's/"cnv"/"conv"/' -e 's/"ops"/"order": ["conv", "relus"], "ops"/' %S/Inputs/misspelled-op.json > %t.order.json
// RUN: not soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=2 -soap-import-strategy=file=%t.order.json 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NODE
// NODE: error: expected names of nodes in the launch order, got: 'relus'; did you mean 'relu'?
// RUN: sed -e 's/"cnv"/"conv"/' -e 's/"ops"/"order": ["conv", "fc"], "ops"/' %S/Inputs/misspelled-op.json > %t.partial.json
// RUN: not soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=2 -soap-import-strategy=file=%t.partial.json 2>&1 \
// RUN:   | FileCheck %s --check-prefix=PARTIAL
// PARTIAL: error: expected a launch order that names every node that computes; add the missing:
// PARTIAL-NEXT: relu
// PARTIAL-NEXT: flatten
// RUN: sed -e 's/"cnv"/"conv"/' -e 's/"ops"/"order": ["fc", "conv", "relu", "flatten"], "ops"/' %S/Inputs/misspelled-op.json > %t.late.json
// RUN: not soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=2 -soap-import-strategy=file=%t.late.json 2>&1 \
// RUN:   | FileCheck %s --check-prefix=EARLY
// EARLY: error: node 'fc': expected a launch order in which operands come first, got: 'flatten' later

// Tests that too little memory names every device that is too small, when it
// needs most, and what for.
// RUN: soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=2 -soap-init-strategy=strategy=data-parallel \
// RUN:   | sed -e 's/memory_bytes = [0-9]*/memory_bytes = 150000/' \
// RUN:   | not soap-opt -soap-verify-strategy 2>&1 | FileCheck %s --check-prefix=PEAK
// PEAK: error: device 0: expected at most 150000 bytes of memory, got: {{[0-9]+}} in use; use more devices, a smaller batch or another strategy
// PEAK-NEXT: {{^  }}when '{{.*}}' runs:
// PEAK-NEXT: {{^    }}131072 bytes of 'v' (parameter)
// PEAK: {{^    }}16384 bytes of '{{conv|relu|flatten}}' (nn.{{conv|relu|reshape}})
// PEAK: {{^  }}device 1: expected at most 150000 bytes of memory

// Tests that the host and the devices that compute are not confused in IR.
// RUN: soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=2 -soap-init-strategy -o %t.single.mlir
// RUN: sed -e '/"relu"/s/on \[0\]/on [host]/' %t.single.mlir | not soap-opt -soap-verify-strategy 2>&1 | FileCheck %s --check-prefix=HOST
// HOST: error: {{.*}}expected `host` for inputs and outputs only
// RUN: sed -e '/nn.input/s/on \[host\]/on [0]/' %t.single.mlir | not soap-opt -soap-verify-strategy 2>&1 | FileCheck %s --check-prefix=END
// END: error: {{.*}}expected inputs and outputs to be on [host]
// RUN: sed -e '/"relu"/s/on \[0\]/on [2]/' %t.single.mlir | not soap-opt -soap-verify-strategy 2>&1 | FileCheck %s --check-prefix=BEYOND
// BEYOND: error: {{.*}}expected devices of the topology, 0 to 1, got: 2
// RUN: sed -e '/"relu"/s/<{} on \[0\]/<{d7 = 2} on [0, 1]/' %t.single.mlir | not soap-opt -soap-verify-strategy 2>&1 | FileCheck %s --check-prefix=LOOP
// LOOP: error: {{.*}}expected loops of the operation (d0, d1, d2, d3), got: d7
// RUN: sed -e '/"relu"/s/<{} on \[0\]/<{d0 = 9} on [0, 1, 0, 1, 0, 1, 0, 1, 0]/' %t.single.mlir | not soap-opt -soap-verify-strategy 2>&1 | FileCheck %s --check-prefix=EXTENT
// EXTENT: error: {{.*}}expected a degree of at most 8, the extent of loop d0, got: 9
// RUN: sed -e 's/@main() {/@main() attributes {soap.order = ["conv"]} {/' %t.single.mlir | not soap-opt -soap-verify-strategy 2>&1 | FileCheck %s --check-prefix=ATTRIBUTE
// ATTRIBUTE: error: soap.order: expected a launch order that names every node that computes; add the missing:

// Tests that a mark names an operand of an nn operation.
// RUN: echo 'func.func @main() { %%x = nn.input {nn.name = "x", soap.follows = 0 : i64} : tensor<2xf32> return }' \
// RUN:   | not soap-opt 2>&1 | FileCheck %s --check-prefix=FOLLOWS
// FOLLOWS: error: {{.*}}expected soap.follows to be the number of an operand, of type i64, on an nn operation, got: 0 : i64
