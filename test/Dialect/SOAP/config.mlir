// RUN: soap-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// Tests that runs of three and more devices are printed as ranges, and that the order of degrees is kept.
// CHECK-LABEL: @print
func.func @print() {
  // CHECK: nn.input {nn.name = "x", soap.config = #soap.config<{} on [host]>}
  %x = nn.input {nn.name = "x", soap.config = #soap.config<{} on [host]>} : tensor<8x16xf32>
  // CHECK: soap.config = #soap.config<{d1 = 2, d0 = 2} replicate = 2 on [0 to 3, 6, 7, 4, 5] regather [0]>
  %y = nn.relu %x {nn.name = "y", soap.config = #soap.config<{d1 = 2, d0 = 2} replicate = 2 on [0, 1, 2, 3, 6, 7, 4, 5] regather [0]>} : tensor<8x16xf32>
  // CHECK: soap.config = #soap.config<{d0 = 4} on [0 to 2, 0]>
  %z = nn.relu %y {nn.name = "z", soap.config = #soap.config<{d0 = 4} on [0 to 2, 0]>} : tensor<8x16xf32>
  return
}

// -----

// Tests that a configuration has devices.
func.func @no_devices() {
  // expected-error @below {{expected at least one device, got: on []; list one device per task}}
  %x = nn.constant dense<1.0> : tensor<8xf32> {nn.name = "x", soap.config = #soap.config<{} on []>}
  return
}

// -----

// Tests that a loop is named once.
func.func @twice() {
  // expected-error @below {{expected every loop at most once, got: d0 twice; write one degree per loop}}
  %x = nn.constant dense<1.0> : tensor<8xf32> {nn.name = "x", soap.config = #soap.config<{d0 = 2, d0 = 2} on [0 to 3]>}
  return
}

// -----

// Tests that the loop is one of the operation.
func.func @unknown() {
  // expected-error @below {{expected loops of the operation (d0), got: n in #soap.config<{n = 2} on [0, 1]>}}
  %x = nn.constant dense<1.0> : tensor<8xf32> {nn.name = "x", soap.config = #soap.config<{n = 2} on [0, 1]>}
  return
}

// -----

// Tests that a degree is not larger than the extent of its loop.
func.func @degree() {
  // expected-error @below {{expected a degree of at most 2, the extent of loop d0, got: 3}}
  %x = nn.constant dense<1.0> : tensor<2xf32> {nn.name = "x", soap.config = #soap.config<{d0 = 3} on [0 to 2]>}
  return
}

// -----

// Tests that a degree is at least 1.
func.func @zero() {
  // expected-error @below {{expected a degree of at least 1 for loop d0, got: 0}}
  %x = nn.constant dense<1.0> : tensor<2xf32> {nn.name = "x", soap.config = #soap.config<{d0 = 0} on [0]>}
  return
}

// -----

// Tests that there is one device per task, copies included.
func.func @count() {
  // expected-error @below {{expected one device per task, 4 (degrees times replicate), got: 2}}
  %x = nn.constant dense<1.0> : tensor<2xf32> {nn.name = "x", soap.config = #soap.config<{d0 = 2} replicate = 2 on [0, 1]>}
  return
}

// -----

// Tests that a run of devices ascends.
func.func @run() {
  // expected-error @below {{expected a run of ascending device ids, got: 3 to 1}}
  %x = nn.constant dense<1.0> : tensor<2xf32> {nn.name = "x", soap.config = #soap.config<{d0 = 2} on [3 to 1]>}
  return
}

// -----

// Tests that regather lists operands.
func.func @regather() {
  %x = nn.constant dense<1.0> : tensor<2xf32> {nn.name = "x"}
  // expected-error @below {{expected operand numbers below 1 in `regather`, got: 1}}
  %y = nn.relu %x {nn.name = "y", soap.config = #soap.config<{} on [0] regather [1]>} : tensor<2xf32>
  return
}

// -----

// Tests that only inputs and outputs are on the host.
func.func @host() {
  // expected-error @below {{expected `host` for inputs and outputs only, got: #soap.config<{} on [host]>}}
  %x = nn.constant dense<1.0> : tensor<2xf32> {nn.name = "x", soap.config = #soap.config<{} on [host]>}
  return
}

// -----

// Tests that inputs are on the host.
func.func @input() {
  // expected-error @below {{expected inputs and outputs to be on [host], got: #soap.config<{} on [0]>}}
  %x = nn.input {nn.name = "x", soap.config = #soap.config<{} on [0]>} : tensor<2xf32>
  return
}

// -----

// Tests that devices are devices of the topology.
module {
  // expected-note @below {{the topology}}
  soap.topology @machine {
    kinds = {cpu = {peak_flops = 1.0e11, memory_bandwidth_bytes_per_s = 1.0e10}},
    devices = [{id = 0, kind = "cpu"}],
    links = [{from = 0, to = "host", bandwidth_bytes_per_s = 5.0e9, duplex = true}]
  }
  func.func @main() {
    // expected-error @below {{expected devices of the topology, 0 to 0, got: 1; change the configuration or attach a larger topology}}
    %x = nn.constant dense<1.0> : tensor<2xf32> {nn.name = "x", soap.config = #soap.config<{d0 = 2} on [0, 1]>}
    return
  }
}

// -----

// Tests that only what can be split has a configuration.
// expected-error @below {{expected soap.config only on operations that can be split, got: #soap.config<{} on [0]>; remove it}}
func.func @function() attributes {soap.config = #soap.config<{} on [0]>} {
  return
}

// -----

// Tests that a configuration on an operation that is not sound is no problem
// but the operation's own.
func.func @unsound(%x: tensor<1x1x4x4xf32>) {
  // expected-error @below {{requires attribute 'strides'}}
  %y = nn.max_pool %x {nn.name = "y", kernel = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>, soap.config = #soap.config<{h = 2} on [0, 1]>} : (tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32>
  return
}

// -----

// Tests that a launch order is a list of names.
// expected-error @below {{expected soap.order to be a list of names of nodes, got: [1]}}
func.func @order() attributes {soap.order = [1]} {
  return
}

// -----

// Tests that the size of buckets is a number of bytes.
// expected-error @below {{expected soap.bucket_bytes to be a number of bytes of type i64, at least 0, got: -1 : i64}}
func.func @buckets() attributes {soap.bucket_bytes = -1 : i64} {
  return
}

// -----

// Tests that so is the distance at which parameters are gathered again.
// expected-error @below {{expected soap.prefetch_bytes to be a number of bytes of type i64, at least 0, got: 1 : i32}}
func.func @prefetches() attributes {soap.prefetch_bytes = 1 : i32} {
  return
}

// -----

// Tests that what is launched ahead says of which node.
// expected-error @below {{expected soap.ahead to be a number of nodes of type i64, at least 0, beside soap.before, got: 3 : i64}}
func.func @ahead() attributes {soap.ahead = 3 : i64} {
  return
}
