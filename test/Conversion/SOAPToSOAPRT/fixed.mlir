// RUN: soap-opt %S/../../faults/Inputs/tied.mlir --soap-parallelize="devices=2 strategy=tensor-parallel" | FileCheck %s
// RUN: soap-opt %S/../../faults/Inputs/tied.mlir --soap-parallelize="devices=2 strategy=tensor-parallel" --soap-lower | FileCheck %s --check-prefix=ROWS

// Tests that what two layers cut out of the same weights, which no step writes,
// is cut out before the first step.
// CHECK: %[[W:.*]] = soap.task "w" 0 phase init
// CHECK: soap.slice %[[W]] init : {{.*}} -> (!soap.shard<tensor<6x2xf32>, on 0> as #soap.box<"w":0, [0:6, 0:2]>)
// CHECK: soap.slice %[[W]] init : {{.*}} -> (!soap.shard<tensor<3x4xf32>, on 0> as #soap.box<"w":0, [0:3, 0:4]>)

// Tests that it lies with the parameters, and that the library may keep it in an
// order of its own. What is contiguous is a view.
// ROWS: soaprt.device @{{.*}} id 1
// ROWS-DAG: %[[W:.*]] = soaprt.buffer at 0 : <6x4xf32, parameters>
// ROWS-DAG: %[[COLUMNS:.*]] = soaprt.buffer at {{[0-9]+}} : <6x2xf32, parameters>
// ROWS-DAG: %[[SECOND:.*]] = soaprt.buffer at {{[0-9]+}} : <3x4xf32, parameters>
// ROWS: soaprt.init {
// ROWS-NEXT: soaprt.copy "w.slice"(%[[W]] : {{.*}}) to(%[[COLUMNS]] : {{.*}}) [#soaprt.box<[0, 2] to [0, 0] sizes [6, 2]>]
// ROWS-NEXT: soaprt.copy "w.slice"(%[[W]] : {{.*}}) to(%[[SECOND]] : {{.*}}) [#soaprt.box<[3, 0] to [0, 0] sizes [3, 4]>]
// ROWS-NEXT: }
// ROWS: soaprt.launch "fc1" @{{.*}}(%{{.*}}, %[[COLUMNS]] : {{.*}} {constants = array<i64: 1>
// ROWS-NOT: soaprt.copy "w
