// Tests that a report says of steps of training what memory they are planned to
// take: updates are made where parameters lie, and what collectives pack and
// unpack lies beside that. Most of the memory is that of parameters and of
// Adam's moments.
// REQUIRES: python
// RUN: %python %S/Inputs/planned_memory.py soap-compile %root/topologies/p100-node.json %s \
// RUN:   --train=adam --loss=mean-squared-error : single data-parallel zero-1 fsdp tensor-parallel | FileCheck %s
// RUN: %python %S/Inputs/planned_memory.py soap-compile %root/topologies/p100-node.json %s \
// RUN:   --train=sgd --loss=mean-squared-error : single data-parallel fsdp tensor-parallel | FileCheck %s --check-prefix=SGD
// CHECK: single: {{.*}}: close
// CHECK: data-parallel: {{.*}}: close
// CHECK: zero-1: {{.*}}: close
// CHECK: fsdp: {{.*}}: close
// CHECK: tensor-parallel: {{.*}}: close
// SGD: single: {{.*}}: close
// SGD: data-parallel: {{.*}}: close
// SGD: fsdp: {{.*}}: close
// SGD: tensor-parallel: {{.*}}: close

func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<64x256xf32>
  %u = nn.parameter {nn.name = "u"} : tensor<256x1024xf32> from #nn.random<1, "u", normal, 0.0, 0.1>
  %v = nn.parameter {nn.name = "v"} : tensor<1024x256xf32> from #nn.random<1, "v", normal, 0.0, 0.1>
  %0 = nn.matmul %x, %u {nn.name = "fc1"} : (tensor<64x256xf32>, tensor<256x1024xf32>) -> tensor<64x1024xf32>
  %1 = nn.relu %0 {nn.name = "relu"} : tensor<64x1024xf32>
  %2 = nn.matmul %1, %v {nn.name = "fc2"} : (tensor<64x1024xf32>, tensor<1024x256xf32>) -> tensor<64x256xf32>
  nn.output %2 {nn.name = "y"} : tensor<64x256xf32>
  return
}
