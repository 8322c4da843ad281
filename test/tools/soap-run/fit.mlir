// Tests the table of simulated and measured times.
//
// REQUIRES: soap-compile, soap-run, python
// RUN: rm -rf %t && mkdir %t
// RUN: soap-compile %s --devices=2 --calibration=none --strategy=tensor-parallel --no-followers -o %t/m.so
// RUN: soap-run %t/m.so --fit | FileCheck %s --check-prefix=TABLE
// TABLE: simulated ms  measured ms    error   share  node
// TABLE-DAG: {{%  h$}}
// TABLE-DAG: {{%  p$}}
// TABLE-DAG: {{%  r$}}
// TABLE: {{%  \(copies\)$}}
// TABLE-NEXT: {{%  \(waits\)$}}
// TABLE-NEXT: {{100.0%  \(step\)$}}
// TABLE-NEXT: {{%  \(transfers\)$}}

// Tests that operations, copies and waits add up to the simulated step, and
// that this is the one that the model was compiled with.
// RUN: soap-run %t/m.so --fit --iterations=9 --json > %t/fit.json
// RUN: soap-run %t/m.so --info --json > %t/info.json
// RUN: %python -c "import json; rows = json.load(open('%t/fit.json'))['fit']; of = {r['name']: r['simulated_ns'] for r in rows}; step = of.pop('step'); of.pop('transfers'); print(abs(sum(of.values()) - step) < 1, step == json.load(open('%t/info.json'))['simulated_ns'], all(r['measured_ns'] > 0 for r in rows if r['node']))" | FileCheck %s --check-prefix=SUM
// SUM: True True True

// Tests that a trace has both timelines.
// RUN: soap-run %t/m.so --trace=%t/trace.json > %t/log
// RUN: %python -c "import json; print(sorted((e['pid'], e['args']['name']) for e in json.load(open('%t/trace.json'))['traceEvents'] if e['name'] == 'process_name'))" | FileCheck %s --check-prefix=TRACE
// TRACE: (0, 'device 0'), {{.*}}(1, 'device 1'), {{.*}}(2, 'simulated device 0'), {{.*}}(3, 'simulated device 1')

// Tests models whose step was not simulated by task graph.
// RUN: soap-compile %s --devices=2 --calibration=none --strategy=tensor-parallel --emit=soap -o %t/tasks.mlir
// RUN: soap-compile %t/tasks.mlir -o %t/tasks.so
// RUN: not soap-run %t/tasks.so --fit 2>&1 | FileCheck %s --check-prefix=TASKS
// TASKS: error: expected a model that knows its simulated step with --fit, got: none; compile it from a model without tasks
// RUN: not soap-run %t/m.so --fit --info 2>&1 | FileCheck %s --check-prefix=INFO
// INFO: error: expected --info alone, which runs nothing, got: --fit too

func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<64x128xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<128x128xf32> from #nn.random<1, "w", normal, 0.0, 0.1>
  %v = nn.parameter {nn.name = "v"} : tensor<128x64xf32> from #nn.random<1, "v", normal, 0.0, 0.1>
  %h = nn.matmul %x, %w {nn.name = "h"} : (tensor<64x128xf32>, tensor<128x128xf32>) -> tensor<64x128xf32>
  %p = nn.matmul %h, %v {nn.name = "p"} : (tensor<64x128xf32>, tensor<128x64xf32>) -> tensor<64x64xf32>
  %y = nn.relu %p {nn.name = "r"} : tensor<64x64xf32>
  nn.output %y {nn.name = "y"} : tensor<64x64xf32>
  return
}
