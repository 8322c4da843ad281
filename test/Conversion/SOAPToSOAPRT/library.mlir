// RUN: soap-opt %s --convert-soap-to-soaprt | FileCheck %s
// RUN: soap-opt %s --convert-soap-to-soaprt=target=cpu | FileCheck %s
// RUN: soap-opt %s --convert-soap-to-soaprt=target=emulated | FileCheck %s --check-prefix=EMULATED
// RUN: not soap-opt %s --convert-soap-to-soaprt=target=abacus 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// Tests that an average pool is left to the library, unless it has few channels,
// its padding counts in part or a dilated window might step over the whole input:
// then it is native.

// CHECK: soaprt.kernel {{.*}} "nn.avg_pool dilations=2x1 {{.*}}1x8x2x3xf32 -> 1x8x2x3xf32" (
// CHECK: soaprt.kernel {{.*}} "nn.avg_pool dilations=2x1 {{.*}}1x7x2x3xf32 -> 1x7x2x3xf32" native @kernels::
// CHECK: soaprt.kernel {{.*}} "nn.avg_pool dilations=2x1 {{.*}}1x1x1x3xf32 -> 1x1x1x3xf32" native @kernels::
// CHECK: soaprt.kernel {{.*}} "nn.avg_pool dilations=1x1 {{.*}}1x1x1x3xf32 -> 1x1x2x3xf32" native @kernels::
// Tests that a layer normalisation is left to the library up to rank 6.
// CHECK: soaprt.kernel {{.*}} "nn.layer_norm {{.*}}1x2x3xf32 3xf32 -> 1x2x3xf32" (
// CHECK: soaprt.kernel {{.*}} "nn.layer_norm {{.*}}1x1x1x1x1x2x3xf32" native @kernels::
// Tests that the gradient of a filter is left to the library, unless x goes on
// behind the last window.
// CHECK: soaprt.kernel {{.*}} "nn.conv_backward_filter {{.*}}1x1x2x3xf32 1x1x2x3xf32 -> 1x1x1x1xf32" (
// CHECK: soaprt.kernel {{.*}} "nn.conv_backward_filter {{.*}}1x1x1x3xf32 1x1x1x3xf32 -> 1x1x1x1xf32" native @kernels::
// Tests that a transposed convolution is left to the library, with a bias or
// without one, unless elements of the result lie behind the last window.
// CHECK: soaprt.kernel {{.*}} "nn.conv_backward_data {{.*}}1x1x2x3xf32 1x1x1x1xf32 -> 1x1x2x3xf32" (
// CHECK: soaprt.kernel {{.*}} "nn.conv_backward_data {{.*}}1x1x2x3xf32 1x1x1x1xf32 1xf32 -> 1x1x2x3xf32" (
// CHECK: soaprt.kernel {{.*}} "nn.conv_backward_data {{.*}}1x1x2x3xf32 1x1x1x1xf32 1xf32 -> 1x1x2x4xf32" native @kernels::

// CHECK: soaprt.device @d0 id 0 {

// Tests that another target has another library and another alignment.
// EMULATED-COUNT-4: soaprt.kernel {{.*}} "nn.avg_pool {{.*}} native @kernels::
// EMULATED: soaprt.device @d0 id 0 alignment 256 {

// UNKNOWN: error: expected the name of a target (cpu, cuda, emulated), got: 'abacus'

func.func @main() {
  %x = soap.task "x" 0 () -> (!soap.shard<tensor<1x1x2x3xf32>, on host> as #soap.box<"x":0, [0:1, 0:1, 0:2, 0:3]>) {
    %0 = nn.input {nn.name = "x"} : tensor<1x1x2x3xf32>
    soap.return %0 : tensor<1x1x2x3xf32>
  }
  %f = soap.transfer %x action 0 phase feed : !soap.shard<tensor<1x1x2x3xf32>, on host> -> (!soap.shard<tensor<1x1x2x3xf32>, on 0> as #soap.box<"x":0, [0:1, 0:1, 0:2, 0:3]>)
  %y = soap.task "y" 0 (%a = %f : !soap.shard<tensor<1x1x2x3xf32>, on 0>) -> (!soap.shard<tensor<1x1x2x3xf32>, on 0> as #soap.box<"y":0, [0:1, 0:1, 0:2, 0:3]>) {
    %wide = nn.concat %a, %a, %a, %a, %a, %a, %a, %a {nn.name = "wide", axis = 1 : i64} : (tensor<1x1x2x3xf32>, tensor<1x1x2x3xf32>, tensor<1x1x2x3xf32>, tensor<1x1x2x3xf32>, tensor<1x1x2x3xf32>, tensor<1x1x2x3xf32>, tensor<1x1x2x3xf32>, tensor<1x1x2x3xf32>) -> tensor<1x8x2x3xf32>
    %eight = nn.avg_pool %wide {nn.name = "eight", kernel = array<i64: 2, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 2, 1>, pads_lo = array<i64: 1, 0>, pads_hi = array<i64: 1, 0>, counted_lo = array<i64: 0, 0>, counted_hi = array<i64: 0, 0>} : (tensor<1x8x2x3xf32>) -> tensor<1x8x2x3xf32>
    %few = nn.slice %eight {nn.name = "few", starts = array<i64: 0, 1, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<1x8x2x3xf32>) -> tensor<1x7x2x3xf32>
    %seven = nn.avg_pool %few {nn.name = "seven", kernel = array<i64: 2, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 2, 1>, pads_lo = array<i64: 1, 0>, pads_hi = array<i64: 1, 0>, counted_lo = array<i64: 0, 0>, counted_hi = array<i64: 0, 0>} : (tensor<1x7x2x3xf32>) -> tensor<1x7x2x3xf32>
    %1 = nn.slice %seven {nn.name = "row", starts = array<i64: 0, 0, 1, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<1x7x2x3xf32>) -> tensor<1x1x1x3xf32>
    %2 = nn.avg_pool %1 {nn.name = "one", kernel = array<i64: 2, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 2, 1>, pads_lo = array<i64: 1, 0>, pads_hi = array<i64: 1, 0>, counted_lo = array<i64: 0, 0>, counted_hi = array<i64: 0, 0>} : (tensor<1x1x1x3xf32>) -> tensor<1x1x1x3xf32>
    %3 = nn.avg_pool %2 {nn.name = "y", kernel = array<i64: 3, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 2, 0>, pads_hi = array<i64: 1, 0>, counted_lo = array<i64: 1, 0>, counted_hi = array<i64: 1, 0>} : (tensor<1x1x1x3xf32>) -> tensor<1x1x2x3xf32>
    %scale = nn.constant dense<2.0> : tensor<3xf32> {nn.name = "scale"}
    %4 = nn.reshape %3 {nn.name = "plane"} : (tensor<1x1x2x3xf32>) -> tensor<1x2x3xf32>
    %5 = nn.layer_norm %4, %scale {nn.name = "norm", axis = 2 : i64, epsilon = 1.0e-05 : f32} : (tensor<1x2x3xf32>, tensor<3xf32>) -> tensor<1x2x3xf32>
    %6 = nn.reshape %5 {nn.name = "deep"} : (tensor<1x2x3xf32>) -> tensor<1x1x1x1x1x2x3xf32>
    %7 = nn.layer_norm %6, %scale {nn.name = "norm7", axis = 6 : i64, epsilon = 1.0e-05 : f32} : (tensor<1x1x1x1x1x2x3xf32>, tensor<3xf32>) -> tensor<1x1x1x1x1x2x3xf32>
    %8 = nn.reshape %7 {nn.name = "flat"} : (tensor<1x1x1x1x1x2x3xf32>) -> tensor<1x1x2x3xf32>
    %9 = nn.conv_backward_filter %a, %8 {nn.name = "filter", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>} : (tensor<1x1x2x3xf32>, tensor<1x1x2x3xf32>) -> tensor<1x1x1x1xf32>
    %10 = nn.conv_backward_filter %8, %1 {nn.name = "cropped", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>} : (tensor<1x1x2x3xf32>, tensor<1x1x1x3xf32>) -> tensor<1x1x1x1xf32>
    %bias = nn.constant dense<2.0> : tensor<1xf32> {nn.name = "bias"}
    %11 = nn.conv_backward_data %8, %9 {nn.name = "data", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>} : (tensor<1x1x2x3xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x2x3xf32>
    %12 = nn.conv_backward_data %11, %10 bias %bias {nn.name = "biased", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>} : (tensor<1x1x2x3xf32>, tensor<1x1x1x1xf32>, tensor<1xf32>) -> tensor<1x1x2x3xf32>
    %13 = nn.conv_backward_data %12, %10 bias %bias {nn.name = "behind", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>} : (tensor<1x1x2x3xf32>, tensor<1x1x1x1xf32>, tensor<1xf32>) -> tensor<1x1x2x4xf32>
    soap.return %12 : tensor<1x1x2x3xf32>
  }
  soap.discard %y : !soap.shard<tensor<1x1x2x3xf32>, on 0>
  return
}
