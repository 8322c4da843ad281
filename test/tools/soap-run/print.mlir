// REQUIRES: soap-compile, soap-run
// RUN: rm -rf %t && mkdir %t
// RUN: soap-compile %s -o %t/m.so
// RUN: soap-run %t/m.so --input=x=zeros --print=y:0 | FileCheck %s --check-prefix=WHOLE
// RUN: soap-run %t/m.so --input=x=zeros --print=y:0:1 | FileCheck %s --check-prefix=TOP
// RUN: sh -c 'soap-run %t/m.so --print=y:0:0; echo code $?' 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: sh -c 'soap-run %t/m.so --print=z:1; echo code $?' 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// Tests that outputs are printed whose names end as a count of elements does.

// WHOLE: y:0: f32 [3]
// WHOLE-NEXT: [0] 0.5
// WHOLE-NEXT: [1] 0.5
// WHOLE-NEXT: [2] 0.5
// TOP: y:0: f32 [3]
// TOP-NEXT: [0] 0.5
// TOP-NOT: [1]
// NONE: error: expected --print=NAME or --print=NAME:K with a K from 1, got: 'y:0:0'
// NONE-NEXT: code 2
// UNKNOWN: error: expected an output of the model ('y:0'), got: 'z'
// UNKNOWN-NEXT: code 2

func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<3xf32>
  %0 = nn.sigmoid %x {nn.name = "sigmoid"} : tensor<3xf32>
  nn.output %0 {nn.name = "y:0"} : tensor<3xf32>
  return
}
