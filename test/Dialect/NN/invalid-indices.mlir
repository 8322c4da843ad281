// One case per constraint of remainders, look-ups, stores and orders.
// RUN: soap-opt %s --split-input-file --verify-diagnostics -o /dev/null

// Tests that remainders of floats are truncated.
func.func @main(%a: tensor<2xf32>) {
  // expected-error @+1 {{expected 'truncate' for floats, got none}}
  %0 = nn.mod %a, %a {nn.name = "a"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// Tests that operands of a remainder broadcast.
func.func @main(%a: tensor<2xi64>, %b: tensor<3xi64>) {
  // expected-error @+1 {{expected operands that broadcast to one shape, got: [2], [3]}}
  %0 = nn.mod %a, %b {nn.name = "a"} : (tensor<2xi64>, tensor<3xi64>) -> tensor<2xi64>
  return
}

// -----

// Tests that bits are of integers.
func.func @main(%a: tensor<2xf32>) {
  // expected-error @+1 {{operand #0 must be static ranked tensor of booleans or integers}}
  %0 = nn.not %a {nn.name = "a"} : tensor<2xf32>
  return
}

// -----

// Tests that a look-up of elements keeps the element type.
func.func @main(%d: tensor<4x3xf32>, %i: tensor<2x3xi64>) {
  // expected-error @+1 {{expected a result of the data's element type 'f32', got: 'i64'}}
  %0 = nn.gather_elements %d, %i {nn.name = "a", axis = 0 : i64} : (tensor<4x3xf32>, tensor<2x3xi64>) -> tensor<2x3xi64>
  return
}

// -----

// Tests that indices of elements have the rank of the data.
func.func @main(%d: tensor<4x3xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{expected indices of the rank of the data [4, 3] that are not larger but along the axis, got: [2]}}
  %0 = nn.gather_elements %d, %i {nn.name = "a", axis = 0 : i64} : (tensor<4x3xf32>, tensor<2xi64>) -> tensor<2xf32>
  return
}

// -----

// Tests that indices of elements are not larger than the data elsewhere.
func.func @main(%d: tensor<4x3xf32>, %i: tensor<2x5xi64>) {
  // expected-error @+1 {{expected indices of the rank of the data [4, 3] that are not larger but along the axis, got: [2, 5]}}
  %0 = nn.gather_elements %d, %i {nn.name = "a", axis = 0 : i64} : (tensor<4x3xf32>, tensor<2x5xi64>) -> tensor<2x5xf32>
  return
}

// -----

// Tests that the axis of a look-up of elements is inside the rank.
func.func @main(%d: tensor<4x3xf32>, %i: tensor<2x3xi64>) {
  // expected-error @+1 {{expected an axis in [0, 2), got: 2}}
  %0 = nn.gather_elements %d, %i {nn.name = "a", axis = 2 : i64} : (tensor<4x3xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
  return
}

// -----

// Tests that a look-up of elements has the shape of its indices.
func.func @main(%d: tensor<4x3xf32>, %i: tensor<2x3xi64>) {
  // expected-error @+1 {{expected a result of shape [2, 3], got: [4, 3]}}
  %0 = nn.gather_elements %d, %i {nn.name = "a", axis = 0 : i64} : (tensor<4x3xf32>, tensor<2x3xi64>) -> tensor<4x3xf32>
  return
}

// -----

// Tests that rows of a look-up of elements lie inside of their table.
func.func @main(%d: tensor<4x3xf32>, %i: tensor<2x3xi64>) {
  // expected-error @+1 {{expected rows inside of a table of 4, got: rows 1 to 5}}
  %0 = nn.gather_elements %d, %i {nn.name = "a", axis = 0 : i64, base = 1 : i64} : (tensor<4x3xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
  return
}

// -----

// Tests that a look-up of slices keeps the element type.
func.func @main(%d: tensor<4x3xf32>, %i: tensor<2x1xi64>) {
  // expected-error @+1 {{expected a result of the data's element type 'f32', got: 'i64'}}
  %0 = nn.gather_nd %d, %i {nn.name = "a"} : (tensor<4x3xf32>, tensor<2x1xi64>) -> tensor<2x3xi64>
  return
}

// -----

// Tests that batch dimensions leave some to be indexed.
func.func @main(%d: tensor<4x3xf32>, %i: tensor<4x1xi64>) {
  // expected-error @+1 {{expected 'batch_dims' of 0 to 1, got: 2}}
  %0 = nn.gather_nd %d, %i {nn.name = "a", batch_dims = 2 : i64} : (tensor<4x3xf32>, tensor<4x1xi64>) -> tensor<4xf32>
  return
}

// -----

// Tests that batch dimensions are equal.
func.func @main(%d: tensor<4x3xf32>, %i: tensor<2x1xi64>) {
  // expected-error @+1 {{expected the same 1 first dimensions of data and indices, got: [4, 3], [2, 1]}}
  %0 = nn.gather_nd %d, %i {nn.name = "a", batch_dims = 1 : i64} : (tensor<4x3xf32>, tensor<2x1xi64>) -> tensor<2xf32>
  return
}

// -----

// Tests that no more dimensions are indexed than there are.
func.func @main(%d: tensor<4x3xf32>, %i: tensor<2x3xi64>) {
  // expected-error @+1 {{expected at most 2 indexed dimensions, got: 3}}
  %0 = nn.gather_nd %d, %i {nn.name = "a"} : (tensor<4x3xf32>, tensor<2x3xi64>) -> tensor<2xf32>
  return
}

// -----

// Tests that a look-up of slices has the shape of indices and slices.
func.func @main(%d: tensor<4x3xf32>, %i: tensor<2x1xi64>) {
  // expected-error @+1 {{expected a result of shape [2, 3], got: [2]}}
  %0 = nn.gather_nd %d, %i {nn.name = "a"} : (tensor<4x3xf32>, tensor<2x1xi64>) -> tensor<2xf32>
  return
}

// -----

// Tests that there is a base per indexed dimension.
func.func @main(%d: tensor<4x3xf32>, %i: tensor<2x1xi64>) {
  // expected-error @+1 {{expected 1 entries in 'bases', got: 2}}
  %0 = nn.gather_nd %d, %i {nn.name = "a", bases = array<i64: 0, 0>} : (tensor<4x3xf32>, tensor<2x1xi64>) -> tensor<2x3xf32>
  return
}

// -----

// Tests that there is a table size per indexed dimension.
func.func @main(%d: tensor<4x3xf32>, %i: tensor<2x1xi64>) {
  // expected-error @+1 {{expected 1 entries in 'table_sizes', got: 2}}
  %0 = nn.gather_nd %d, %i {nn.name = "a", table_sizes = array<i64: 4, 3>} : (tensor<4x3xf32>, tensor<2x1xi64>) -> tensor<2x3xf32>
  return
}

// -----

// Tests that indexed rows lie inside of their tables.
func.func @main(%d: tensor<4x3xf32>, %i: tensor<2x1xi64>) {
  // expected-error @+1 {{expected rows inside of a table of 5, got: rows 2 to 6}}
  %0 = nn.gather_nd %d, %i {nn.name = "a", bases = array<i64: 2>, table_sizes = array<i64: 5>} : (tensor<4x3xf32>, tensor<2x1xi64>) -> tensor<2x3xf32>
  return
}

// -----

// Tests that updates have the result's element type.
func.func @main(%i: tensor<2x3xi64>, %u: tensor<2x3xi64>, %d: tensor<4x3xf32>) {
  // expected-error @+1 {{expected updates and data of the result's element type 'f32', got: 'i64'}}
  %0 = nn.scatter_elements %i, %u into %d {nn.name = "a", axis = 0 : i64} : (tensor<2x3xi64>, tensor<2x3xi64>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

// Tests that data have the result's element type.
func.func @main(%i: tensor<2x3xi64>, %u: tensor<2x3xf32>, %d: tensor<4x3xi64>) {
  // expected-error @+1 {{expected updates and data of the result's element type 'f32', got: 'f32' and other data}}
  %0 = nn.scatter_elements %i, %u into %d {nn.name = "a", axis = 0 : i64} : (tensor<2x3xi64>, tensor<2x3xf32>, tensor<4x3xi64>) -> tensor<4x3xf32>
  return
}

// -----

// Tests that truth values are not added.
func.func @main(%i: tensor<2x3xi64>, %u: tensor<2x3xi1>, %d: tensor<4x3xi1>) {
  // expected-error @+1 {{expected numbers for a reduction, got: 'i1'}}
  %0 = nn.scatter_elements %i, %u into %d {nn.name = "a", axis = 0 : i64, reduction = #nn.reduce_kind<sum>} : (tensor<2x3xi64>, tensor<2x3xi1>, tensor<4x3xi1>) -> tensor<4x3xi1>
  return
}

// -----

// Tests that stored elements leave the shape of the data.
func.func @main(%i: tensor<2x3xi64>, %u: tensor<2x3xf32>, %d: tensor<4x3xf32>) {
  // expected-error @+1 {{expected a result of shape [4, 3], got: [5, 3]}}
  %0 = nn.scatter_elements %i, %u into %d {nn.name = "a", axis = 0 : i64} : (tensor<2x3xi64>, tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  return
}

// -----

// Tests that there is an update per index.
func.func @main(%i: tensor<2x3xi64>, %u: tensor<2x2xf32>, %d: tensor<4x3xf32>) {
  // expected-error @+1 {{expected updates of the indices' shape [2, 3], got: [2, 2]}}
  %0 = nn.scatter_elements %i, %u into %d {nn.name = "a", axis = 0 : i64} : (tensor<2x3xi64>, tensor<2x2xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

// Tests that the axis of a store is inside the rank.
func.func @main(%i: tensor<2x3xi64>, %u: tensor<2x3xf32>, %d: tensor<4x3xf32>) {
  // expected-error @+1 {{expected an axis in [0, 2), got: 2}}
  %0 = nn.scatter_elements %i, %u into %d {nn.name = "a", axis = 2 : i64} : (tensor<2x3xi64>, tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

// Tests that indices of a store are not larger than the data elsewhere.
func.func @main(%i: tensor<2x5xi64>, %u: tensor<2x5xf32>, %d: tensor<4x3xf32>) {
  // expected-error @+1 {{expected indices of the rank of the result [4, 3] that are not larger but along the axis, got: [2, 5]}}
  %0 = nn.scatter_elements %i, %u into %d {nn.name = "a", axis = 0 : i64} : (tensor<2x5xi64>, tensor<2x5xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

// Tests that rows of a store lie inside of their table.
func.func @main(%i: tensor<2x3xi64>, %u: tensor<2x3xf32>, %d: tensor<4x3xf32>) {
  // expected-error @+1 {{expected rows inside of a table of 3, got: rows 0 to 4}}
  %0 = nn.scatter_elements %i, %u into %d {nn.name = "a", axis = 0 : i64, table_size = 3 : i64} : (tensor<2x3xi64>, tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

// Tests that indices of slices index no more dimensions than there are.
func.func @main(%i: tensor<2x3xi64>, %u: tensor<2xf32>) {
  // expected-error @+1 {{expected indices of at most 2 dimensions in their last one, got: [2, 3]}}
  %0 = nn.scatter_nd %i, %u {nn.name = "a"} : (tensor<2x3xi64>, tensor<2xf32>) -> tensor<4x3xf32>
  return
}

// -----

// Tests that updates of slices have the shape of indices and slices.
func.func @main(%i: tensor<2x1xi64>, %u: tensor<2xf32>) {
  // expected-error @+1 {{expected updates of shape [2, 3], got: [2]}}
  %0 = nn.scatter_nd %i, %u {nn.name = "a"} : (tensor<2x1xi64>, tensor<2xf32>) -> tensor<4x3xf32>
  return
}

// -----

// Tests that updates of slices have the result's element type.
func.func @main(%i: tensor<2x1xi64>, %u: tensor<2x3xi64>) {
  // expected-error @+1 {{expected updates and data of the result's element type 'f32', got: 'i64'}}
  %0 = nn.scatter_nd %i, %u {nn.name = "a"} : (tensor<2x1xi64>, tensor<2x3xi64>) -> tensor<4x3xf32>
  return
}

// -----

// Tests that there is a base per stored dimension.
func.func @main(%i: tensor<2x1xi64>, %u: tensor<2x3xf32>) {
  // expected-error @+1 {{expected 1 entries in 'bases', got: 2}}
  %0 = nn.scatter_nd %i, %u {nn.name = "a", bases = array<i64: 0, 0>} : (tensor<2x1xi64>, tensor<2x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

// Tests that stored rows lie inside of their tables.
func.func @main(%i: tensor<2x1xi64>, %u: tensor<2x3xf32>) {
  // expected-error @+1 {{expected rows inside of a table of 4, got: rows 1 to 5}}
  %0 = nn.scatter_nd %i, %u {nn.name = "a", bases = array<i64: 1>} : (tensor<2x1xi64>, tensor<2x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

// Tests that the axis of nn.arg_max is inside the rank.
func.func @main(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{expected an axis in [0, 2), got: 2}}
  %0 = nn.arg_max %x {nn.name = "a", axis = 2 : i64, keepdims = true} : (tensor<4x3xf32>) -> tensor<4x1xi64>
  return
}

// -----

// Tests that nn.arg_max gives indices.
func.func @main(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{expected a result of indices (i64), got: 'f32'}}
  %0 = nn.arg_max %x {nn.name = "a", axis = 1 : i64, keepdims = true} : (tensor<4x3xf32>) -> tensor<4x1xf32>
  return
}

// -----

// Tests that nn.arg_max drops the axis.
func.func @main(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{expected a result of shape [4], got: [4, 1]}}
  %0 = nn.arg_max %x {nn.name = "a", axis = 1 : i64, keepdims = false} : (tensor<4x3xf32>) -> tensor<4x1xi64>
  return
}

// -----

// Tests that the axis of nn.arg_min is inside the rank.
func.func @main(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{expected an axis in [0, 2), got: 2}}
  %0 = nn.arg_min %x {nn.name = "a", axis = 2 : i64, keepdims = true} : (tensor<4x3xf32>) -> tensor<4x1xi64>
  return
}

// -----

// Tests that nn.arg_min gives indices.
func.func @main(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{expected a result of indices (i64), got: 'f32'}}
  %0 = nn.arg_min %x {nn.name = "a", axis = 1 : i64, keepdims = true} : (tensor<4x3xf32>) -> tensor<4x1xf32>
  return
}

// -----

// Tests that nn.arg_min drops the axis.
func.func @main(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{expected a result of shape [4], got: [4, 1]}}
  %0 = nn.arg_min %x {nn.name = "a", axis = 1 : i64, keepdims = false} : (tensor<4x3xf32>) -> tensor<4x1xi64>
  return
}

// -----

// Tests that the axis of the largest elements is inside the rank.
func.func @main(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{expected an axis in [0, 2), got: 2}}
  %0:2 = nn.top_k %x {nn.name = "a", axis = 2 : i64} : (tensor<4x3xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)
  return
}

// -----

// Tests that the largest elements keep their type.
func.func @main(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{expected results of 'f32' and i64, got: 'i64', 'i64'}}
  %0:2 = nn.top_k %x {nn.name = "a", axis = 1 : i64} : (tensor<4x3xf32>) -> (tensor<4x2xi64>, tensor<4x2xi64>)
  return
}

// -----

// Tests that places of the largest elements are i64.
func.func @main(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{expected results of 'f32' and i64, got: 'f32', 'i32'}}
  %0:2 = nn.top_k %x {nn.name = "a", axis = 1 : i64} : (tensor<4x3xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
  return
}

// -----

// Tests that the largest elements are no more than there are.
func.func @main(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{expected two results of the shape of x, [4, 3], with fewer elements along axis 1 only, got: [4, 5], [4, 5]}}
  %0:2 = nn.top_k %x {nn.name = "a", axis = 1 : i64} : (tensor<4x3xf32>) -> (tensor<4x5xf32>, tensor<4x5xi64>)
  return
}

// -----

// Tests that both results of the largest elements have one shape.
func.func @main(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{with fewer elements along axis 1 only, got: [4, 2], [4, 1]}}
  %0:2 = nn.top_k %x {nn.name = "a", axis = 1 : i64} : (tensor<4x3xf32>) -> (tensor<4x2xf32>, tensor<4x1xi64>)
  return
}

// -----

// Tests that the axis of running sums is inside the rank.
func.func @main(%x: tensor<3xf32>) {
  // expected-error @+1 {{expected an axis in [0, 1), got: 1}}
  %0 = nn.cum_sum %x {nn.name = "a", axis = 1 : i64} : tensor<3xf32>
  return
}

// -----

// Tests that truth values have no running sums.
func.func @main(%x: tensor<3xi1>) {
  // expected-error @+1 {{expected numbers, got: 'i1'}}
  %0 = nn.cum_sum %x {nn.name = "a", axis = 0 : i64} : tensor<3xi1>
  return
}

// -----

// Tests that triangles are of matrices.
func.func @main(%x: tensor<3xf32>) {
  // expected-error @+1 {{expected an operand of rank 2 or more, got: 1}}
  %0 = nn.trilu %x {nn.name = "a"} : tensor<3xf32>
  return
}

// -----

// Tests that diagonals are bounded.
func.func @main(%x: tensor<3x3xf32>) {
  // expected-error @+1 {{expected a diagonal of at most 281474976710656, got: -281474976710657}}
  %0 = nn.trilu %x {nn.name = "a", diagonal = -281474976710657 : i64} : tensor<3x3xf32>
  return
}

// -----

// Tests that marks have the type of the values.
func.func @main(%i: tensor<3xi64>, %v: tensor<2xf32>) {
  // expected-error @+1 {{expected a result of the values' element type 'f32', got: 'i64'}}
  %0 = nn.one_hot %i, %v {nn.name = "a", axis = 1 : i64} : (tensor<3xi64>, tensor<2xf32>) -> tensor<3x5xi64>
  return
}

// -----

// Tests that there are two values.
func.func @main(%i: tensor<3xi64>, %v: tensor<3xf32>) {
  // expected-error @+1 {{expected two values, got: shape [3]}}
  %0 = nn.one_hot %i, %v {nn.name = "a", axis = 1 : i64} : (tensor<3xi64>, tensor<3xf32>) -> tensor<3x5xf32>
  return
}

// -----

// Tests that the axis of marks is inside the rank.
func.func @main(%i: tensor<3xi64>, %v: tensor<2xf32>) {
  // expected-error @+1 {{expected an axis in [0, 2), got: 2}}
  %0 = nn.one_hot %i, %v {nn.name = "a", axis = 2 : i64} : (tensor<3xi64>, tensor<2xf32>) -> tensor<3x5xf32>
  return
}

// -----

// Tests that marks have the rank of the indices and one more.
func.func @main(%i: tensor<3xi64>, %v: tensor<2xf32>) {
  // expected-error @+1 {{expected a result of rank 2, got: 3}}
  %0 = nn.one_hot %i, %v {nn.name = "a", axis = 2 : i64} : (tensor<3xi64>, tensor<2xf32>) -> tensor<3x5x2xf32>
  return
}

// -----

// Tests that marks have the shape of the indices.
func.func @main(%i: tensor<3xi64>, %v: tensor<2xf32>) {
  // expected-error @+1 {{expected a result of shape [3, 5], got: [4, 5]}}
  %0 = nn.one_hot %i, %v {nn.name = "a", axis = 1 : i64} : (tensor<3xi64>, tensor<2xf32>) -> tensor<4x5xf32>
  return
}

// -----

// Tests that places of marks lie inside of their table.
func.func @main(%i: tensor<3xi64>, %v: tensor<2xf32>) {
  // expected-error @+1 {{expected places inside of 4, got: places 0 to 5}}
  %0 = nn.one_hot %i, %v {nn.name = "a", axis = 1 : i64, table_size = 4 : i64} : (tensor<3xi64>, tensor<2xf32>) -> tensor<3x5xf32>
  return
}

// -----

// Tests that only a cubic interpolation leaves the outside out.
func.func @main(%x: tensor<3xf32>) {
  // expected-error @+1 {{expected 'exclude_outside' with mode cubic only, got: mode linear}}
  %0 = nn.resize %x {nn.name = "a", mode = #nn.resize_mode<linear>, numerators = array<i64: 1>, offsets = array<i64: 0>, denominators = array<i64: 2>, exclude_outside} : (tensor<3xf32>) -> tensor<6xf32>
  return
}
