// Tests that a strategy needs a topology.
// RUN: not soap-opt %S/Inputs/conv-fc.mlir -soap-init-strategy 2>&1 | FileCheck %s --check-prefix=TOPOLOGY
// TOPOLOGY: error: expected a soap.topology in the module, got none; run soap-attach-topology

// Tests that a machine needs a device.
// RUN: not soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=0 2>&1 | FileCheck %s --check-prefix=DEVICES
// DEVICES: error: expected at least one device, got: 0; ask for 1 or more

// Tests that a topology file must exist.
// RUN: not soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=file=%t.none 2>&1 | FileCheck %s --check-prefix=FILE
// FILE: error: {{.*}}none

// Tests that an unknown strategy is answered by the known ones.
// RUN: not soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=2 -soap-init-strategy=strategy=fastest 2>&1 \
// RUN:   | FileCheck %s --check-prefix=STRATEGY
// STRATEGY: error: {{.*}}data-parallel{{.*}}fastest

// Tests that an unknown search algorithm is answered by the known ones.
// RUN: not soap-opt %S/Inputs/conv-fc.mlir -soap-attach-topology=devices=2 -soap-search=algorithm=magic 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SEARCH
// SEARCH: error: unknown search algorithm 'magic'; choose one of mcmc

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
