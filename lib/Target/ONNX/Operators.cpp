//===- Operators.cpp - The table of supported operators ---------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operators.h"

using namespace soap;
using namespace soap::onnx_import;

static constexpr unsigned any = 1u << 16;

// name, since, import, fold, inputs, attributes, becomes, limits
static constexpr OperatorEntry table[] = {
    {"Abs", 7, nullptr, foldUnary, 1, 1, "", "folds", ""},
    {"Add", 7, importAdd, foldBinary, 2, 2, "", "`nn.add`", ""},
    {"And", 7, nullptr, foldBinary, 2, 2, "", "folds", ""},
    {"AveragePool", 7, importAveragePool, nullptr, 1, 1,
     "kernel_shape strides dilations pads auto_pad ceil_mode count_include_pad",
     "`nn.avg_pool`", "1 to 3 spatial dimensions"},
    {"BatchNormalization", 7, importBatchNormalization, nullptr, 5, 5,
     "epsilon momentum spatial training_mode", "`nn.batch_norm`",
     "inference; spatial 1"},
    {"Cast", 7, importCast, foldCast, 1, 1, "to saturate", "nothing, or folds",
     "to the same type, or of constants"},
    {"Ceil", 7, nullptr, foldUnary, 1, 1, "", "folds", ""},
    {"Clip", 7, importClip, nullptr, 1, 3, "min max", "`nn.clip`",
     "constant bounds"},
    {"Concat", 7, importConcat, foldConcat, 1, any, "axis", "`nn.concat`", ""},
    {"Constant", 7, importConstant, importConstant, 0, 0,
     "value value_float value_floats value_int value_ints",
     "`nn.parameter` or `nn.constant`", "numbers, dense"},
    {"ConstantOfShape", 9, nullptr, importConstantOfShape, 1, 1, "value",
     "`nn.parameter` with `#nn.splat`, or folds", ""},
    {"Conv", 7, importConv, nullptr, 2, 3,
     "kernel_shape strides dilations pads auto_pad group", "`nn.conv`",
     "1 to 3 spatial dimensions"},
    {"Div", 7, importDiv, foldBinary, 2, 2, "", "`nn.div`", ""},
    {"Dropout", 7, importDropout, importDropout, 1, 3, "ratio seed", "nothing",
     "inference; without the mask"},
    {"Equal", 7, nullptr, foldBinary, 2, 2, "", "folds", ""},
    {"Expand", 8, nullptr, foldExpand, 2, 2, "", "folds", ""},
    {"Flatten", 7, importFlatten, importFlatten, 1, 1, "axis", "`nn.reshape`",
     ""},
    {"Floor", 7, nullptr, foldUnary, 1, 1, "", "folds", ""},
    {"Gather", 7, nullptr, foldGather, 2, 2, "axis", "folds", ""},
    {"Gemm", 7, importGemm, nullptr, 2, 3, "alpha beta transA transB",
     "`nn.matmul`", ""},
    {"GlobalAveragePool", 7, importGlobalPool, nullptr, 1, 1, "",
     "`nn.reduce` sum with scale", ""},
    {"GlobalMaxPool", 7, importGlobalPool, nullptr, 1, 1, "", "`nn.reduce` max",
     ""},
    {"Greater", 7, nullptr, foldBinary, 2, 2, "", "folds", ""},
    {"GreaterOrEqual", 12, nullptr, foldBinary, 2, 2, "", "folds", ""},
    {"Identity", 7, importIdentity, importIdentity, 1, 1, "", "nothing", ""},
    {"LRN", 7, importLRN, nullptr, 1, 1, "size alpha beta bias", "`nn.lrn`",
     ""},
    {"Less", 7, nullptr, foldBinary, 2, 2, "", "folds", ""},
    {"LessOrEqual", 12, nullptr, foldBinary, 2, 2, "", "folds", ""},
    {"MatMul", 7, importMatMul, nullptr, 2, 2, "", "`nn.matmul`", ""},
    {"Max", 7, importMax, foldBinary, 1, any, "", "`nn.max`", ""},
    {"MaxPool", 7, importMaxPool, nullptr, 1, 1,
     "kernel_shape strides dilations pads auto_pad ceil_mode storage_order",
     "`nn.max_pool`", "1 to 3 spatial dimensions; without indices"},
    {"Min", 7, importMin, foldBinary, 1, any, "", "`nn.min`", ""},
    {"Mod", 10, nullptr, foldBinary, 2, 2, "", "folds", ""},
    {"Mul", 7, importMul, foldBinary, 2, 2, "", "`nn.mul`", ""},
    {"Neg", 7, nullptr, foldUnary, 1, 1, "", "folds", ""},
    {"Not", 7, nullptr, foldUnary, 1, 1, "", "folds", ""},
    {"Or", 7, nullptr, foldBinary, 2, 2, "", "folds", ""},
    {"Pad", 7, importPad, nullptr, 1, 4, "mode pads value", "`nn.pad`",
     "mode constant; constant pads"},
    {"Range", 11, nullptr, foldRange, 3, 3, "", "folds", ""},
    {"ReduceMax", 7, importReduce, foldReduce, 1, 2,
     "axes keepdims noop_with_empty_axes", "`nn.reduce` max", "constant axes"},
    {"ReduceMean", 7, importReduce, foldReduce, 1, 2,
     "axes keepdims noop_with_empty_axes", "`nn.reduce` sum with scale",
     "constant axes"},
    {"ReduceMin", 7, importReduce, foldReduce, 1, 2,
     "axes keepdims noop_with_empty_axes", "`nn.reduce` min", "constant axes"},
    {"ReduceProd", 7, importReduce, foldReduce, 1, 2,
     "axes keepdims noop_with_empty_axes", "`nn.reduce` prod", "constant axes"},
    {"ReduceSum", 7, importReduce, foldReduce, 1, 2,
     "axes keepdims noop_with_empty_axes", "`nn.reduce` sum", "constant axes"},
    {"Relu", 7, importRelu, foldUnary, 1, 1, "", "`nn.relu`", ""},
    {"Reshape", 7, importReshape, importReshape, 2, 2, "allowzero",
     "`nn.reshape`", "constant shape"},
    {"Shape", 7, importShape, importShape, 1, 1, "start end", "folds", ""},
    {"Sigmoid", 7, importSigmoid, foldUnary, 1, 1, "", "`nn.sigmoid`", ""},
    {"Size", 7, importSize, importSize, 1, 1, "", "folds", ""},
    {"Slice", 7, importSlice, foldSlice, 1, 5, "axes starts ends", "`nn.slice`",
     "constant bounds"},
    {"Softmax", 7, importSoftmax, nullptr, 1, 1, "axis",
     "`nn.softmax`, between reshapes where operator sets before 13 ask for it",
     ""},
    {"Split", 7, importSplit, nullptr, 1, 2, "axis split num_outputs",
     "one `nn.slice` per output", "constant sizes"},
    {"Sqrt", 7, importSqrt, foldUnary, 1, 1, "", "`nn.sqrt`", ""},
    {"Squeeze", 7, importSqueeze, importSqueeze, 1, 2, "axes", "`nn.reshape`",
     "constant axes"},
    {"Sub", 7, importSub, foldBinary, 2, 2, "", "`nn.sub`", ""},
    {"Sum", 7, importAdd, foldBinary, 1, any, "", "a chain of `nn.add`", ""},
    {"Tanh", 7, importTanh, foldUnary, 1, 1, "", "`nn.tanh`", ""},
    {"Transpose", 7, importTranspose, foldTranspose, 1, 1, "perm",
     "`nn.transpose`", ""},
    {"Unsqueeze", 7, importUnsqueeze, importUnsqueeze, 1, 2, "axes",
     "`nn.reshape`", "constant axes"},
    {"Where", 9, nullptr, foldWhere, 3, 3, "", "folds", ""},
};

llvm::ArrayRef<OperatorEntry> soap::onnx_import::operators() { return table; }

const OperatorEntry *soap::onnx_import::findOperator(llvm::StringRef name) {
  const OperatorEntry *it = llvm::lower_bound(
      table, name,
      [](const OperatorEntry &e, llvm::StringRef n) { return e.name < n; });
  return it != std::end(table) && it->name == name ? it : nullptr;
}

void soap::listONNXOperators(llvm::raw_ostream &os) {
  os << "| ONNX operator | since | becomes | limits |\n"
     << "|---|---|---|---|\n";
  for (const OperatorEntry &entry : table) {
    os << "| " << entry.name << " | " << entry.since << " | " << entry.becomes
       << " | ";
    bool folds = !entry.import;
    if (folds && entry.name != "ConstantOfShape")
      os << "constant operands" << (entry.limits.empty() ? "" : "; ");
    os << entry.limits << " |\n";
  }
}
