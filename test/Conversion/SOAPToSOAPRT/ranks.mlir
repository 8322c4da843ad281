// RUN: soap-opt %s --convert-soap-to-soaprt | FileCheck %s

// Tests that matrix products are left to the library up to rank 6, which is what
// the runtime hands to it.

// CHECK: soaprt.kernel {{.*}} "nn.matmul {{.*}}1x1x1x1x2x3xf32 {{.*}}" (
// CHECK: soaprt.kernel {{.*}} "nn.matmul {{.*}}1x1x1x1x1x2x3xf32 {{.*}}" native @kernels::
func.func @main() {
  %x = soap.task "x" 0 () -> (!soap.shard<tensor<1x1x1x1x2x3xf32>, on host> as #soap.box<"x":0, [0:1, 0:1, 0:1, 0:1, 0:2, 0:3]>) {
    %0 = nn.input {nn.name = "x"} : tensor<1x1x1x1x2x3xf32>
    soap.return %0 : tensor<1x1x1x1x2x3xf32>
  }
  %f = soap.transfer %x action 0 phase feed : !soap.shard<tensor<1x1x1x1x2x3xf32>, on host> -> (!soap.shard<tensor<1x1x1x1x2x3xf32>, on 0> as #soap.box<"x":0, [0:1, 0:1, 0:1, 0:1, 0:2, 0:3]>)
  %y = soap.task "y" 0 (%a = %f : !soap.shard<tensor<1x1x1x1x2x3xf32>, on 0>) -> (!soap.shard<tensor<1x1x1x1x1x2x2xf32>, on 0> as #soap.box<"y":0, [0:1, 0:1, 0:1, 0:1, 0:1, 0:2, 0:2]>) {
    %0 = nn.matmul %a, %a {nn.name = "six", transpose_b} : (tensor<1x1x1x1x2x3xf32>, tensor<1x1x1x1x2x3xf32>) -> tensor<1x1x1x1x2x2xf32>
    %1 = nn.reshape %a {nn.name = "more"} : (tensor<1x1x1x1x2x3xf32>) -> tensor<1x1x1x1x1x2x3xf32>
    %2 = nn.matmul %1, %a {nn.name = "y", transpose_b} : (tensor<1x1x1x1x1x2x3xf32>, tensor<1x1x1x1x2x3xf32>) -> tensor<1x1x1x1x1x2x2xf32>
    soap.return %2 : tensor<1x1x1x1x1x2x2xf32>
  }
  soap.discard %y : !soap.shard<tensor<1x1x1x1x1x2x2xf32>, on 0>
  return
}
