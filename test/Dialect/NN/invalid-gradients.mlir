// One case per constraint of groups and of operations of gradients.
// RUN: soap-opt %s --split-input-file --verify-diagnostics -o /dev/null

// Tests that a group is a #nn.group.
func.func @main(%a: tensor<2xf32>) {
  // expected-error @+1 {{expected 'nn.group' to be a #nn.group, got: "b"}}
  %0 = nn.relu %a {nn.name = "a", nn.group = "b"} : tensor<2xf32>
  return
}

// -----

// Tests that a group has a leader.
func.func @main(%a: tensor<2xf32>) {
  // expected-error @+1 {{expected an operation of the block to lead the group, got: 'b', which names none}}
  %0 = nn.relu %a {nn.name = "a", nn.group = #nn.group<"b">} : tensor<2xf32>
  %1 = nn.relu %a {nn.name = "c"} : tensor<2xf32>
  return
}

// -----

// Tests that a member of a group leads none.
func.func @main(%a: tensor<2xf32>) {
  %0 = nn.relu %a {nn.name = "a"} : tensor<2xf32>
  %1 = nn.relu %a {nn.name = "b", nn.group = #nn.group<"a">} : tensor<2xf32>
  // expected-error @+1 {{expected an operation that computes and is in no other group to lead a group, got: 'b'}}
  %2 = nn.relu %a {nn.name = "c", nn.group = #nn.group<"b">} : tensor<2xf32>
  return
}

// -----

// Tests that ends of the graph are in no group.
func.func @main(%a: tensor<2xf32>) {
  %0 = nn.relu %a {nn.name = "a"} : tensor<2xf32>
  // expected-error @+1 {{expected no 'nn.group' on ends of the graph}}
  nn.output %0 {nn.name = "b", nn.group = #nn.group<"a">} : tensor<2xf32>
  return
}

// -----

// Tests that loops in a group are those of the member.
func.func @main(%a: tensor<2xf32>) {
  %0 = nn.relu %a {nn.name = "a"} : tensor<2xf32>
  // expected-error @+1 {{expected loops of the operation (d0) in 'nn.group', got: 'n'}}
  %1 = nn.relu %a {nn.name = "b", nn.group = #nn.group<"a", {n = "d0"}>} : tensor<2xf32>
  return
}

// -----

// Tests that they run along loops of the leader.
func.func @main(%a: tensor<2xf32>) {
  %0 = nn.relu %a {nn.name = "a"} : tensor<2xf32>
  // expected-error @+1 {{expected loops of the leader 'a' (d0) in 'nn.group', got: "n"}}
  %1 = nn.relu %a {nn.name = "b", nn.group = #nn.group<"a", {d0 = "n"}>} : tensor<2xf32>
  return
}

// -----

// Tests that no two of them run along one loop of the leader.
func.func @main(%a: tensor<2x2xf32>) {
  %0 = nn.relu %a {nn.name = "a"} : tensor<2x2xf32>
  // expected-error @+1 {{expected each loop of the leader 'a' for one loop in 'nn.group', got two for: "d0"}}
  %1 = nn.relu %a {nn.name = "b", nn.group = #nn.group<"a", {d0 = "d0", d1 = "d0"}>} : tensor<2x2xf32>
  return
}

// -----

// Tests that the gradient of a filter has three to five dimensions.
func.func @main(%x: tensor<2x4xf32>, %dy: tensor<2x6xf32>) {
  // expected-error @+1 {{expected an x of rank 3 to 5, got: 2}}
  %0 = nn.conv_backward_filter %x, %dy {nn.name = "a", strides = array<i64>, dilations = array<i64>, pads_lo = array<i64>} : (tensor<2x4xf32>, tensor<2x6xf32>) -> tensor<6x4xf32>
  return
}

// -----

// Tests that all have the same rank.
func.func @main(%x: tensor<2x4x9xf32>, %dy: tensor<2x6x5x1xf32>) {
  // expected-error @+1 {{expected dy and result of rank 3, got: 4 and 3}}
  %0 = nn.conv_backward_filter %x, %dy {nn.name = "a", strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 0>} : (tensor<2x4x9xf32>, tensor<2x6x5x1xf32>) -> tensor<6x4x3xf32>
  return
}

// -----

// Tests that there is a stride per spatial dimension.
func.func @main(%x: tensor<2x4x9xf32>, %dy: tensor<2x6x5xf32>) {
  // expected-error @+1 {{expected 1 entries in 'strides', got: 2}}
  %0 = nn.conv_backward_filter %x, %dy {nn.name = "a", strides = array<i64: 1, 1>, dilations = array<i64: 1>, pads_lo = array<i64: 0>} : (tensor<2x4x9xf32>, tensor<2x6x5xf32>) -> tensor<6x4x3xf32>
  return
}

// -----

// Tests that x and dy have as many samples.
func.func @main(%x: tensor<2x4x9xf32>, %dy: tensor<3x6x5xf32>) {
  // expected-error @+1 {{expected a dy of batch size 2, got: 3}}
  %0 = nn.conv_backward_filter %x, %dy {nn.name = "a", strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 0>} : (tensor<2x4x9xf32>, tensor<3x6x5xf32>) -> tensor<6x4x3xf32>
  return
}

// -----

// Tests that groups divide the channels.
func.func @main(%x: tensor<2x4x9xf32>, %dy: tensor<2x6x5xf32>) {
  // expected-error @+1 {{expected 'groups' to divide 4 channels of x and 6 of dy, got: 4}}
  %0 = nn.conv_backward_filter %x, %dy {nn.name = "a", strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 0>, groups = 4 : i64} : (tensor<2x4x9xf32>, tensor<2x6x5xf32>) -> tensor<6x1x3xf32>
  return
}

// -----

// Tests that the result has the channels of dy and of a group of x.
func.func @main(%x: tensor<2x4x9xf32>, %dy: tensor<2x6x5xf32>) {
  // expected-error @+1 {{expected a result with [6, 4] channels, got: [4, 6]}}
  %0 = nn.conv_backward_filter %x, %dy {nn.name = "a", strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 0>} : (tensor<2x4x9xf32>, tensor<2x6x5xf32>) -> tensor<4x6x3xf32>
  return
}

// -----

// Tests that the gradient of a pool has three to five dimensions.
func.func @main(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected an x of rank 3 to 5, got: 2}}
  %0 = nn.max_pool_backward %x, %x {nn.name = "a", kernel = array<i64>, strides = array<i64>, dilations = array<i64>, pads_lo = array<i64>} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

// Tests that channels of dy are those of x.
func.func @main(%x: tensor<2x4x9xf32>, %dy: tensor<2x3x4xf32>) {
  // expected-error @+1 {{expected dy and result of [2, 4] samples and channels, got: [2, 3] and [2, 4]}}
  %0 = nn.max_pool_backward %x, %dy {nn.name = "a", kernel = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pads_lo = array<i64: 0>} : (tensor<2x4x9xf32>, tensor<2x3x4xf32>) -> tensor<2x4x9xf32>
  return
}

// -----

// Tests that the result lies inside of x.
func.func @main(%x: tensor<2x4x9xf32>, %dy: tensor<2x4x4xf32>) {
  // expected-error @+1 {{expected a result inside of the 9 elements of x in spatial dimension 0, got: 9 elements behind 1}}
  %0 = nn.max_pool_backward %x, %dy {nn.name = "a", kernel = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pads_lo = array<i64: 0>, offsets = array<i64: 1>} : (tensor<2x4x9xf32>, tensor<2x4x4xf32>) -> tensor<2x4x9xf32>
  return
}

// -----

// Tests that offsets are not negative.
func.func @main(%x: tensor<2x4x9xf32>, %dy: tensor<2x4x4xf32>) {
  // expected-error @+1 {{expected entries of 0 or more in 'offsets', got: [-1]}}
  %0 = nn.max_pool_backward %x, %dy {nn.name = "a", kernel = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pads_lo = array<i64: 0>, offsets = array<i64: -1>} : (tensor<2x4x9xf32>, tensor<2x4x4xf32>) -> tensor<2x4x9xf32>
  return
}
