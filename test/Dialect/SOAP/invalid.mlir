// RUN: soap-opt %s -allow-unregistered-dialect -split-input-file -verify-diagnostics

// Tests that a task may not read a value of another device.
func.func @remote_read(%a: !soap.shard<tensor<4xf32>, on 0>) {
  // expected-error @below {{expected operand 0 on the device of the task, got: '!soap.shard<tensor<4xf32>, on 0>'; move it with soap.transfer or a collective}}
  // expected-note @above {{made here}}
  %y = soap.task "y" 0 (%x = %a : !soap.shard<tensor<4xf32>, on 0>) -> (!soap.shard<tensor<4xf32>, on 1> as #soap.box<"y":0, [0:4]>) {
    %0 = nn.relu %x {nn.name = "y"} : tensor<4xf32>
    soap.return %0 : tensor<4xf32>
  }
  return
}

// -----

// Tests that groups of the graph are those of operations in tasks.
func.func @group_outside(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected soap.group to be a #nn.group, on an nn operation in a task, got: #nn.group<"fc">}}
  %0 = nn.relu %x {nn.name = "y", soap.group = #nn.group<"fc">} : tensor<4xf32>
  return
}

// -----

// Tests that a group is one.
func.func @no_group() {
  %y = soap.task "y" 0 () -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"y":0, [0:4]>) {
    // expected-error @+1 {{expected soap.group to be a #nn.group, on an nn operation in a task, got: "fc"}}
    %0 = nn.constant dense<0.0> : tensor<4xf32> {nn.name = "y", soap.group = "fc"}
    soap.return %0 : tensor<4xf32>
  }
  return
}

// -----

// Tests that parts have to be joined before a task reads them.
func.func @partial_read(%a: !soap.shard<tensor<4xf32>, on 0, partial = sum>) {
  // expected-error @below {{expected operand 0 to be complete, got: '!soap.shard<tensor<4xf32>, on 0, partial = sum>'; join the parts first}}
  %y = soap.task "y" 0 (%x = %a : !soap.shard<tensor<4xf32>, on 0, partial = sum>) -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"y":0, [0:4]>) {
    %0 = nn.relu %x {nn.name = "y"} : tensor<4xf32>
    soap.return %0 : tensor<4xf32>
  }
  return
}

// -----

// Tests that a task that takes parts makes the same part.
func.func @other_part() {
  %a = soap.task "a" 1 () -> (!soap.shard<tensor<4xf32>, on 0, partial = sum> as #soap.box<"a":0, [0:4], part 1 of 2>) {
    %0 = nn.constant dense<1.0> : tensor<4xf32> {nn.name = "a"}
    soap.return %0 : tensor<4xf32>
  }
  // expected-error @below {{expected operand 0 to be the part that the task makes, #soap.box<"y":0, [0:4], part 0 of 2>, got: #soap.box<"a":0, [0:4], part 1 of 2>}}
  %y = soap.task "y" 0 (%x = %a : !soap.shard<tensor<4xf32>, on 0, partial = sum>) -> (!soap.shard<tensor<4xf32>, on 0, partial = sum> as #soap.box<"y":0, [0:4], part 0 of 2>) {
    %0 = nn.neg %x {nn.name = "y"} : tensor<4xf32>
    soap.return %0 : tensor<4xf32>
  }
  return
}

// -----

// Tests that the box of a result has the extents of its type.
func.func @extents() {
  // expected-error @below {{expected result 0 to have the extents of #soap.box<"y":0, [0:3]>, got: 'tensor<4xf32>'}}
  %y = soap.task "y" 0 () -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"y":0, [0:3]>) {
    %0 = nn.constant dense<1.0> : tensor<4xf32> {nn.name = "y"}
    soap.return %0 : tensor<4xf32>
  }
  return
}

// -----

// Tests that a box names parts if and only if the type is partial.
func.func @parts_and_type() {
  // expected-error @below {{expected result 0 to be partial if and only if its box names parts}}
  %y = soap.task "y" 0 () -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"y":0, [0:4], part 0 of 2>) {
    %0 = nn.constant dense<1.0> : tensor<4xf32> {nn.name = "y"}
    soap.return %0 : tensor<4xf32>
  }
  return
}

// -----

// Tests that a task makes boxes of its own value.
func.func @other_value() {
  // expected-error @below {{expected a box of value "y", got: #soap.box<"x":0, [0:4]>}}
  %y = soap.task "y" 0 () -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"x":0, [0:4]>) {
    %0 = nn.constant dense<1.0> : tensor<4xf32> {nn.name = "y"}
    soap.return %0 : tensor<4xf32>
  }
  return
}

// -----

// Tests that a task returns what its type says.
func.func @returns() {
  %y = soap.task "y" 0 () -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"y":0, [0:4]>) {
    %0 = nn.constant dense<1.0> : tensor<3xf32> {nn.name = "y"}
    // expected-error @below {{expected a value of type 'tensor<4xf32>', got: 'tensor<3xf32>'}}
    soap.return %0 : tensor<3xf32>
  }
  return
}

// -----

// Tests that a task holds nn operations only.
func.func @foreign() {
  %y = soap.task "y" 0 () -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"y":0, [0:4]>) {
    // expected-error @below {{expected only nn operations in a task, got: arith.constant}}
    %0 = arith.constant dense<1.0> : tensor<4xf32>
    soap.return %0 : tensor<4xf32>
  }
  return
}

// -----

// Tests that a local reduction joins different parts.
func.func @same_part() {
  %a = soap.remote -> (!soap.shard<tensor<4xf32>, on 0, partial = sum> as #soap.box<"y":0, [0:4], part 1 of 3>)
  // expected-error @below {{expected every part at most once, got: part 1 twice; join different parts}}
  %y = soap.task "y" 0 reduce (%x = %a : !soap.shard<tensor<4xf32>, on 0, partial = sum>, %z = %a : !soap.shard<tensor<4xf32>, on 0, partial = sum>) -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"y":0, [0:4]>) {
    %0 = nn.add %x, %z {nn.name = "y"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    soap.return %0 : tensor<4xf32>
  }
  return
}

// -----

// Tests that a local reduction says which parts it joined.
func.func @joined_parts() {
  %a = soap.remote -> (!soap.shard<tensor<4xf32>, on 0, partial = sum> as #soap.box<"y":0, [0:4], part 0 of 3>)
  %b = soap.remote -> (!soap.shard<tensor<4xf32>, on 0, partial = sum> as #soap.box<"y":0, [0:4], part 2 of 3>)
  // expected-error @below {{expected the result to hold the joined parts, got: #soap.box<"y":0, [0:4]>}}
  %y = soap.task "y" 0 reduce (%x = %a : !soap.shard<tensor<4xf32>, on 0, partial = sum>, %z = %b : !soap.shard<tensor<4xf32>, on 0, partial = sum>) -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"y":0, [0:4]>) {
    %0 = nn.add %x, %z {nn.name = "y"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    soap.return %0 : tensor<4xf32>
  }
  return
}

// -----

// Tests that a slice stays on its device.
func.func @slice_device(%a: !soap.shard<tensor<4xf32>, on 0>) {
  // expected-error @below {{expected an operand on the device of the result, got: '!soap.shard<tensor<4xf32>, on 0>'; move it with soap.transfer or a collective}}
  %s = soap.slice %a : !soap.shard<tensor<4xf32>, on 0> -> (!soap.shard<tensor<2xf32>, on 1> as #soap.box<"x":0, [0:2]>)
  return
}

// -----

// Tests that copies are made before the first step only of what is there.
func.func @slice_init() {
  %a = soap.remote -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"x":0, [4:8]>)
  // expected-error @below {{'soap.slice' op expected an operand that a task of phase init makes, got:}}
  %s = soap.slice %a init : !soap.shard<tensor<4xf32>, on 0> -> (!soap.shard<tensor<2xf32>, on 0> as #soap.box<"x":0, [4:6]>)
  return
}

// -----

func.func @assemble_init() {
  %a = soap.remote -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"x":0, [4:8]>)
  // expected-error @below {{'soap.assemble' op expected an operand that a task of phase init makes, got:}}
  %s = soap.assemble %a[4:6] init : !soap.shard<tensor<4xf32>, on 0> -> (!soap.shard<tensor<2xf32>, on 0> as #soap.box<"x":0, [4:6]>)
  return
}

// -----

// Tests that a slice is inside of its operand.
func.func @slice_outside() {
  %a = soap.remote -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"x":0, [4:8]>)
  // expected-error @below {{expected a piece inside of #soap.box<"x":0, [4:8]>, got: [3:5]}}
  %s = soap.slice %a : !soap.shard<tensor<4xf32>, on 0> -> (!soap.shard<tensor<2xf32>, on 0> as #soap.box<"x":0, [3:5]>)
  return
}

// -----

// Tests that a slice is a slice of the same value.
func.func @slice_value() {
  %a = soap.remote -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"x":0, [4:8]>)
  // expected-error @below {{expected operand and result to be shards of one value with the same parts, got: #soap.box<"x":0, [4:8]> and #soap.box<"z":0, [4:6]>}}
  %s = soap.slice %a : !soap.shard<tensor<4xf32>, on 0> -> (!soap.shard<tensor<2xf32>, on 0> as #soap.box<"z":0, [4:6]>)
  return
}

// -----

// Tests that pieces leave nothing of the box over.
func.func @assemble_gap() {
  %a = soap.remote -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"x":0, [0:4]>)
  %b = soap.remote -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"x":0, [4:8]>)
  // expected-error @below {{expected pieces that cover [0:8], got: 7 of 8 elements}}
  %s = soap.assemble %a[0:3], %b[4:8] : !soap.shard<tensor<4xf32>, on 0>, !soap.shard<tensor<4xf32>, on 0> -> (!soap.shard<tensor<8xf32>, on 0> as #soap.box<"x":0, [0:8]>)
  return
}

// -----

// Tests that pieces are disjoint.
func.func @assemble_twice() {
  %a = soap.remote -> (!soap.shard<tensor<5xf32>, on 0> as #soap.box<"x":0, [0:5]>)
  %b = soap.remote -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"x":0, [4:8]>)
  // expected-error @below {{expected disjoint pieces, got: [0:5] and [4:8]; every element comes from one place}}
  %s = soap.assemble %a[0:5], %b[4:8] : !soap.shard<tensor<5xf32>, on 0>, !soap.shard<tensor<4xf32>, on 0> -> (!soap.shard<tensor<8xf32>, on 0> as #soap.box<"x":0, [0:8]>)
  return
}

// -----

// Tests that pieces are inside of the result.
func.func @assemble_outside() {
  %a = soap.remote -> (!soap.shard<tensor<8xf32>, on 0> as #soap.box<"x":0, [0:8]>)
  // expected-error @below {{expected pieces inside of [0:4], got: [2:6]}}
  %s = soap.assemble %a[2:6] : !soap.shard<tensor<8xf32>, on 0> -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"x":0, [0:4]>)
  return
}

// -----

// Tests that a transfer goes to another device.
func.func @transfer_home(%a: !soap.shard<tensor<4xf32>, on 0>) {
  // expected-error @below {{expected result 0 on another device than its operand, got: '!soap.shard<tensor<4xf32>, on 0>'; use the operand itself}}
  %t = soap.transfer %a action 0 : !soap.shard<tensor<4xf32>, on 0> -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"x":0, [0:4]>)
  return
}

// -----

// Tests that a transfer keeps the box.
func.func @transfer_box() {
  %a = soap.remote -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"x":0, [0:4]>)
  // expected-error @below {{expected result 0 to have the box #soap.box<"x":0, [0:4]> of its operand, got: #soap.box<"x":0, [1:5]>}}
  %t = soap.transfer %a action 0 : !soap.shard<tensor<4xf32>, on 0> -> (!soap.shard<tensor<4xf32>, on 1> as #soap.box<"x":0, [1:5]>)
  return
}

// -----

// Tests that there are as many results as operands.
func.func @transfer_count(%a: !soap.shard<tensor<4xf32>, on 0>) {
  // expected-error @below {{expected as many results as operands, at least one, got: 1 operands and 2 results}}
  %t:2 = soap.transfer %a action 0 : !soap.shard<tensor<4xf32>, on 0> -> (!soap.shard<tensor<4xf32>, on 1> as #soap.box<"x":0, [0:4]>, !soap.shard<tensor<4xf32>, on 2> as #soap.box<"x":0, [0:4]>)
  return
}

// -----

// Tests that what comes from the host is a feed.
func.func @feed(%a: !soap.shard<tensor<4xf32>, on host>) {
  // expected-error @below {{expected phase feed, since only transfers from the host are of phase feed and only transfers to it of phase drain, got: step}}
  %t = soap.transfer %a action 0 : !soap.shard<tensor<4xf32>, on host> -> (!soap.shard<tensor<4xf32>, on 1> as #soap.box<"x":0, [0:4]>)
  return
}

// -----

// Tests that operands of a collective stand in the order of its members.
func.func @member_order(%a: !soap.shard<tensor<4xf32>, on 0>, %b: !soap.shard<tensor<4xf32>, on 1>) {
  // expected-error @below {{expected operand 0 on device 1, got: '!soap.shard<tensor<4xf32>, on 0>'; members stand in the order of `over`}}
  %g:2 = soap.all_gather %a, %b over [1, 0] action 0 : !soap.shard<tensor<4xf32>, on 0>, !soap.shard<tensor<4xf32>, on 1> -> (!soap.shard<tensor<8xf32>, on 1> as #soap.box<"x":0, [0:8]>, !soap.shard<tensor<8xf32>, on 0> as #soap.box<"x":0, [0:8]>)
  return
}

// -----

// Tests that a group has distinct members.
func.func @members_twice(%a: !soap.shard<tensor<4xf32>, on 0>) {
  // expected-error @below {{expected distinct members in `over`, got: 0 twice}}
  %g = soap.broadcast %a over [0, 0] action 0 : !soap.shard<tensor<4xf32>, on 0> -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"x":0, [0:4]>)
  return
}

// -----

// Tests that a group has at least two members.
func.func @alone(%a: !soap.shard<tensor<4xf32>, on 0>) {
  // expected-error @below {{expected at least two members in `over`, got: 1}}
  %g = soap.all_gather %a over [0] action 0 : !soap.shard<tensor<4xf32>, on 0> -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"x":0, [0:4]>)
  return
}

// -----

// Tests that there is no all_gather along a tree.
func.func @gather_tree(%a: !soap.shard<tensor<4xf32>, on 0>, %b: !soap.shard<tensor<4xf32>, on 1>) {
  // expected-error @below {{expected algorithm direct or ring, got: tree}}
  %g:2 = soap.all_gather %a, %b over [0, 1] algorithm tree action 0 : !soap.shard<tensor<4xf32>, on 0>, !soap.shard<tensor<4xf32>, on 1> -> (!soap.shard<tensor<8xf32>, on 0> as #soap.box<"x":0, [0:8]>, !soap.shard<tensor<8xf32>, on 1> as #soap.box<"x":0, [0:8]>)
  return
}

// -----

// Tests that an all_to_all goes from all to all.
func.func @exchange_ring(%a: !soap.shard<tensor<2x4xf32>, on 0>, %b: !soap.shard<tensor<2x4xf32>, on 1>) {
  // expected-error @below {{expected algorithm direct, got: ring}}
  %g:2 = soap.all_to_all %a, %b over [0, 1] algorithm ring action 0 : !soap.shard<tensor<2x4xf32>, on 0>, !soap.shard<tensor<2x4xf32>, on 1> -> (!soap.shard<tensor<4x2xf32>, on 0> as #soap.box<"x":0, [0:4, 0:2]>, !soap.shard<tensor<4x2xf32>, on 1> as #soap.box<"x":0, [0:4, 2:4]>)
  return
}

// -----

// Tests that there is no reduce_scatter along a tree.
func.func @scatter_tree(%a: !soap.shard<tensor<4xf32>, on 0, partial = sum>, %b: !soap.shard<tensor<4xf32>, on 1, partial = sum>) {
  // expected-error @below {{expected algorithm direct or ring, got: tree}}
  %g:2 = soap.reduce_scatter %a, %b over [0, 1] algorithm tree action 0 : !soap.shard<tensor<4xf32>, on 0, partial = sum>, !soap.shard<tensor<4xf32>, on 1, partial = sum> -> (!soap.shard<tensor<2xf32>, on 0> as #soap.box<"x":0, [0:2]>, !soap.shard<tensor<2xf32>, on 1> as #soap.box<"x":0, [2:4]>)
  return
}

// -----

// Tests that tiles cover what is gathered.
func.func @gather_gap() {
  %a = soap.remote -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"x":0, [0:4]>)
  %b = soap.remote -> (!soap.shard<tensor<3xf32>, on 1> as #soap.box<"x":0, [5:8]>)
  // expected-error @below {{expected operands that cover [0:8], got: 7 of 8 elements}}
  %g:2 = soap.all_gather %a, %b over [0, 1] action 0 : !soap.shard<tensor<4xf32>, on 0>, !soap.shard<tensor<3xf32>, on 1> -> (!soap.shard<tensor<8xf32>, on 0> as #soap.box<"x":0, [0:8]>, !soap.shard<tensor<8xf32>, on 1> as #soap.box<"x":0, [0:8]>)
  return
}

// -----

// Tests that parts are not gathered.
func.func @gather_parts(%a: !soap.shard<tensor<4xf32>, on 0, partial = sum>, %b: !soap.shard<tensor<4xf32>, on 1, partial = sum>) {
  // expected-error @below {{expected complete shards, got: '!soap.shard<tensor<4xf32>, on 0, partial = sum>'; reduce the parts with soap.all_reduce or soap.reduce_scatter}}
  %g:2 = soap.all_gather %a, %b over [0, 1] action 0 : !soap.shard<tensor<4xf32>, on 0, partial = sum>, !soap.shard<tensor<4xf32>, on 1, partial = sum> -> (!soap.shard<tensor<8xf32>, on 0> as #soap.box<"x":0, [0:8]>, !soap.shard<tensor<8xf32>, on 1> as #soap.box<"x":0, [0:8]>)
  return
}

// -----

// Tests that all_to_all finds every element of its results.
func.func @exchange_gap() {
  %a = soap.remote -> (!soap.shard<tensor<2x4xf32>, on 0> as #soap.box<"x":0, [0:2, 0:4]>)
  %b = soap.remote -> (!soap.shard<tensor<2x4xf32>, on 1> as #soap.box<"x":0, [2:4, 0:4]>)
  // expected-error @below {{expected operands that cover [0:5, 0:2], got: 8 of 10 elements}}
  %g:2 = soap.all_to_all %a, %b over [0, 1] action 0 : !soap.shard<tensor<2x4xf32>, on 0>, !soap.shard<tensor<2x4xf32>, on 1> -> (!soap.shard<tensor<5x2xf32>, on 0> as #soap.box<"x":0, [0:5, 0:2]>, !soap.shard<tensor<4x2xf32>, on 1> as #soap.box<"x":0, [0:4, 2:4]>)
  return
}

// -----

// Tests that every part enters a reduction once.
func.func @reduce_missing() {
  %a = soap.remote -> (!soap.shard<tensor<4xf32>, on 0, partial = sum> as #soap.box<"x":0, [0:4], part 0 of 3>)
  %b = soap.remote -> (!soap.shard<tensor<4xf32>, on 1, partial = sum> as #soap.box<"x":0, [0:4], part 1 of 3>)
  // expected-error @below {{expected every one of 3 parts exactly once, got: part 2 0 times}}
  %g:2 = soap.all_reduce %a, %b over [0, 1] action 0 : !soap.shard<tensor<4xf32>, on 0, partial = sum>, !soap.shard<tensor<4xf32>, on 1, partial = sum> -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"x":0, [0:4]>, !soap.shard<tensor<4xf32>, on 1> as #soap.box<"x":0, [0:4]>)
  return
}

// -----

// Tests that the parts of a reduction are parts of one box.
func.func @reduce_boxes() {
  %a = soap.remote -> (!soap.shard<tensor<4xf32>, on 0, partial = sum> as #soap.box<"x":0, [0:4], part 0 of 2>)
  %b = soap.remote -> (!soap.shard<tensor<4xf32>, on 1, partial = sum> as #soap.box<"x":0, [1:5], part 1 of 2>)
  // expected-error @below {{expected parts of one box, got: #soap.box<"x":0, [0:4], part 0 of 2> and #soap.box<"x":0, [1:5], part 1 of 2>}}
  %g:2 = soap.all_reduce %a, %b over [0, 1] action 0 : !soap.shard<tensor<4xf32>, on 0, partial = sum>, !soap.shard<tensor<4xf32>, on 1, partial = sum> -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"x":0, [0:4]>, !soap.shard<tensor<4xf32>, on 1> as #soap.box<"x":0, [0:4]>)
  return
}

// -----

// Tests that only parts are reduced.
func.func @reduce_complete(%a: !soap.shard<tensor<4xf32>, on 0>, %b: !soap.shard<tensor<4xf32>, on 1>) {
  // expected-error @below {{expected operands that are partial in the same way, got: '!soap.shard<tensor<4xf32>, on 0>'}}
  %g:2 = soap.all_reduce %a, %b over [0, 1] action 0 : !soap.shard<tensor<4xf32>, on 0>, !soap.shard<tensor<4xf32>, on 1> -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"x":0, [0:4]>, !soap.shard<tensor<4xf32>, on 1> as #soap.box<"x":0, [0:4]>)
  return
}

// -----

// Tests that a bucket says where it stands.
func.func @bucket_nowhere(%a: !soap.shard<tensor<4xf32>, on 0, partial = sum>, %b: !soap.shard<tensor<4xf32>, on 1, partial = sum>) {
  // expected-error @below {{expected a bucket and the node that it stands behind, got one of them}}
  %g:2 = soap.all_reduce %a, %b over [0, 1] bucket 0 action 0 : !soap.shard<tensor<4xf32>, on 0, partial = sum>, !soap.shard<tensor<4xf32>, on 1, partial = sum> -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"x":0, [0:4]>, !soap.shard<tensor<4xf32>, on 1> as #soap.box<"x":0, [0:4]>)
  return
}

// -----

// Tests that buckets are numbered from 0.
func.func @bucket_negative(%a: !soap.shard<tensor<4xf32>, on 0, partial = sum>, %b: !soap.shard<tensor<4xf32>, on 1, partial = sum>) {
  // expected-error @below {{expected a bucket of at least 0, got: -1}}
  %g:2 = soap.all_reduce %a, %b over [0, 1] bucket -1 behind "x" action 0 : !soap.shard<tensor<4xf32>, on 0, partial = sum>, !soap.shard<tensor<4xf32>, on 1, partial = sum> -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"x":0, [0:4]>, !soap.shard<tensor<4xf32>, on 1> as #soap.box<"x":0, [0:4]>)
  return
}

// -----

// Tests that members of a bucket, which follow each other, are one collective.
func.func @bucket_algorithms(%a: !soap.shard<tensor<4xf32>, on 0, partial = sum>, %b: !soap.shard<tensor<4xf32>, on 1, partial = sum>) {
  // expected-error @below {{expected the next reduction of bucket 0 to have the same devices, algorithm, priority, element type and combiner}}
  %g:2 = soap.all_reduce %a, %b over [0, 1] algorithm ring bucket 0 behind "x" action 0 : !soap.shard<tensor<4xf32>, on 0, partial = sum>, !soap.shard<tensor<4xf32>, on 1, partial = sum> -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"x":0, [0:4]>, !soap.shard<tensor<4xf32>, on 1> as #soap.box<"x":0, [0:4]>)
  %h:2 = soap.all_reduce %a, %b over [0, 1] algorithm tree bucket 0 behind "x" action 0 : !soap.shard<tensor<4xf32>, on 0, partial = sum>, !soap.shard<tensor<4xf32>, on 1, partial = sum> -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"x":0, [0:4]>, !soap.shard<tensor<4xf32>, on 1> as #soap.box<"x":0, [0:4]>)
  return
}

// -----

// Tests that members of a bucket run on one kind of streams.
func.func @bucket_priorities(%a: !soap.shard<tensor<4xf32>, on 0, partial = sum>, %b: !soap.shard<tensor<4xf32>, on 1, partial = sum>) {
  // expected-error @below {{expected the next reduction of bucket 0 to have the same devices, algorithm, priority, element type and combiner}}
  %g:2 = soap.all_reduce %a, %b over [0, 1] priority bucket 0 behind "x" action 0 : !soap.shard<tensor<4xf32>, on 0, partial = sum>, !soap.shard<tensor<4xf32>, on 1, partial = sum> -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"x":0, [0:4]>, !soap.shard<tensor<4xf32>, on 1> as #soap.box<"x":0, [0:4]>)
  %h:2 = soap.all_reduce %a, %b over [0, 1] bucket 0 behind "x" action 0 : !soap.shard<tensor<4xf32>, on 0, partial = sum>, !soap.shard<tensor<4xf32>, on 1, partial = sum> -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"x":0, [0:4]>, !soap.shard<tensor<4xf32>, on 1> as #soap.box<"x":0, [0:4]>)
  return
}

// -----

// Tests that reduce_scatter leaves nothing over.
func.func @scatter_gap() {
  %a = soap.remote -> (!soap.shard<tensor<4xf32>, on 0, partial = max> as #soap.box<"x":0, [0:4], part 0 of 2>)
  %b = soap.remote -> (!soap.shard<tensor<4xf32>, on 1, partial = max> as #soap.box<"x":0, [0:4], part 1 of 2>)
  // expected-error @below {{expected results that cover [0:4], got: 3 of 4 elements}}
  %g:2 = soap.reduce_scatter %a, %b over [0, 1] action 0 : !soap.shard<tensor<4xf32>, on 0, partial = max>, !soap.shard<tensor<4xf32>, on 1, partial = max> -> (!soap.shard<tensor<2xf32>, on 0> as #soap.box<"x":0, [0:2]>, !soap.shard<tensor<1xf32>, on 1> as #soap.box<"x":0, [3:4]>)
  return
}

// -----

// Tests that equal copies are no parts.
// expected-error @below {{expected partial = sum, prod, max, min, and, or, got: same; equal copies are complete}}
func.func private @same(!soap.shard<tensor<4xf32>, on 0, partial = same>)

// -----

// Tests that a device id is not negative.
// expected-error @below {{expected a device id of at least 0 or `host`, got: -3}}
func.func private @device(!soap.shard<tensor<4xf32>, on -3>)

// -----

// Tests that a shard that holds all parts is complete.
// expected-error @below {{expected fewer parts than all 2; a shard that holds all parts is complete, leave them out}}
module attributes {test.box = #soap.box<"x":0, [0:4], parts [0, 1] of 2>} {}

// -----

// Tests that ranges do not end before they start.
// expected-error @below {{expected a range that starts at 0 or later and does not end before it starts, got: 4:2}}
module attributes {test.box = #soap.box<"x":0, [4:2]>} {}

// -----

// Tests that a topology lists its devices in order.
module {
  // expected-error @below {{expected device 0 to have the id 0}}
  soap.topology @machine {devices = [{id = 1, kind = "cpu"}]}
}

// -----

// Tests that a topology describes the kinds of its devices.
module {
  // expected-error @below {{expected an object 'kinds' that describes the kinds of devices}}
  soap.topology @machine {devices = [{id = 0, kind = "cpu"}]}
}

// -----

// Tests that every result has a box, also where an operation uses it before its maker is verified.
func.func @too_few_boxes() {
  // expected-error @below {{expected one box per result, got: 1 for 2}}
  %0:2 = "soap.broadcast"(%1) <{over = array<i32: 0, 1, 2>, algorithm = #soap<algorithm direct>, action = 0 : i64, phase = #soap<phase step>, boxes = [#soap.box<"x":0, [0:4]>]}> : (!soap.shard<tensor<4xf32>, on 0>) -> (!soap.shard<tensor<4xf32>, on 1>, !soap.shard<tensor<4xf32>, on 2>)
  %1 = soap.slice %0#1 : !soap.shard<tensor<4xf32>, on 2> -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"x":0, [0:4]>)
  return
}

// -----

// Tests that attributes in a list are those that a task has, and that what is in it has a dialect.
func.func @phase() {
  // expected-error @+1 {{attribute 'phase' failed to satisfy constraint: when an operation runs}}
  %x = soap.task "x" 0 () -> (!soap.shard<tensor<8xf32>, on host> as #soap.box<"x":0, [0:8]>) attributes {phase = "s"} {
    %0 = nn.input {nn.name = "x"} : tensor<8xf32>
    soap.return %0 : tensor<8xf32>
  }
  return
}

// -----

func.func @unknown(%a: !soap.shard<tensor<8xf32>, on 0>) {
  %x = soap.task "a" 0 (%arg0 = %a : !soap.shard<tensor<8xf32>, on 0>) -> (!soap.shard<tensor<8xf32>, on 0> as #soap.box<"a":0, [0:8]>) {
    // expected-error @+1 {{expected only nn operations in a task, got: my.op}}
    %0 = "my.op"(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
    soap.return %0 : tensor<8xf32>
  }
  return
}
