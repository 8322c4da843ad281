// One case per constraint of optimizers, schedules and writes.
// RUN: soap-opt %s --split-input-file --verify-diagnostics -o /dev/null

// Tests that a parameter keeps its type.
func.func @main() {
  %a = nn.input {nn.name = "a"} : tensor<2xf32>
  %p = nn.parameter {nn.name = "p"} : tensor<3xf32> from #nn.splat<1.0 : f32>
  // expected-error @+1 {{'nn.write' op failed to verify that all of {value, parameter, result} have same type}}
  %0 = "nn.write"(%a, %p) {nn.name = "w"} : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

// Tests that what is written is a parameter.
func.func @main() {
  %a = nn.input {nn.name = "a"} : tensor<2xf32>
  %p = nn.relu %a {nn.name = "p"} : tensor<2xf32>
  // expected-error @+1 {{expected a parameter that an nn.parameter makes, got: the result of nn.relu}}
  %0 = nn.write %a, %p {nn.name = "w"} : tensor<2xf32>
  return
}

// -----

// Tests that results of @init are not written.
func.func @main() {
  %a = nn.input {nn.name = "a"} : tensor<2xf32>
  %p = nn.parameter {nn.name = "p"} : tensor<2xf32> from #nn.init<0>
  // expected-error @+1 {{expected a parameter with a source of its own, got: a result of @init, which is computed once}}
  %0 = nn.write %a, %p {nn.name = "w"} : tensor<2xf32>
  return
}

// -----

// Tests that a parameter is written once.
func.func @main() {
  %a = nn.input {nn.name = "a"} : tensor<2xf32>
  %p = nn.parameter {nn.name = "p"} : tensor<2xf32> from #nn.splat<1.0 : f32>
  // expected-error @+1 {{expected to be the only operation that writes 'p', got also: 'again'}}
  %0 = nn.write %a, %p {nn.name = "w"} : tensor<2xf32>
  %1 = nn.write %0, %p {nn.name = "again"} : tensor<2xf32>
  return
}

// -----

// Tests that the number of a schedule is a scalar.
func.func @main() {
  // expected-error @+1 {{expected scalars, got: 'tensor<1xi64>'}}
  %0:4 = nn.schedule {nn.name = "s", kind = 0 : i32, rate = 0.1 : f64} : () -> (tensor<1xi64>, tensor<f32>, tensor<f32>, tensor<f32>)
  return
}

// -----

// Tests that the rate of a schedule is a scalar.
func.func @main() {
  // expected-error @+1 {{expected scalars, got: 'tensor<2xf32>'}}
  %0:4 = nn.schedule {nn.name = "s", kind = 0 : i32, rate = 0.1 : f64} : () -> (tensor<i64>, tensor<2xf32>, tensor<f32>, tensor<f32>)
  return
}

// -----

// Tests that the correction of a schedule is a scalar.
func.func @main() {
  // expected-error @+1 {{expected scalars, got: 'tensor<2xf32>'}}
  %0:4 = nn.schedule {nn.name = "s", kind = 0 : i32, rate = 0.1 : f64} : () -> (tensor<i64>, tensor<f32>, tensor<f32>, tensor<2xf32>)
  return
}

// -----

// Tests that the number of the steps before is a scalar.
func.func @main() {
  %n = nn.input {nn.name = "n"} : tensor<1xi64>
  // expected-error @+1 {{expected scalars, got: 'tensor<1xi64>'}}
  %0:4 = nn.schedule %n {nn.name = "s", kind = 0 : i32, rate = 0.1 : f64} : (tensor<1xi64>) -> (tensor<i64>, tensor<f32>, tensor<f32>, tensor<f32>)
  return
}

// -----

// Tests that numbers of steps are i64.
func.func @main() {
  // expected-error @+1 {{'nn.schedule' op result #0 must be}}
  %0:4 = nn.schedule {nn.name = "s", kind = 0 : i32, rate = 0.1 : f64} : () -> (tensor<i32>, tensor<f32>, tensor<f32>, tensor<f32>)
  return
}

// -----

// Tests that rate and corrections have one type.
func.func @main() {
  // expected-error @+1 {{expected corrections of the learning rate's element type 'f32', got: 'f64'}}
  %0:4 = nn.schedule {nn.name = "s", kind = 0 : i32, rate = 0.1 : f64} : () -> (tensor<i64>, tensor<f32>, tensor<f32>, tensor<f64>)
  return
}

// -----

// Tests that a learning rate is f32 or f64.
func.func @main() {
  // expected-error @+1 {{'nn.schedule' op result #1 must be}}
  %0:4 = nn.schedule {nn.name = "s", kind = 0 : i32, rate = 0.1 : f64} : () -> (tensor<i64>, tensor<f16>, tensor<f16>, tensor<f16>)
  return
}

// -----

// Tests that a learning rate is not negative.
func.func @main() {
  // expected-error @+1 {{expected 'rate' that is finite and not negative, got: -1.000000e+00}}
  %0:4 = nn.schedule {nn.name = "s", kind = 0 : i32, rate = -1.0 : f64} : () -> (tensor<i64>, tensor<f32>, tensor<f32>, tensor<f32>)
  return
}

// -----

// Tests that a learning rate is finite.
func.func @main() {
  // expected-error @+1 {{expected 'rate' that is finite and not negative, got: }}
  %0:4 = nn.schedule {nn.name = "s", kind = 0 : i32, rate = 0x7FF0000000000000 : f64} : () -> (tensor<i64>, tensor<f32>, tensor<f32>, tensor<f32>)
  return
}

// -----

// Tests that a factor is not negative.
func.func @main() {
  // expected-error @+1 {{expected 'factor' that is finite and not negative, got: -1.000000e+00}}
  %0:4 = nn.schedule {nn.name = "s", kind = 0 : i32, rate = 0.1 : f64, factor = -1.0 : f64} : () -> (tensor<i64>, tensor<f32>, tensor<f32>, tensor<f32>)
  return
}

// -----

// Tests that the first decay is below 1.
func.func @main() {
  // expected-error @+1 {{expected 'beta1' of at least 0 and below 1, got: 1.000000e+00}}
  %0:4 = nn.schedule {nn.name = "s", kind = 0 : i32, rate = 0.1 : f64, beta1 = 1.0 : f64} : () -> (tensor<i64>, tensor<f32>, tensor<f32>, tensor<f32>)
  return
}

// -----

// Tests that the second decay is not negative.
func.func @main() {
  // expected-error @+1 {{expected 'beta2' of at least 0 and below 1, got: -5.000000e-01}}
  %0:4 = nn.schedule {nn.name = "s", kind = 0 : i32, rate = 0.1 : f64, beta2 = -0.5 : f64} : () -> (tensor<i64>, tensor<f32>, tensor<f32>, tensor<f32>)
  return
}

// -----

// Tests that a warm-up is not negative.
func.func @main() {
  // expected-error @+1 {{expected a 'warmup' of 0 steps or more, got: -1}}
  %0:4 = nn.schedule {nn.name = "s", kind = 0 : i32, rate = 0.1 : f64, warmup = -1 : i64} : () -> (tensor<i64>, tensor<f32>, tensor<f32>, tensor<f32>)
  return
}

// -----

// Tests that a period has a step.
func.func @main() {
  // expected-error @+1 {{expected a 'period' of 1 step or more, got: 0}}
  %0:4 = nn.schedule {nn.name = "s", kind = 0 : i32, rate = 0.1 : f64, period = 0 : i64} : () -> (tensor<i64>, tensor<f32>, tensor<f32>, tensor<f32>)
  return
}

// -----

// Tests that a schedule is a known one.
func.func @main() {
  // expected-error @+1 {{attribute 'kind' failed to satisfy constraint}}
  %0:4 = nn.schedule {nn.name = "s", kind = 4 : i32, rate = 0.1 : f64} : () -> (tensor<i64>, tensor<f32>, tensor<f32>, tensor<f32>)
  return
}

// -----

// Tests that the gradient has the parameter's type.
func.func @main() {
  %a = nn.input {nn.name = "a"} : tensor<2xf32>
  %r = nn.constant dense<1.0> : tensor<f32> {nn.name = "r"}
  %g = nn.input {nn.name = "g"} : tensor<1xf32>
  // expected-error @+1 {{expected operand 1 of the result's type 'tensor<2xf32>', got: 'tensor<1xf32>'}}
  %0 = nn.sgd %a, %g, %r {nn.name = "u"} : (tensor<2xf32>, tensor<1xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

// Tests that state has the parameter's type.
func.func @main() {
  %a = nn.input {nn.name = "a"} : tensor<2xf32>
  %r = nn.constant dense<1.0> : tensor<f32> {nn.name = "r"}
  // expected-error @+1 {{expected operand 2 of the result's type 'tensor<2xf32>', got: 'tensor<f32>'}}
  %0:2 = nn.momentum %a, %a, %r, %r {nn.name = "u", momentum = 0.5 : f64} : (tensor<2xf32>, tensor<2xf32>, tensor<f32>, tensor<f32>) -> (tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

// Tests that a learning rate of an update is a scalar.
func.func @main() {
  %a = nn.input {nn.name = "a"} : tensor<2xf32>
  // expected-error @+1 {{expected a scalar of 'f32' as operand 2, got: 'tensor<2xf32>'}}
  %0 = nn.sgd %a, %a, %a {nn.name = "u"} : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// Tests that a scale has the parameter's element type.
func.func @main() {
  %a = nn.input {nn.name = "a"} : tensor<2xf32>
  %r = nn.constant dense<1.0> : tensor<f32> {nn.name = "r"}
  %s = nn.constant dense<1.0> : tensor<f64> {nn.name = "s"}
  // expected-error @+1 {{expected a scalar of 'f32' as operand 3, got: 'tensor<f64>'}}
  %0 = nn.sgd %a, %a, %r, %s {nn.name = "u"} : (tensor<2xf32>, tensor<2xf32>, tensor<f32>, tensor<f64>) -> tensor<2xf32>
  return
}

// -----

// Tests that the result has the parameter's type.
func.func @main() {
  %a = nn.input {nn.name = "a"} : tensor<2xf32>
  %r = nn.constant dense<1.0> : tensor<f32> {nn.name = "r"}
  // expected-error @+1 {{expected operand 0 of the result's type 'tensor<1xf32>', got: 'tensor<2xf32>'}}
  %0 = nn.sgd %a, %a, %r {nn.name = "u"} : (tensor<2xf32>, tensor<2xf32>, tensor<f32>) -> tensor<1xf32>
  return
}

// -----

// Tests that new state has the parameter's type.
func.func @main() {
  %a = nn.input {nn.name = "a"} : tensor<2xf32>
  %r = nn.constant dense<1.0> : tensor<f32> {nn.name = "r"}
  // expected-error @+1 {{expected results of one type 'tensor<2xf32>', got: 'tensor<1xf32>'}}
  %0:3 = nn.adam %a, %a, %a, %a, %r, %r, %r {nn.name = "u"} : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<1xf32>)
  return
}

// -----

// Tests that factors are finite.
func.func @main() {
  %a = nn.input {nn.name = "a"} : tensor<2xf32>
  %r = nn.constant dense<1.0> : tensor<f32> {nn.name = "r"}
  // expected-error @+1 {{expected a finite number for 'weight_decay', got: }}
  %0 = nn.sgd %a, %a, %r {nn.name = "u", weight_decay = 0x7FF0000000000000 : f64} : (tensor<2xf32>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

// Tests that loops of parts have positive extents.
func.func @parts(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected 'nn.parts' to be an array of 1 to 8 positive extents, got: array<i64: 4, 0>}}
  %0 = nn.add %a, %a {nn.name = "a", nn.parts = array<i64: 4, 0>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// Tests that an operation takes parts only if it is additive.
func.func @not_additive(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected no 'nn.parts' but on additive operations on f32 or f64}}
  %0 = nn.mul %a, %a {nn.name = "a", nn.parts = array<i64: 4>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// Tests that padding with a number is not additive.
func.func @padded(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected no 'nn.parts' but on additive operations on f32 or f64}}
  %0 = nn.pad %a {nn.name = "a", nn.parts = array<i64: 4>, pads_lo = array<i64: 1>, pads_hi = array<i64: 0>, value = 1.0 : f32} : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// Tests that dropout keeps the type.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<3xf32>
  // expected-error @+1 {{failed to verify that all of {x, result} have same type}}
  %0 = "nn.dropout"(%x) {nn.name = "drop", ratio = 0.5 : f64} : (tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

// Tests that the number of the step is a scalar.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<3xf32>
  %n = nn.input {nn.name = "n"} : tensor<1xi64>
  // expected-error @+1 {{expected a scalar as number of the step, got: 'tensor<1xi64>'}}
  %0 = nn.dropout %x, %n {nn.name = "drop", ratio = 0.5 : f64} : tensor<3xf32>, tensor<1xi64>
  return
}

// -----

// Tests that not everything is dropped.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<3xf32>
  // expected-error @+1 {{expected a 'ratio' of at least 0 and below 1, got: 1.000000e+00}}
  %0 = nn.dropout %x {nn.name = "drop", ratio = 1.0 : f64} : tensor<3xf32>
  return
}

// -----

// Tests that a ratio is not negative.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<3xf32>
  // expected-error @+1 {{expected a 'ratio' of at least 0 and below 1, got: -1.000000e-01}}
  %0 = nn.dropout %x {nn.name = "drop", ratio = -0.1 : f64} : tensor<3xf32>
  return
}

// -----

// Tests that a tile says where it lies, and of what.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<3xf32>
  // expected-error @+1 {{expected both 'offsets' and 'global_shape' or neither, got only 'offsets'}}
  %0 = nn.dropout %x {nn.name = "drop", ratio = 0.5 : f64, offsets = array<i64: 1>} : tensor<3xf32>
  return
}

// -----

// Tests that a tile lies inside of the whole value.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<3xf32>
  // expected-error @+1 {{expected a box inside of [5], got: offsets [3], shape [3]}}
  %0 = nn.dropout %x {nn.name = "drop", ratio = 0.5 : f64, offsets = array<i64: 3>, global_shape = array<i64: 5>} : tensor<3xf32>
  return
}

// -----

// Tests that an operation is launched behind one that stands before it.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<2xf32>
  // expected-error @+1 {{'nn.relu' op expected 'nn.after' to name an operation before it that computes, got: 'b'}}
  %0 = nn.relu %x {nn.after = "b", nn.name = "a"} : tensor<2xf32>
  %1 = nn.relu %x {nn.name = "b"} : tensor<2xf32>
  return
}

// -----

func.func @main() {
  // expected-error @+1 {{'nn.input' op expected 'nn.after' to be the name of an operation, on one that computes, got: "b"}}
  %x = nn.input {nn.after = "b", nn.name = "x"} : tensor<2xf32>
  return
}

// -----

func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<2xf32>
  // expected-error @+1 {{'nn.relu' op expected 'nn.loss_gradient' without a value, on an nn.constant}}
  %0 = nn.relu %x {nn.loss_gradient, nn.name = "a"} : tensor<2xf32>
  return
}

// -----

func.func @main() {
  %w = nn.input {nn.name = "w"} : tensor<4x4xf32>
  %i = nn.input {nn.name = "i"} : tensor<2x1xi64>
  %g = nn.input {nn.name = "g"} : tensor<2x3xf32>
  %r = nn.input {nn.name = "r"} : tensor<f32>
  // expected-error @+1 {{'nn.sparse_sgd' op expected w of the result's type 'tensor<4x3xf32>', got: 'tensor<4x4xf32>'}}
  %0 = nn.sparse_sgd %w, %i, %g, %r {nn.name = "update"} : (tensor<4x4xf32>, tensor<2x1xi64>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @main() {
  %w = nn.input {nn.name = "w"} : tensor<4x3xf32>
  %i = nn.input {nn.name = "i"} : tensor<2x1xi64>
  %g = nn.input {nn.name = "g"} : tensor<2x3xf64>
  %r = nn.input {nn.name = "r"} : tensor<f32>
  // expected-error @+1 {{'nn.sparse_sgd' op expected slices of 'f32', got: 'f64'}}
  %0 = nn.sparse_sgd %w, %i, %g, %r {nn.name = "update"} : (tensor<4x3xf32>, tensor<2x1xi64>, tensor<2x3xf64>, tensor<f32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @main() {
  %w = nn.input {nn.name = "w"} : tensor<4x3xf32>
  %i = nn.input {nn.name = "i"} : tensor<2x1xi64>
  %g = nn.input {nn.name = "g"} : tensor<2x3xf32>
  %r = nn.input {nn.name = "r"} : tensor<f64>
  // expected-error @+1 {{'nn.sparse_sgd' op expected a rate of 'f32', got: 'f64'}}
  %0 = nn.sparse_sgd %w, %i, %g, %r {nn.name = "update"} : (tensor<4x3xf32>, tensor<2x1xi64>, tensor<2x3xf32>, tensor<f64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @main() {
  %w = nn.input {nn.name = "w"} : tensor<4x3xf32>
  %i = nn.input {nn.name = "i"} : tensor<2x1xi64>
  %g = nn.input {nn.name = "g"} : tensor<2x3xf32>
  %r = nn.input {nn.name = "r"} : tensor<1xf32>
  // expected-error @+1 {{'nn.sparse_sgd' op expected a scalar as rate, got: 'tensor<1xf32>'}}
  %0 = nn.sparse_sgd %w, %i, %g, %r {nn.name = "update"} : (tensor<4x3xf32>, tensor<2x1xi64>, tensor<2x3xf32>, tensor<1xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @main() {
  %w = nn.input {nn.name = "w"} : tensor<4x3xf32>
  %i = nn.input {nn.name = "i"} : tensor<2x1xi64>
  %g = nn.input {nn.name = "g"} : tensor<3x2xf32>
  %r = nn.input {nn.name = "r"} : tensor<f32>
  // expected-error @+1 {{'nn.sparse_sgd' op expected slices of shape [2, 3], got: [3, 2]}}
  %0 = nn.sparse_sgd %w, %i, %g, %r {nn.name = "update"} : (tensor<4x3xf32>, tensor<2x1xi64>, tensor<3x2xf32>, tensor<f32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @main() {
  %w = nn.input {nn.name = "w"} : tensor<4x3xf32>
  %i = nn.input {nn.name = "i"} : tensor<2x3xi64>
  %g = nn.input {nn.name = "g"} : tensor<2x3xf32>
  %r = nn.input {nn.name = "r"} : tensor<f32>
  // expected-error @+1 {{'nn.sparse_sgd' op expected indices of at most 2 dimensions in their last one, got: [2, 3]}}
  %0 = nn.sparse_sgd %w, %i, %g, %r {nn.name = "update"} : (tensor<4x3xf32>, tensor<2x3xi64>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @main() {
  %w = nn.input {nn.name = "w"} : tensor<4x3xf32>
  %i = nn.input {nn.name = "i"} : tensor<2x1xi64>
  %g = nn.input {nn.name = "g"} : tensor<2x3xf32>
  %r = nn.input {nn.name = "r"} : tensor<f32>
  // expected-error @+1 {{'nn.sparse_sgd' op expected rows inside of a table of 5, got: rows 3 to 7}}
  %0 = nn.sparse_sgd %w, %i, %g, %r {nn.name = "update", bases = array<i64: 3>, table_sizes = array<i64: 5>} : (tensor<4x3xf32>, tensor<2x1xi64>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  return
}
