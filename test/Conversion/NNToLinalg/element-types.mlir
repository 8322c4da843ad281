// RUN: soap-opt %s -convert-nn-to-linalg | FileCheck %s

// Tests that unsigned integers become signless ones, with unsigned operations.
// CHECK-LABEL: func.func @unsigned
// CHECK-SAME: (%[[X:.*]]: tensor<4xi8>, %{{.*}}: tensor<4xi8>) -> (tensor<4xi8>, tensor<4xi1>, tensor<4xi8>)
// CHECK: arith.maxui {{.*}} : i8
// CHECK: arith.cmpi ult, {{.*}} : i8
// CHECK: arith.divui {{.*}} : i8
func.func @unsigned(%x: tensor<4xui8>, %y: tensor<4xui8>) -> (tensor<4xui8>, tensor<4xi1>, tensor<4xui8>) {
  %0 = nn.max %x, %y {nn.name = "a"} : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  %1 = nn.compare %x, %y {nn.name = "b", predicate = #nn.predicate<lt>} : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xi1>
  %2 = nn.div %x, %y {nn.name = "c"} : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  return %0, %1, %2 : tensor<4xui8>, tensor<4xi1>, tensor<4xui8>
}

// Tests that signed ones keep theirs.
// CHECK-LABEL: func.func @signed
// CHECK: arith.maxsi {{.*}} : i8
func.func @signed(%x: tensor<4xi8>, %y: tensor<4xi8>) -> tensor<4xi8> {
  %0 = nn.max %x, %y {nn.name = "a"} : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  return %0 : tensor<4xi8>
}

// Tests that a reduction of unsigned integers begins with their least number.
// CHECK-LABEL: func.func @largest
// CHECK-DAG: arith.constant 0 : i16
// CHECK: arith.maxui {{.*}} : i16
func.func @largest(%x: tensor<3x4xui16>) -> tensor<3xui16> {
  %0 = nn.reduce %x {nn.name = "a", kind = #nn.reduce_kind<max>, axes = array<i64: 1>, keepdims = false} : (tensor<3x4xui16>) -> tensor<3xui16>
  return %0 : tensor<3xui16>
}

// Tests that floats of 16 bits are computed in f32, and sums of products stay
// there.
// CHECK-LABEL: func.func @product
// CHECK-SAME: -> tensor<2x4xf32>
// CHECK-NOT: f16 : f16
// CHECK: arith.mulf {{.*}} : f32
// CHECK: arith.addf {{.*}} : f32
func.func @product(%a: tensor<2x3xf16>, %b: tensor<3x4xf16>) -> tensor<2x4xf32> {
  %0 = nn.matmul %a, %b {nn.name = "a"} : (tensor<2x3xf16>, tensor<3x4xf16>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// Tests that each element is widened and rounded on its way.
// CHECK-LABEL: func.func @sum
// CHECK: linalg.generic
// CHECK: arith.addf {{.*}} : f32
// CHECK: arith.bitcast {{.*}} : i16 to bf16
// CHECK: linalg.yield
func.func @sum(%a: tensor<4xbf16>, %b: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = nn.add %a, %b {nn.name = "a"} : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// Tests that small types are held by bytes, of constants with their signs.
// CHECK-LABEL: func.func @stored
// CHECK-SAME: tensor<2x2xi8>, tensor<3xi8>, tensor<5xi8>
// CHECK-DAG: arith.constant dense<[-3, 7, -8]> : tensor<3xi8>
// CHECK-DAG: arith.constant 15 : i8
func.func @stored(%x: tensor<4xf8E4M3FN>, %y: tensor<4xui4>) -> (tensor<2x2xf8E4M3FN>, tensor<3xi4>, tensor<5xui4>) {
  %0 = nn.reshape %x {nn.name = "a"} : (tensor<4xf8E4M3FN>) -> tensor<2x2xf8E4M3FN>
  %1 = nn.constant dense<[-3, 7, -8]> : tensor<3xi4> {nn.name = "b"}
  %2 = nn.pad %y {nn.name = "c", pads_lo = array<i64: 1>, pads_hi = array<i64: 0>, value = 15 : ui4} : (tensor<4xui4>) -> tensor<5xui4>
  return %0, %1, %2 : tensor<2x2xf8E4M3FN>, tensor<3xi4>, tensor<5xui4>
}
