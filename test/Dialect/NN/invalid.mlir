// One case per constraint.
// RUN: soap-opt %s --split-input-file --verify-diagnostics -o /dev/null

// Tests that every operation has a name.
func.func @main(%x: tensor<2xf32>) {
  // expected-error @+1 {{'nn.relu' op expected a name, got none; add the attribute 'nn.name'}}
  %0 = nn.relu %x : tensor<2xf32>
  return
}

// -----

// Tests that a constant has elements of which a task can have some.
func.func @main() {
  // expected-error @+1 {{'nn.constant' op attribute 'value' failed to satisfy constraint: constant vector/tensor attribute with dense elements}}
  %0 = nn.constant sparse<[[0]], [1.0]> : tensor<2xf32> {nn.name = "c"}
  return
}

// -----

// Tests that a name is a string.
func.func @main(%x: tensor<2xf32>) {
  // expected-error @+1 {{'nn.relu' op expected 'nn.name' to be a string that is not empty, got: 3 : i64}}
  %0 = nn.relu %x {nn.name = 3 : i64} : tensor<2xf32>
  return
}

// -----

// Tests that a name is not empty.
func.func @main(%x: tensor<2xf32>) {
  // expected-error @+1 {{'nn.relu' op expected 'nn.name' to be a string that is not empty, got: ""}}
  %0 = nn.relu %x {nn.name = ""} : tensor<2xf32>
  return
}

// -----

// Tests that an update has a leader in the same group, which is part of no other.
func.func @main(%x: tensor<2xf32>) {
  %0 = nn.relu %x {nn.name = "a"} : tensor<2xf32>
  // expected-error @+1 {{'nn.relu' op expected 'nn.update' to name a member of the same group that is part of no other update, got: 'a'}}
  %1 = nn.relu %0 {nn.name = "b", nn.group = #nn.group<"a">, nn.update = "a"} : tensor<2xf32>
  return
}

// -----

// Tests that an update is named.
func.func @main(%x: tensor<2xf32>) {
  // expected-error @+1 {{'nn.relu' op expected 'nn.update' to be the name of an operation, got: 3 : i64}}
  %0 = nn.relu %x {nn.name = "a", nn.update = 3} : tensor<2xf32>
  return
}

// -----

// Tests that the dialect has no other attribute.
func.func @main(%x: tensor<2xf32>) {
  // expected-error @+1 {{'nn.relu' op expected no attributes of the nn dialect but 'nn.name', 'nn.group', 'nn.update', 'nn.parts', 'nn.after', 'nn.constant', 'nn.state', 'nn.loss_gradient', 'nn.training' and 'nn.view', got: 'nn.label'}}
  %0 = nn.relu %x {nn.name = "a", nn.label = "b"} : tensor<2xf32>
  return
}

// -----

// Tests that how a step was made is said by a module, in a string.
func.func @main(%x: tensor<2xf32>) {
  // expected-error @+1 {{'nn.relu' op expected 'nn.training' to be a string, of a module, got: "{}"}}
  %0 = nn.relu %x {nn.name = "a", nn.training = "{}"} : tensor<2xf32>
  return
}

// -----

// Tests that a view names the tensor that it is a view of.
func.func @main() {
  // expected-error @+1 {{'nn.parameter' op expected 'nn.view' with a 'shape' and the name of a 'tensor', on an nn.parameter}}
  %0 = nn.parameter {nn.name = "a", nn.view = {tensor = "b"}} : tensor<2xf32> from #nn.splat<1.0 : f32>
  return
}

// -----

// Tests that a view has the elements of its tensor.
func.func @main() {
  // expected-error @+1 {{'nn.parameter' op expected 'nn.view' of a tensor of 2 elements, got: 3}}
  %0 = nn.parameter {nn.name = "a", nn.view = {shape = array<i64: 1, 3>, tensor = "b"}} : tensor<2xf32> from #nn.splat<1.0 : f32>
  return
}

// -----

// Tests that shapes are static.
func.func @main(%x: tensor<?xf32>) {
  // expected-error @+1 {{'nn.tanh' op operand #0 must be static ranked tensor of floats without empty dimensions, of rank 8 or less, of at most 2^48 elements, but got 'tensor<?xf32>'}}
  %0 = nn.tanh %x {nn.name = "a"} : tensor<?xf32>
  return
}

// -----

// Tests that no dimension is empty.
func.func @main(%x: tensor<2x0xf32>) {
  // expected-error @+1 {{but got 'tensor<2x0xf32>'}}
  %0 = nn.relu %x {nn.name = "a"} : tensor<2x0xf32>
  return
}

// -----

// Tests the greatest rank.
func.func @main(%x: tensor<1x1x1x1x1x1x1x1x1xf32>) {
  // expected-error @+1 {{but got 'tensor<1x1x1x1x1x1x1x1x1xf32>'}}
  %0 = nn.relu %x {nn.name = "a"} : tensor<1x1x1x1x1x1x1x1x1xf32>
  return
}

// -----

// Tests that the number of elements does not overflow.
func.func @main(%x: tensor<4294967296x4294967296xf32>) {
  // expected-error @+1 {{of at most 2^48 elements, but got}}
  %0 = nn.relu %x {nn.name = "a"} : tensor<4294967296x4294967296xf32>
  return
}

// -----

// Tests that strides, pads and the like do not overflow.
func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected entries of at most 2147483647 in 'pads_hi', got: [2147483648]}}
  %0 = nn.pad %x {nn.name = "a", pads_lo = array<i64: 0>, pads_hi = array<i64: 2147483648>, value = 0.0 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// Tests that the end of a file's part does not overflow.
func.func @main() {
  // expected-error @+1 {{expected an offset and a length of 0 or more}}
  %0 = nn.parameter {nn.name = "a"} : tensor<2xf32> from #nn.file<"m", 9223372036854775807, 8>
  return
}

// -----

// Tests that activations are floats.
func.func @main(%x: tensor<2xi32>) {
  // expected-error @+1 {{must be static ranked tensor of floats}}
  %0 = nn.tanh %x {nn.name = "a"} : tensor<2xi32>
  return
}

// -----

// Tests the path of a file.
func.func @main() {
  // expected-error @+1 {{expected the path of a file, got an empty string}}
  %0 = nn.parameter {nn.name = "a"} : tensor<2xf32> from #nn.file<"", 0, 8>
  return
}

// -----

// Tests the offset of a file.
func.func @main() {
  // expected-error @+1 {{expected an offset and a length of 0 or more, got: -1, 8}}
  %0 = nn.parameter {nn.name = "a"} : tensor<2xf32> from #nn.file<"m", -1, 8>
  return
}

// -----

// Tests the standard deviation of a recipe.
func.func @main() {
  // expected-error @+1 {{expected a standard deviation of 0 or more}}
  %0 = nn.parameter {nn.name = "a"} : tensor<2xf32> from #nn.random<1, "a", normal, 0.0, -1.0>
  return
}

// -----

// Tests the bounds of a recipe.
func.func @main() {
  // expected-error @+1 {{swap the bounds}}
  %0 = nn.parameter {nn.name = "a"} : tensor<2xf32> from #nn.random<1, "a", uniform, 1.0, 0.0>
  return
}

// -----

// Tests that the numbers of a recipe are finite.
func.func @main() {
  // expected-error @+1 {{expected finite numbers}}
  %0 = nn.parameter {nn.name = "a"} : tensor<2xf32> from #nn.random<1, "a", normal, 0.0, 1.0e+999>
  return
}

// -----

// Tests the index of a result of @init.
func.func @main() {
  // expected-error @+1 {{expected the index of a result of @init, got: -1}}
  %0 = nn.parameter {nn.name = "a"} : tensor<2xf32> from #nn.init<-1>
  return
}

// -----

// Tests the size of a source in bytes.
func.func @main() {
  // expected-error @+1 {{expected a source of 8 bytes for shape [2] of 'f32', got: 9}}
  %0 = nn.parameter {nn.name = "a"} : tensor<2xf32> from #nn.file<"m", 0, 9>
  return
}

// -----

// Tests the type of a splat.
func.func @main() {
  // expected-error @+1 {{expected a splat of type 'f32', got: 'f64'}}
  %0 = nn.parameter {nn.name = "a"} : tensor<2xf32> from #nn.splat<1.0 : f64>
  return
}

// -----

// Tests that a recipe makes floats.
func.func @main() {
  // expected-error @+1 {{expected floating point elements from a random source, got: 'i32'}}
  %0 = nn.parameter {nn.name = "a"} : tensor<2xi32> from #nn.random<1, "a", normal, 0.0, 1.0>
  return
}

// -----

// Tests what a source may be.
func.func @main() {
  // expected-error @+1 {{failed to satisfy constraint: source of a parameter}}
  %0 = "nn.parameter"() <{source = 1 : i64}> {nn.name = "a"} : () -> tensor<2xf32>
  return
}

// -----

// Tests that a box has a whole.
func.func @main() {
  // expected-error @+1 {{expected both 'offsets' and 'global_shape' or neither, got only 'offsets'}}
  %0 = nn.parameter {nn.name = "a", offsets = array<i64: 0>} : tensor<2xf32> from #nn.init<0>
  return
}

// -----

// Tests the rank of a box.
func.func @main() {
  // expected-error @+1 {{expected 1 entries in 'offsets', got: 2}}
  %0 = nn.input {nn.name = "a", offsets = array<i64: 0, 0>, global_shape = array<i64: 2>} : tensor<2xf32>
  return
}

// -----

// Tests that a box lies inside.
func.func @main(%x: tensor<2xf32>) {
  // expected-error @+1 {{expected a box inside of [4], got: offsets [3], shape [2]}}
  nn.output %x {nn.name = "a", offsets = array<i64: 3>, global_shape = array<i64: 4>} : tensor<2xf32>
  return
}

// -----

// Tests the sample dimensions.
func.func @main() {
  // expected-error @+1 {{expected sample dimensions inside of rank 1, got: [1]}}
  %0 = nn.input {nn.name = "a", sample_dims = array<i64: 1>} : tensor<2xf32>
  return
}

// -----

// Tests the bound of indices.
func.func @main() {
  // expected-error @+1 {{expected an 'index_bound' of 1 or more, got: 0}}
  %0 = nn.input {nn.name = "a", index_bound = 0 : i64} : tensor<2xi64>
  return
}

// -----

// Tests that indices are integers.
func.func @main() {
  // expected-error @+1 {{expected integers where there is an 'index_bound', got: 'f32'}}
  %0 = nn.input {nn.name = "a", index_bound = 3 : i64} : tensor<2xf32>
  return
}

// -----

// Tests that element types are equal.
func.func @main(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf64>) {
  // expected-error @+1 {{'nn.conv' op expected operands of one element type, got: 'f32' and, in operand 1, 'f64'}}
  %0 = nn.conv %x, %w {nn.name = "a", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf64>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// Tests the rank of a convolution.
func.func @main(%x: tensor<1x4xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{'nn.conv' op expected an input of rank 3 to 5, got: 2}}
  %0 = nn.conv %x, %w {nn.name = "a", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>} : (tensor<1x4xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// Tests the rank of a weight.
func.func @main(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error @+1 {{expected a weight of rank 4, got: 3}}
  %0 = nn.conv %x, %w {nn.name = "a", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>} : (tensor<1x4x8x8xf32>, tensor<6x4x3xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// Tests the number of strides.
func.func @main(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{expected 2 entries in 'strides', got: 1}}
  %0 = nn.conv %x, %w {nn.name = "a", strides = array<i64: 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// Tests that strides are positive.
func.func @main(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{expected entries of 1 or more in 'strides', got: [1, 0]}}
  %0 = nn.conv %x, %w {nn.name = "a", strides = array<i64: 1, 0>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// Tests that dilations are positive.
func.func @main(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{expected entries of 1 or more in 'dilations', got: [0, 1]}}
  %0 = nn.conv %x, %w {nn.name = "a", strides = array<i64: 1, 1>, dilations = array<i64: 0, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// Tests that pads are not negative.
func.func @main(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{expected entries of 0 or more in 'pads_lo', got: [0, -1]}}
  %0 = nn.conv %x, %w {nn.name = "a", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, -1>, pads_hi = array<i64: 0, 0>} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// Tests that pads are not negative behind.
func.func @main(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{expected entries of 0 or more in 'pads_hi', got: [0, -1]}}
  %0 = nn.conv %x, %w {nn.name = "a", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, -1>} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// Tests that groups divide channels.
func.func @main(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{expected 'groups' to divide 4 input and 6 output channels, got: 3}}
  %0 = nn.conv %x, %w {nn.name = "a", groups = 3 : i64, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// Tests the channels of a weight.
func.func @main(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{expected a weight with 2 channels per group, got: 4}}
  %0 = nn.conv %x, %w {nn.name = "a", groups = 2 : i64, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// Tests the shape of a bias.
func.func @main(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>, %b: tensor<5xf32>) {
  // expected-error @+1 {{expected a bias of shape [6], got: [5]}}
  %0 = nn.conv %x, %w bias %b {nn.name = "a", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>, tensor<5xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// Tests that a window fits.
func.func @main(%x: tensor<1x4x8x2xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{expected a window of at most 2 elements (the padded input) in spatial dimension 1, got: 3}}
  %0 = nn.conv %x, %w {nn.name = "a", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>} : (tensor<1x4x8x2xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x1xf32>
  return
}

// -----

// Tests the result of a convolution.
func.func @main(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{expected a result of shape [1, 6, 6, 6], got: [1, 6, 6, 7]}}
  %0 = nn.conv %x, %w {nn.name = "a", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x7xf32>
  return
}

// -----

// Tests that element types are equal.
func.func @main(%a: tensor<2x3xf32>, %b: tensor<3x4xf64>) {
  // expected-error @+1 {{'nn.matmul' op expected operands of one element type, got: 'f32' and, in operand 1, 'f64'}}
  %0 = nn.matmul %a, %b {nn.name = "a"} : (tensor<2x3xf32>, tensor<3x4xf64>) -> tensor<2x4xf32>
  return
}

// -----

// Tests that operands are matrices.
func.func @main(%a: tensor<3xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+1 {{expected operand 'a' to have a rank of 2 or more, got: 1; reshape a vector to a matrix}}
  %0 = nn.matmul %a, %b {nn.name = "a"} : (tensor<3xf32>, tensor<3x4xf32>) -> tensor<4xf32>
  return
}

// -----

// Tests that operands share a dimension.
func.func @main(%a: tensor<2x3xf32>, %b: tensor<4x4xf32>) {
  // expected-error @+1 {{expected operands that share K, got: 3 columns of a, 4 rows of b}}
  %0 = nn.matmul %a, %b {nn.name = "a"} : (tensor<2x3xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

// Tests the shape of a bias.
func.func @main(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %c: tensor<3xf32>) {
  // expected-error @+1 {{expected a bias of shape [4], got: [3]}}
  %0 = nn.matmul %a, %b bias %c {nn.name = "a"} : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<3xf32>) -> tensor<2x4xf32>
  return
}

// -----

// Tests that batch dimensions broadcast.
func.func @main(%a: tensor<2x2x3xf32>, %b: tensor<5x3x4xf32>) {
  // expected-error @+1 {{expected batch dimensions that broadcast, got: [2], [5]; sizes must be equal or 1, aligned on the right}}
  %0 = nn.matmul %a, %b {nn.name = "a"} : (tensor<2x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
  return
}

// -----

// Tests the result of a product.
func.func @main(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+1 {{expected a result of shape [2, 4], got: [2, 5]}}
  %0 = nn.matmul %a, %b {nn.name = "a"} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x5xf32>
  return
}

// -----

// Tests that element types are equal.
func.func @main(%x: tensor<1x2x8xf32>) {
  // expected-error @+1 {{expected the result's element type 'f64' in operand 0, got: 'f32'}}
  %0 = nn.max_pool %x {nn.name = "a", kernel = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 0>, pads_hi = array<i64: 0>} : (tensor<1x2x8xf32>) -> tensor<1x2x6xf64>
  return
}

// -----

// Tests the rank of a pool.
func.func @main(%x: tensor<1x8xf32>) {
  // expected-error @+1 {{'nn.max_pool' op expected an input of rank 3 to 5, got: 2}}
  %0 = nn.max_pool %x {nn.name = "a", kernel = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 0>, pads_hi = array<i64: 0>} : (tensor<1x8xf32>) -> tensor<1x2x6xf32>
  return
}

// -----

// Tests the number of kernel sizes.
func.func @main(%x: tensor<1x2x8xf32>) {
  // expected-error @+1 {{expected 1 entries in 'kernel', got: 2}}
  %0 = nn.max_pool %x {nn.name = "a", kernel = array<i64: 3, 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 0>, pads_hi = array<i64: 0>} : (tensor<1x2x8xf32>) -> tensor<1x2x6xf32>
  return
}

// -----

// Tests that kernel sizes are positive.
func.func @main(%x: tensor<1x2x8xf32>) {
  // expected-error @+1 {{expected entries of 1 or more in 'kernel', got: [0]}}
  %0 = nn.max_pool %x {nn.name = "a", kernel = array<i64: 0>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 0>, pads_hi = array<i64: 0>} : (tensor<1x2x8xf32>) -> tensor<1x2x6xf32>
  return
}

// -----

// Tests that strides are positive.
func.func @main(%x: tensor<1x2x8xf32>) {
  // expected-error @+1 {{expected entries of 1 or more in 'strides', got: [0]}}
  %0 = nn.max_pool %x {nn.name = "a", kernel = array<i64: 3>, strides = array<i64: 0>, dilations = array<i64: 1>, pads_lo = array<i64: 0>, pads_hi = array<i64: 0>} : (tensor<1x2x8xf32>) -> tensor<1x2x6xf32>
  return
}

// -----

// Tests that every window reaches the input.
func.func @main(%x: tensor<1x2x8xf32>) {
  // expected-error @+1 {{expected pads smaller than the window of 3 elements in spatial dimension 0, got: 3 and 0; a window must reach the input}}
  %0 = nn.max_pool %x {nn.name = "a", kernel = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 3>, pads_hi = array<i64: 0>} : (tensor<1x2x8xf32>) -> tensor<1x2x9xf32>
  return
}

// -----

// Tests that a window fits.
func.func @main(%x: tensor<1x2x2xf32>) {
  // expected-error @+1 {{expected a window of at most 2 elements (the padded input) in spatial dimension 0, got: 3}}
  %0 = nn.max_pool %x {nn.name = "a", kernel = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 0>, pads_hi = array<i64: 0>} : (tensor<1x2x2xf32>) -> tensor<1x2x1xf32>
  return
}

// -----

// Tests the result of a pool.
func.func @main(%x: tensor<1x2x8xf32>) {
  // expected-error @+1 {{expected a result of shape [1, 2, 6], got: [1, 2, 7]}}
  %0 = nn.max_pool %x {nn.name = "a", kernel = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 0>, pads_hi = array<i64: 0>} : (tensor<1x2x8xf32>) -> tensor<1x2x7xf32>
  return
}

// -----

// Tests the number of counted pads.
func.func @main(%x: tensor<1x2x8xf32>) {
  // expected-error @+1 {{expected 1 entries in 'counted_lo', got: 0}}
  %0 = nn.avg_pool %x {nn.name = "a", kernel = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 0>, pads_hi = array<i64: 0>, counted_lo = array<i64>, counted_hi = array<i64: 0>} : (tensor<1x2x8xf32>) -> tensor<1x2x6xf32>
  return
}

// -----

// Tests that counted pads are not negative.
func.func @main(%x: tensor<1x2x8xf32>) {
  // expected-error @+1 {{expected entries of 0 or more in 'counted_hi', got: [-1]}}
  %0 = nn.avg_pool %x {nn.name = "a", kernel = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 0>, pads_hi = array<i64: 0>, counted_lo = array<i64: 0>, counted_hi = array<i64: -1>} : (tensor<1x2x8xf32>) -> tensor<1x2x6xf32>
  return
}

// -----

// Tests that counted pads are pads.
func.func @main(%x: tensor<1x2x8xf32>) {
  // expected-error @+1 {{expected counted pads that are at most the pads, got: [1] of [0], [0] of [0]}}
  %0 = nn.avg_pool %x {nn.name = "a", kernel = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 0>, pads_hi = array<i64: 0>, counted_lo = array<i64: 1>, counted_hi = array<i64: 0>} : (tensor<1x2x8xf32>) -> tensor<1x2x6xf32>
  return
}

// -----

// Tests that a sum has the type in which it is made.
func.func @main(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected a result of element type 'f32', in which sums of 'f32' are made, got: 'f64'}}
  %0 = nn.reduce %x {nn.name = "a", kind = #nn.reduce_kind<sum>, axes = array<i64: 1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf64>
  return
}

// -----

// Tests that axes are inside.
func.func @main(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected ascending axes in [0, 2), got: [2]}}
  %0 = nn.reduce %x {nn.name = "a", kind = #nn.reduce_kind<sum>, axes = array<i64: 2>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

// Tests that axes are ascending.
func.func @main(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected ascending axes in [0, 2), got: [1, 0]}}
  %0 = nn.reduce %x {nn.name = "a", kind = #nn.reduce_kind<sum>, axes = array<i64: 1, 0>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

// Tests that only sums are scaled.
func.func @main(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected a scale of 1 for a reduction other than sum, got: }}
  %0 = nn.reduce %x {nn.name = "a", kind = #nn.reduce_kind<max>, axes = array<i64: 1>, keepdims = false, scale = 0.5 : f32} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

// Tests the result of a reduction.
func.func @main(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected a result of shape [2], got: [2, 1]}}
  %0 = nn.reduce %x {nn.name = "a", kind = #nn.reduce_kind<sum>, axes = array<i64: 1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2x1xf32>
  return
}

// -----

// Tests that element types are equal.
func.func @main(%x: tensor<1x2xf32>, %c: tensor<2xf64>) {
  // expected-error @+1 {{expected the result's element type 'f32' in operand 1, got: 'f64'}}
  %0 = nn.batch_norm %x, %c, %c, %c, %c {nn.name = "a", epsilon = 0.1 : f32} : tensor<1x2xf32>, tensor<2xf64>
  return
}

// -----

// Tests the rank of a batch norm.
func.func @main(%x: tensor<2xf32>, %c: tensor<2xf32>) {
  // expected-error @+1 {{'nn.batch_norm' op expected an input of rank 2 to 5, got: 1}}
  %0 = nn.batch_norm %x, %c, %c, %c, %c {nn.name = "a", epsilon = 0.1 : f32} : tensor<2xf32>, tensor<2xf32>
  return
}

// -----

// Tests the channels of a batch norm.
func.func @main(%x: tensor<1x2x4xf32>, %c: tensor<3xf32>) {
  // expected-error @+1 {{expected scale, bias, mean and variance of shape [2], got: [3]}}
  %0 = nn.batch_norm %x, %c, %c, %c, %c {nn.name = "a", epsilon = 0.1 : f32} : tensor<1x2x4xf32>, tensor<3xf32>
  return
}

// -----

// Tests the rank of an LRN.
func.func @main(%x: tensor<2xf32>) {
  // expected-error @+1 {{'nn.lrn' op expected an input of rank 2 to 5, got: 1}}
  %0 = nn.lrn %x {nn.name = "a", size = 3 : i64, alpha = 0.1 : f32, beta = 0.5 : f32, bias = 1.0 : f32} : tensor<2xf32>
  return
}

// -----

// Tests the size of an LRN.
func.func @main(%x: tensor<1x2xf32>) {
  // expected-error @+1 {{expected a 'size' of 1 or more, got: 0}}
  %0 = nn.lrn %x {nn.name = "a", size = 0 : i64, alpha = 0.1 : f32, beta = 0.5 : f32, bias = 1.0 : f32} : tensor<1x2xf32>
  return
}

// -----

// Tests the axis of a softmax.
func.func @main(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'nn.softmax' op expected an axis in [0, 2), got: 2}}
  %0 = nn.softmax %x {nn.name = "a", axis = 2 : i64} : tensor<2x3xf32>
  return
}

// -----

// Tests that a softmax rounds f32 to 16 bits and widens these, and nothing else.
func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf16>) {
  %0 = nn.softmax %x {nn.name = "a", axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xbf16>
  %1 = nn.softmax %y {nn.name = "b", axis = 1 : i64} : (tensor<2x3xf16>) -> tensor<2x3xf32>
  // expected-error @+1 {{'nn.softmax' op expected a result of element type 'f16', as operand 0, or f32 and a float of 16 bits, got: 'bf16'}}
  %2 = nn.softmax %y {nn.name = "c", axis = 1 : i64} : (tensor<2x3xf16>) -> tensor<2x3xbf16>
  return
}

// -----

// Tests that a softmax has one operand.
func.func @main(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected one operand and one result}}
  %0 = nn.softmax %x {nn.name = "a", axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// Tests that scale and bias of a layer norm are f32 beside floats of 16 bits, or of
// the type of x.
func.func @main(%x: tensor<2x3xf32>, %s: tensor<3xf32>, %t: tensor<3xf16>) {
  %0 = nn.layer_norm %x, %s {nn.name = "a", axis = 1 : i64, epsilon = 1.0e-5 : f32} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf16>
  // expected-error @+1 {{'nn.layer_norm' op expected the element type 'f32' of operand 0 in operand 1, got: 'f16'}}
  %1 = nn.layer_norm %x, %t {nn.name = "b", axis = 1 : i64, epsilon = 1.0e-5 : f32} : (tensor<2x3xf32>, tensor<3xf16>) -> tensor<2x3xf16>
  return
}

// -----

// Tests that element types are equal.
func.func @main(%a: tensor<2xf32>, %b: tensor<2xf64>) {
  // expected-error @+1 {{'nn.add' op expected the result's element type 'f32' in operand 1, got: 'f64'}}
  %0 = nn.add %a, %b {nn.name = "a"} : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xf32>
  return
}

// -----

// Tests that operands broadcast.
func.func @main(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{'nn.add' op expected operands that broadcast to one shape, got: [2], [3]; sizes must be equal or 1, aligned on the right}}
  %0 = nn.add %a, %b {nn.name = "a"} : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

// Tests the result of a broadcast.
func.func @main(%a: tensor<3x1xf32>, %b: tensor<2xf32>) {
  // expected-error @+1 {{expected a result of shape [3, 2], got: [3, 3]}}
  %0 = nn.add %a, %b {nn.name = "a"} : (tensor<3x1xf32>, tensor<2xf32>) -> tensor<3x3xf32>
  return
}

// -----

// Tests that bounds are numbers.
func.func @main(%x: tensor<2xf32>) {
  // expected-error @+1 {{expected bounds that are numbers, got NaN; use an infinite bound where there is none}}
  %0 = nn.clip %x {nn.name = "a", min = 0x7FC00000 : f32, max = 1.0 : f32} : tensor<2xf32>
  return
}

// -----

// Tests that a concatenation has operands.
func.func @main() {
  // expected-error @+1 {{expected at least one operand, got none}}
  %0 = nn.concat {nn.name = "a", axis = 0 : i64} : () -> tensor<2xf32>
  return
}

// -----

// Tests that element types are equal.
func.func @main(%x: tensor<2xf32>, %y: tensor<2xf64>) {
  // expected-error @+1 {{expected the result's element type 'f32' in operand 1, got: 'f64'}}
  %0 = nn.concat %x, %y {nn.name = "a", axis = 0 : i64} : (tensor<2xf32>, tensor<2xf64>) -> tensor<4xf32>
  return
}

// -----

// Tests the axis of a concatenation.
func.func @main(%x: tensor<2xf32>) {
  // expected-error @+1 {{'nn.concat' op expected an axis in [0, 1), got: 1}}
  %0 = nn.concat %x {nn.name = "a", axis = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// Tests the shapes of what is concatenated.
func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x2xf32>) {
  // expected-error @+1 {{expected operand 1 to have the result's shape [4, 3] but along axis 0, got: [2, 2]}}
  %0 = nn.concat %x, %y {nn.name = "a", axis = 0 : i64} : (tensor<2x3xf32>, tensor<2x2xf32>) -> tensor<4x3xf32>
  return
}

// -----

// Tests the rank of what is concatenated.
func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected operand 0 to have the result's shape [4, 3] but along axis 0, got: [4]}}
  %0 = nn.concat %x {nn.name = "a", axis = 0 : i64} : (tensor<4xf32>) -> tensor<4x3xf32>
  return
}

// -----

// Tests the size of a concatenation.
func.func @main(%x: tensor<2xf32>) {
  // expected-error @+1 {{expected a result of size 2 along axis 0, got: 3}}
  %0 = nn.concat %x {nn.name = "a", axis = 0 : i64} : (tensor<2xf32>) -> tensor<3xf32>
  return
}

// -----

// Tests that element types are equal.
func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected the result's element type 'f64' in operand 0, got: 'f32'}}
  %0 = nn.slice %x {nn.name = "a", starts = array<i64: 0>, steps = array<i64: 1>} : (tensor<4xf32>) -> tensor<2xf64>
  return
}

// -----

// Tests the rank of a slice.
func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected a result of rank 1, got: 2}}
  %0 = nn.slice %x {nn.name = "a", starts = array<i64: 0>, steps = array<i64: 1>} : (tensor<4xf32>) -> tensor<2x1xf32>
  return
}

// -----

// Tests the number of starts.
func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected 1 entries in 'starts', got: 2}}
  %0 = nn.slice %x {nn.name = "a", starts = array<i64: 0, 0>, steps = array<i64: 1>} : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

// Tests the number of steps.
func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected 1 entries in 'steps', got: 2}}
  %0 = nn.slice %x {nn.name = "a", starts = array<i64: 0>, steps = array<i64: 1, 1>} : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

// Tests that steps are not 0.
func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected steps other than 0, got: [0]}}
  %0 = nn.slice %x {nn.name = "a", starts = array<i64: 0>, steps = array<i64: 0>} : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

// Tests that a slice ends inside.
func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected elements in [0, 4) of dimension 0, got: 3 to 4 by steps of 1}}
  %0 = nn.slice %x {nn.name = "a", starts = array<i64: 3>, steps = array<i64: 1>} : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

// Tests that a slice ends inside, backwards.
func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected elements in [0, 4) of dimension 0, got: 1 to -1 by steps of -2}}
  %0 = nn.slice %x {nn.name = "a", starts = array<i64: 1>, steps = array<i64: -2>} : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

// Tests that a slice starts inside.
func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected elements in [0, 4) of dimension 0, got: 5 to 3 by steps of -2}}
  %0 = nn.slice %x {nn.name = "a", starts = array<i64: 5>, steps = array<i64: -2>} : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

// Tests that element types are equal.
func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected the result's element type 'f64' in operand 0, got: 'f32'}}
  %0 = nn.pad %x {nn.name = "a", pads_lo = array<i64: 0>, pads_hi = array<i64: 0>, value = 0.0 : f32} : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

// Tests the number of pads.
func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected 1 entries in 'pads_lo', got: 2}}
  %0 = nn.pad %x {nn.name = "a", pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0>, value = 0.0 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// Tests that pads are not negative.
func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected entries of 0 or more in 'pads_hi', got: [-1]}}
  %0 = nn.pad %x {nn.name = "a", pads_lo = array<i64: 0>, pads_hi = array<i64: -1>, value = 0.0 : f32} : (tensor<4xf32>) -> tensor<3xf32>
  return
}

// -----

// Tests the result of a pad.
func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected a result of shape [7], got: [6]}}
  %0 = nn.pad %x {nn.name = "a", pads_lo = array<i64: 1>, pads_hi = array<i64: 2>, value = 0.0 : f32} : (tensor<4xf32>) -> tensor<6xf32>
  return
}

// -----

// Tests that element types are equal.
func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected the result's element type 'f64' in operand 0, got: 'f32'}}
  %0 = nn.reshape %x {nn.name = "a"} : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

// Tests that a reshape keeps all elements.
func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.reshape' op expected a result of 4 elements, got: 6}}
  %0 = nn.reshape %x {nn.name = "a"} : (tensor<4xf32>) -> tensor<2x3xf32>
  return
}

// -----

// Tests that element types are equal.
func.func @main(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected the result's element type 'f64' in operand 0, got: 'f32'}}
  %0 = nn.transpose %x {nn.name = "a", permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf64>
  return
}

// -----

// Tests that a permutation has every dimension.
func.func @main(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected every dimension of rank 2 once in 'permutation', got: [0, 0]}}
  %0 = nn.transpose %x {nn.name = "a", permutation = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

// Tests the result of a transpose.
func.func @main(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected a result of shape [3, 2], got: [2, 3]}}
  %0 = nn.transpose %x {nn.name = "a", permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// Tests that a name is unique in its block.
func.func @main(%x: tensor<2xf32>) {
  // expected-note @+1 {{also named so}}
  %0 = nn.relu %x {nn.name = "a"} : tensor<2xf32>
  // expected-error @+1 {{'nn.tanh' op expected a name that is unique in the block, got: 'a'; rename one of the operations}}
  %1 = nn.tanh %0 {nn.name = "a"} : tensor<2xf32>
  return
}

// -----

// Tests that attributes are checked where the operation itself is wrong, too.
func.func @main() {
  // expected-error @+1 {{expected no 'nn.parts' but on additive operations on f32 or f64}}
  "nn.pad"() {nn.name = "s", nn.parts = array<i64: 2>} : () -> ()
  return
}

// -----

func.func @main() {
  // expected-error @+1 {{must be static ranked tensor}}
  %0 = "nn.parameter"() <{source = #nn.splat<1.0 : f32>}> {nn.name = "s", nn.view = {shape = array<i64: 2>, tensor = "x"}} : () -> i32
  return
}

// -----

// Tests that a view has sizes.
func.func @main() {
  // expected-error @+1 {{expected 'nn.view' of sizes of 0 and more whose product is an integer of 64 bits, got: array<i64: -2, -3>}}
  %0 = nn.parameter {nn.name = "s", nn.view = {shape = array<i64: -2, -3>, tensor = "x"}} : tensor<6xf32> from #nn.splat<1.0 : f32>
  return
}
