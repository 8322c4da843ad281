// RUN: soap-compile %s --emit=nn | FileCheck %s --check-prefix=NN
// RUN: soap-compile %s --emit=strategy --devices=2 --strategy=data-parallel | FileCheck %s --check-prefix=STRATEGY
// RUN: soap-compile %s --emit=soap --devices=2 --strategy=data-parallel | FileCheck %s --check-prefix=SOAP
// RUN: soap-compile %s --emit=soaprt --devices=2 --strategy=data-parallel | FileCheck %s --check-prefix=SOAPRT
// RUN: soap-compile %s --emit=llvm | FileCheck %s --check-prefix=LLVM
// RUN: soap-compile %s --emit=report --devices=2 --calibration=none --strategy=data-parallel | FileCheck %s --check-prefix=REPORT
// RUN: soap-compile %s --emit=strategy --devices=2 --strategy=data-parallel --print-strategy | FileCheck %s --check-prefix=TABLE

// Tests that a model can be printed at every level.

// NN: func.func @main()
// NN: nn.matmul
// NN-NOT: soap.config

// STRATEGY: soap.topology @machine
// STRATEGY: nn.relu {{.*}}soap.config = #soap.config<{d0 = 2} on [0, 1]>

// SOAP: soap.task "relu" 0
// SOAP: soap.task "relu" 1
// SOAP: soap.transfer {{.*}} phase drain

// SOAPRT: soaprt.kernel @k0
// SOAPRT: soaprt.device @d0 id 0 activations {{[0-9]+}} parameters 512
// SOAPRT: soaprt.launch "fc" {{.*}} stream compute {constants = array<i64: 1>, task = 0 : i64}
// SOAPRT: soaprt.device @d1 id 1 activations {{[0-9]+}} parameters 512

// LLVM: llvm.func @soap_native_0_relu

// REPORT: strategy step ms compute ms moving ms moved MB peak MiB idle % (simulated)
// REPORT-NEXT: single {{[0-9.]+}} {{[0-9.]+}} 0.000 0.000 {{[0-9.]+}} 50.0
// REPORT-NEXT: data-parallel
// REPORT-NEXT: model-parallel
// REPORT-NEXT: tensor-parallel
// REPORT-NEXT: spatial
// REPORT-NEXT: owt
// REPORT-NEXT: expert-rnn
// REPORT-NEXT: random
// REPORT-NEXT: lower bound {{[0-9.]+}} data-parallel takes {{[0-9.]+}}% longer

// TABLE: op{{.*}}kind{{.*}}degrees{{.*}}devices
// TABLE: fc{{.*}}nn.matmul
// TABLE: simulated step time:

func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<4x16xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<16x8xf32> from #nn.random<1, "w", normal, 0.0, 0.5>
  %y = nn.matmul %x, %w {nn.name = "fc"} : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %z = nn.relu %y {nn.name = "relu"} : tensor<4x8xf32>
  nn.output %z {nn.name = "y"} : tensor<4x8xf32>
  return
}
