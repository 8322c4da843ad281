// One case per constraint of attention.
// RUN: soap-opt %s --split-input-file --verify-diagnostics -o /dev/null

// Tests that query, keys and values have one element type.
func.func @main(%q: tensor<5x3xf32>, %k: tensor<7x3xf64>, %v: tensor<7x4xf32>) {
  // expected-error @+1 {{expected query, keys, values and result of one element type, got: 'f32' and 'f64'}}
  %0 = nn.attention %q, %k, %v {nn.name = "a"} : (tensor<5x3xf32>, tensor<7x3xf64>, tensor<7x4xf32>) -> tensor<5x4xf32>
  return
}

// -----

// Tests that a query has rows and columns.
func.func @main(%q: tensor<3xf32>, %k: tensor<7x3xf32>, %v: tensor<7x4xf32>) {
  // expected-error @+1 {{expected a query of rank 2 or more, got: 1}}
  %0 = nn.attention %q, %k, %v {nn.name = "a"} : (tensor<3xf32>, tensor<7x3xf32>, tensor<7x4xf32>) -> tensor<5x4xf32>
  return
}

// -----

// Tests that values have the rank of the query.
func.func @main(%q: tensor<2x5x3xf32>, %k: tensor<2x7x3xf32>, %v: tensor<7x4xf32>) {
  // expected-error @+1 {{expected values of rank 3, as the query, got: 2}}
  %0 = nn.attention %q, %k, %v {nn.name = "a"} : (tensor<2x5x3xf32>, tensor<2x7x3xf32>, tensor<7x4xf32>) -> tensor<2x5x4xf32>
  return
}

// -----

// Tests that query and keys have equally long rows, which `transposed_keys` says
// where to look for.
func.func @main(%q: tensor<5x3xf32>, %k: tensor<7x3xf32>, %v: tensor<7x4xf32>) {
  // expected-error @+1 {{expected keys of shape [3, 7], got: [7, 3]}}
  %0 = nn.attention %q, %k, %v {nn.name = "a", transposed_keys} : (tensor<5x3xf32>, tensor<7x3xf32>, tensor<7x4xf32>) -> tensor<5x4xf32>
  return
}

// -----

// Tests that all have the same batch dimensions.
func.func @main(%q: tensor<2x5x3xf32>, %k: tensor<2x7x3xf32>, %v: tensor<1x7x4xf32>) {
  // expected-error @+1 {{expected values of shape [2, 7, 4], got: [1, 7, 4]}}
  %0 = nn.attention %q, %k, %v {nn.name = "a"} : (tensor<2x5x3xf32>, tensor<2x7x3xf32>, tensor<1x7x4xf32>) -> tensor<2x5x4xf32>
  return
}

// -----

// Tests that a mask is of booleans or of the type of the scores.
func.func @main(%q: tensor<5x3xf32>, %k: tensor<7x3xf32>, %v: tensor<7x4xf32>, %m: tensor<5x7xi32>) {
  // expected-error @+1 {{expected a mask of 'f32' or booleans, got: 'i32'}}
  %0 = nn.attention %q, %k, %v mask %m {nn.name = "a"} : (tensor<5x3xf32>, tensor<7x3xf32>, tensor<7x4xf32>, tensor<5x7xi32>) -> tensor<5x4xf32>
  return
}

// -----

// Tests that a mask broadcasts to the scores.
func.func @main(%q: tensor<5x3xf32>, %k: tensor<7x3xf32>, %v: tensor<7x4xf32>, %m: tensor<7x5xi1>) {
  // expected-error @+1 {{expected a mask that broadcasts to [5, 7], got: [7, 5]}}
  %0 = nn.attention %q, %k, %v mask %m {nn.name = "a"} : (tensor<5x3xf32>, tensor<7x3xf32>, tensor<7x4xf32>, tensor<7x5xi1>) -> tensor<5x4xf32>
  return
}

// -----

// Tests that a mask has no dimensions beyond those of the scores.
func.func @main(%q: tensor<5x3xf32>, %k: tensor<7x3xf32>, %v: tensor<7x4xf32>, %m: tensor<1x5x7xi1>) {
  // expected-error @+1 {{expected a mask that broadcasts to [5, 7], got: [1, 5, 7]}}
  %0 = nn.attention %q, %k, %v mask %m {nn.name = "a"} : (tensor<5x3xf32>, tensor<7x3xf32>, tensor<7x4xf32>, tensor<1x5x7xi1>) -> tensor<5x4xf32>
  return
}

// -----

// Tests the shape of the result.
func.func @main(%q: tensor<5x3xf32>, %k: tensor<7x3xf32>, %v: tensor<7x4xf32>) {
  // expected-error @+1 {{expected a result of shape [5, 4], got: [5, 7]}}
  %0 = nn.attention %q, %k, %v {nn.name = "a"} : (tensor<5x3xf32>, tensor<7x3xf32>, tensor<7x4xf32>) -> tensor<5x7xf32>
  return
}
