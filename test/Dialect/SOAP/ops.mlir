// RUN: soap-opt %s -allow-unregistered-dialect -split-input-file | soap-opt -allow-unregistered-dialect -split-input-file | FileCheck %s
// RUN: soap-opt %s -allow-unregistered-dialect -split-input-file -mlir-print-op-generic | soap-opt -allow-unregistered-dialect -split-input-file | FileCheck %s

// Tests that a topology prints one device and one link per line.
// CHECK: soap.topology @machine {
// CHECK-NEXT: devices = [
// CHECK-NEXT: {id = 0 : i64, kind = "cpu"},
// CHECK-NEXT: {id = 1 : i64, kind = "cpu"}
// CHECK-NEXT: ],
// CHECK-NEXT: kinds = {cpu = {memory_bandwidth_bytes_per_s = 1.000000e+10 : f64, peak_flops = 1.000000e+11 : f64}},
// CHECK-NEXT: links = [
// CHECK-NEXT: {bandwidth_bytes_per_s = 5.000000e+09 : f64, duplex = true, from = 0 : i64, latency_s = 9.9999999999999995E-7 : f64, to = 1 : i64},
// CHECK-NEXT: {bandwidth_bytes_per_s = 5.000000e+09 : f64, duplex = true, from = 0 : i64, to = "host"},
// CHECK-NEXT: {bandwidth_bytes_per_s = 5.000000e+09 : f64, duplex = true, from = 1 : i64, to = "host"}
// CHECK-NEXT: ],
// CHECK-NEXT: name = "pair"
soap.topology @machine {
  name = "pair",
  kinds = {cpu = {peak_flops = 1.0e11, memory_bandwidth_bytes_per_s = 1.0e10}},
  devices = [{id = 0, kind = "cpu"}, {id = 1, kind = "cpu"}],
  links = [
    {from = 0, to = 1, bandwidth_bytes_per_s = 5.0e9, latency_s = 1.0e-6, duplex = true},
    {from = 0, to = "host", bandwidth_bytes_per_s = 5.0e9, duplex = true},
    {from = 1, to = "host", bandwidth_bytes_per_s = 5.0e9, duplex = true}
  ]
}

// -----

// Tests that a task prints its operands, boxes and region.
// CHECK-LABEL: @task
func.func @task() {
  // CHECK: %[[X:.*]] = soap.task "x" 0 () -> (!soap.shard<tensor<4x8xf32>, on host> as #soap.box<"x":0, [0:4, 0:8]>) {
  // CHECK-NEXT: %[[I:.*]] = nn.input
  // CHECK-NEXT: soap.return %[[I]] : tensor<4x8xf32>
  %x = soap.task "x" 0 () -> (!soap.shard<tensor<4x8xf32>, on host> as #soap.box<"x":0, [0:4, 0:8]>) {
    %0 = nn.input {nn.name = "x"} : tensor<4x8xf32>
    soap.return %0 : tensor<4x8xf32>
  }
  // CHECK: %[[F:.*]]:2 = soap.broadcast %[[X]] over [host, 0, 1] action 0 phase feed : !soap.shard<tensor<4x8xf32>, on host> -> (!soap.shard<tensor<4x8xf32>, on 0> as #soap.box<"x":0, [0:4, 0:8]>, !soap.shard<tensor<4x8xf32>, on 1> as #soap.box<"x":0, [0:4, 0:8]>)
  %f:2 = soap.broadcast %x over [host, 0, 1] action 0 phase feed
    : !soap.shard<tensor<4x8xf32>, on host>
    -> (!soap.shard<tensor<4x8xf32>, on 0> as #soap.box<"x":0, [0:4, 0:8]>,
        !soap.shard<tensor<4x8xf32>, on 1> as #soap.box<"x":0, [0:4, 0:8]>)
  // CHECK: soap.task "y" 0 (%{{.*}} = %[[F]]#0 : !soap.shard<tensor<4x8xf32>, on 0>) -> (!soap.shard<tensor<4x8xf32>, on 0> as #soap.box<"y":0, [0:4, 0:8]>) {
  // CHECK-NEXT: nn.relu
  %y = soap.task "y" 0 (%a = %f#0 : !soap.shard<tensor<4x8xf32>, on 0>)
      -> (!soap.shard<tensor<4x8xf32>, on 0> as #soap.box<"y":0, [0:4, 0:8]>) {
    %0 = nn.relu %a {nn.name = "y"} : tensor<4x8xf32>
    soap.return %0 : tensor<4x8xf32>
  }
  // CHECK: soap.discard %{{.*}}#1
  soap.discard %f#1 : !soap.shard<tensor<4x8xf32>, on 1>
  // CHECK: %[[D:.*]] = soap.transfer %{{.*}} action 0 phase drain : !soap.shard<tensor<4x8xf32>, on 0> -> (!soap.shard<tensor<4x8xf32>, on host> as #soap.box<"y":0, [0:4, 0:8]>)
  %d = soap.transfer %y action 0 phase drain : !soap.shard<tensor<4x8xf32>, on 0>
    -> (!soap.shard<tensor<4x8xf32>, on host> as #soap.box<"y":0, [0:4, 0:8]>)
  // CHECK: soap.task "out" 0 (%{{.*}} = %[[D]] : !soap.shard<tensor<4x8xf32>, on host>) {
  // CHECK-NEXT: nn.output
  soap.task "out" 0 (%a = %d : !soap.shard<tensor<4x8xf32>, on host>) {
    nn.output %a {nn.name = "out"} : tensor<4x8xf32>
    soap.return
  }
  return
}

// -----

// Tests copies on a device and every kind of action on parts and tiles.
// CHECK-LABEL: @actions
func.func @actions(%a: !soap.shard<tensor<4x8xf32>, on 0>, %b: !soap.shard<tensor<4x8xf32>, on 1>,
                   %p: !soap.shard<tensor<4x8xf32>, on 0, partial = sum>,
                   %q: !soap.shard<tensor<4x8xf32>, on 1, partial = sum>) {
  // CHECK: %[[S:.*]] = soap.slice %{{.*}} : !soap.shard<tensor<4x8xf32>, on 0> -> (!soap.shard<tensor<1x8xf32>, on 0> as #soap.box<"x":0, [3:4, 0:8]>)
  %s = soap.slice %a : !soap.shard<tensor<4x8xf32>, on 0> -> (!soap.shard<tensor<1x8xf32>, on 0> as #soap.box<"x":0, [3:4, 0:8]>)
  // CHECK: soap.slice {{.*}}, on 0, partial = max> as #soap.box<"z":1, [0:1, 2:3], parts [0, 3] of 4>)
  %z = "test.source"() : () -> !soap.shard<tensor<1x3xf32>, on 0, partial = max>
  %t = soap.slice %z : !soap.shard<tensor<1x3xf32>, on 0, partial = max> -> (!soap.shard<tensor<1x1xf32>, on 0, partial = max> as #soap.box<"z":1, [0:1, 2:3], parts [0, 3] of 4>)
  // CHECK: soap.assemble %[[S]][3:4, 0:8], %{{.*}}[4:6, 0:8] : !soap.shard<tensor<1x8xf32>, on 0>, !soap.shard<tensor<4x8xf32>, on 0> -> (!soap.shard<tensor<3x8xf32>, on 0> as #soap.box<"x":0, [3:6, 0:8]>)
  %u = soap.assemble %s[3:4, 0:8], %a[4:6, 0:8] : !soap.shard<tensor<1x8xf32>, on 0>, !soap.shard<tensor<4x8xf32>, on 0>
    -> (!soap.shard<tensor<3x8xf32>, on 0> as #soap.box<"x":0, [3:6, 0:8]>)
  // CHECK: soap.assemble () -> (!soap.shard<tensor<0x8xf32>, on 0> as #soap.box<"x":0, [0:0, 0:8]>)
  %e = soap.assemble () -> (!soap.shard<tensor<0x8xf32>, on 0> as #soap.box<"x":0, [0:0, 0:8]>)
  // CHECK: soap.transfer %{{.*}}, %{{.*}} halo action 1 :
  %h:2 = soap.transfer %a, %b halo action 1 : !soap.shard<tensor<4x8xf32>, on 0>, !soap.shard<tensor<4x8xf32>, on 1>
    -> (!soap.shard<tensor<4x8xf32>, on 1> as #soap.box<"x":0, [0:4, 0:8]>, !soap.shard<tensor<4x8xf32>, on 0> as #soap.box<"x":0, [4:8, 0:8]>)
  // CHECK: soap.all_gather %{{.*}}, %{{.*}} over [0, 1] algorithm ring priority action 0 :
  %g:2 = soap.all_gather %a, %b over [0, 1] algorithm ring priority action 0 : !soap.shard<tensor<4x8xf32>, on 0>, !soap.shard<tensor<4x8xf32>, on 1>
    -> (!soap.shard<tensor<8x8xf32>, on 0> as #soap.box<"x":0, [0:8, 0:8]>, !soap.shard<tensor<8x8xf32>, on 1> as #soap.box<"x":0, [0:8, 0:8]>)
  // CHECK: soap.all_to_all %{{.*}}, %{{.*}} over [0, 1] action 0 :
  %w:2 = soap.all_to_all %a, %b over [0, 1] algorithm direct action 0 : !soap.shard<tensor<4x8xf32>, on 0>, !soap.shard<tensor<4x8xf32>, on 1>
    -> (!soap.shard<tensor<8x4xf32>, on 0> as #soap.box<"x":0, [0:8, 0:4]>, !soap.shard<tensor<8x4xf32>, on 1> as #soap.box<"x":0, [0:8, 4:8]>)
  // CHECK: soap.all_reduce %{{.*}}, %{{.*}} over [0, 1] algorithm tree action 0 :
  %r:2 = soap.all_reduce %p, %q over [0, 1] algorithm tree action 0 : !soap.shard<tensor<4x8xf32>, on 0, partial = sum>, !soap.shard<tensor<4x8xf32>, on 1, partial = sum>
    -> (!soap.shard<tensor<4x8xf32>, on 0> as #soap.box<"x":0, [0:4, 0:8]>, !soap.shard<tensor<4x8xf32>, on 1> as #soap.box<"x":0, [0:4, 0:8]>)
  // CHECK: soap.all_reduce %{{.*}}, %{{.*}} over [0, 1] priority bucket 3 behind "y" action 1 :
  %joint:2 = soap.all_reduce %p, %q over [0, 1] priority bucket 3 behind "y" action 1 : !soap.shard<tensor<4x8xf32>, on 0, partial = sum>, !soap.shard<tensor<4x8xf32>, on 1, partial = sum>
    -> (!soap.shard<tensor<4x8xf32>, on 0> as #soap.box<"x":0, [0:4, 0:8]>, !soap.shard<tensor<4x8xf32>, on 1> as #soap.box<"x":0, [0:4, 0:8]>)
  // CHECK: soap.reduce_scatter %{{.*}}, %{{.*}} over [0, 1] action 0 :
  %v:2 = soap.reduce_scatter %p, %q over [0, 1] action 0 : !soap.shard<tensor<4x8xf32>, on 0, partial = sum>, !soap.shard<tensor<4x8xf32>, on 1, partial = sum>
    -> (!soap.shard<tensor<1x8xf32>, on 0> as #soap.box<"x":0, [0:1, 0:8]>, !soap.shard<tensor<3x8xf32>, on 1> as #soap.box<"x":0, [1:4, 0:8]>)
  return
}
