// REQUIRES: soap-run, avx2
// RUN: rm -rf %t && mkdir %t

// Tests that in a training step convolutions of 3x3 and both of their gradients
// are computed by Winograd's algorithm, over images that have channels last, as
// the sums of batch norms and the gradient of a maximum have.
// RUN: soap-compile %s --train=sgd --loss=mean-squared-error --strategy=single -o %t/one.so
// RUN: soap-run %t/one.so --info | FileCheck %s
// CHECK-DAG: x Conv soap:winograd
// CHECK-DAG: x ConvBackward soap:winograd
// RUN: soap-compile %s --train=sgd --loss=mean-squared-error --strategy=single --emit=soaprt -o - | FileCheck %s --check-prefix=LAST
// LAST-DAG: soaprt.kernel {{.*}} "nn.reduce {{.*}}channels_last = array<i64: 0>
// LAST-DAG: soaprt.kernel {{.*}} "nn.fused_reduce {{.*}}channels_last = array<i64: 0
// LAST-DAG: soaprt.kernel {{.*}} "nn.max_pool_backward {{.*}}channels_last = array<i64: 0, 1, 2>
// LAST-DAG: soaprt.kernel {{.*}} "nn.conv_backward_filter {{.*}}channels_last = array<i64: 0, 1>
// LAST-DAG: soaprt.kernel {{.*}} "nn.conv_backward_data {{.*}}channels_last = array<i64: 0, 2>

// Tests that all of it is equal to direct convolutions of row-major images on
// one device, where the step runs on two.
// RUN: soap-compile %s --train=sgd --loss=mean-squared-error --devices=2 --strategy=data-parallel --calibration=none -o %t/samples.so
// RUN: soap-run %t/samples.so --verify --input=x=random:1 --input=label=random:2 | FileCheck %s --check-prefix=VERIFY
// RUN: soap-compile %s --train=sgd --loss=mean-squared-error --devices=2 --strategy=spatial --calibration=none -o %t/rows.so
// RUN: soap-run %t/rows.so --verify --input=x=random:1 --input=label=random:2 | FileCheck %s --check-prefix=VERIFY
// VERIFY: verify: equal

#ones = array<i64: 1, 1>
#zeros = array<i64: 0, 0>
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<2x8x64x64xf32>
  %w1 = nn.parameter {nn.name = "w1"} : tensor<64x8x3x3xf32> from #nn.random<1, "w1", normal, 0.0, 0.2>
  %w2 = nn.parameter {nn.name = "w2"} : tensor<64x64x3x3xf32> from #nn.random<1, "w2", normal, 0.0, 0.1>
  %w3 = nn.parameter {nn.name = "w3"} : tensor<8x64x1x1xf32> from #nn.random<1, "w3", normal, 0.0, 0.2>
  %w4 = nn.parameter {nn.name = "w4"} : tensor<7688x4xf32> from #nn.random<1, "w4", normal, 0.0, 0.05>
  %scale = nn.parameter {nn.name = "scale"} : tensor<64xf32> from #nn.random<1, "scale", uniform, 0.5, 1.5>
  %bias = nn.parameter {nn.name = "bias"} : tensor<64xf32> from #nn.random<1, "bias", normal, 0.0, 0.2>
  %mean = nn.parameter {nn.name = "mean"} : tensor<64xf32> from #nn.random<1, "mean", normal, 0.0, 0.2>
  %variance = nn.parameter {nn.name = "variance"} : tensor<64xf32> from #nn.random<1, "variance", uniform, 0.5, 1.5>
  %0 = nn.conv %x, %w1 {nn.name = "conv1", strides = #ones, dilations = #ones, pads_lo = #ones, pads_hi = #ones}
    : (tensor<2x8x64x64xf32>, tensor<64x8x3x3xf32>) -> tensor<2x64x64x64xf32>
  %1 = nn.max_pool %0 {nn.name = "pool", kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = #ones, pads_lo = #zeros, pads_hi = #zeros}
    : (tensor<2x64x64x64xf32>) -> tensor<2x64x31x31xf32>
  %2 = nn.conv %1, %w2 {nn.name = "conv2", strides = #ones, dilations = #ones, pads_lo = #ones, pads_hi = #ones}
    : (tensor<2x64x31x31xf32>, tensor<64x64x3x3xf32>) -> tensor<2x64x31x31xf32>
  %3 = nn.batch_norm %2, %scale, %bias, %mean, %variance {nn.name = "norm", epsilon = 1.0e-05 : f32}
    : tensor<2x64x31x31xf32>, tensor<64xf32>
  %4 = nn.relu %3 {nn.name = "relu"} : tensor<2x64x31x31xf32>
  %5 = nn.conv %4, %w3 {nn.name = "conv3", strides = #ones, dilations = #ones, pads_lo = #zeros, pads_hi = #zeros}
    : (tensor<2x64x31x31xf32>, tensor<8x64x1x1xf32>) -> tensor<2x8x31x31xf32>
  %6 = nn.reshape %5 {nn.name = "flat"} : (tensor<2x8x31x31xf32>) -> tensor<2x7688xf32>
  %7 = nn.matmul %6, %w4 {nn.name = "fc"} : (tensor<2x7688xf32>, tensor<7688x4xf32>) -> tensor<2x4xf32>
  nn.output %7 {nn.name = "y"} : tensor<2x4xf32>
  return
}
