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
    {"Abs", 7, importUnary, foldUnary, 1, 1, "", "`nn.abs`", ""},
    {"Acos", 7, importUnary, nullptr, 1, 1, "", "`nn.acos`", ""},
    {"Acosh", 9, importUnary, nullptr, 1, 1, "", "`nn.acosh`", ""},
    {"Add", 7, importBinary, foldBinary, 2, 2, "", "`nn.add`", ""},
    {"And", 7, importBinary, foldBinary, 2, 2, "", "`nn.and`", ""},
    {"ArgMax", 7, importArg, nullptr, 1, 1, "axis keepdims select_last_index",
     "`nn.arg_max`", ""},
    {"ArgMin", 7, importArg, nullptr, 1, 1, "axis keepdims select_last_index",
     "`nn.arg_min`", ""},
    {"Asin", 7, importUnary, nullptr, 1, 1, "", "`nn.asin`", ""},
    {"Asinh", 9, importUnary, nullptr, 1, 1, "", "`nn.asinh`", ""},
    {"Atan", 7, importUnary, nullptr, 1, 1, "", "`nn.atan`", ""},
    {"Atanh", 9, importUnary, nullptr, 1, 1, "", "`nn.atanh`", ""},
    {"AveragePool", 7, importAveragePool, nullptr, 1, 1,
     "kernel_shape strides dilations pads auto_pad ceil_mode count_include_pad",
     "`nn.avg_pool`", "1 to 3 spatial dimensions"},
    {"BatchNormalization", 7, importBatchNormalization, nullptr, 5, 5,
     "epsilon momentum spatial training_mode",
     "`nn.batch_norm`, in training also with training_mode; else with "
     "training_mode `nn.reduce` and what it is divided by",
     "spatial 1"},
    {"BitCast", 26, importBitCast, nullptr, 1, 1, "to", "`nn.bit_cast`",
     "no types below 8 bits but INT4 and UINT4"},
    {"BitShift", 11, importBitShift, nullptr, 2, 2, "direction",
     "`nn.shift_left`, `nn.shift_right`", ""},
    {"BitwiseAnd", 18, importBinary, nullptr, 2, 2, "", "`nn.and`", ""},
    {"BitwiseNot", 18, importUnary, nullptr, 1, 1, "", "`nn.not`", ""},
    {"BitwiseOr", 18, importBinary, nullptr, 2, 2, "", "`nn.or`", ""},
    {"BitwiseXor", 18, importBinary, nullptr, 2, 2, "", "`nn.xor`", ""},
    {"Cast", 7, importCast, foldCast, 1, 1, "to saturate round_mode",
     "`nn.cast`, nothing for the same type",
     "no strings, no types below 8 bits but INT4 and UINT4"},
    {"Ceil", 7, importUnary, foldUnary, 1, 1, "", "`nn.ceil`", ""},
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
    {"ConvTranspose", 7, importConvTranspose, nullptr, 2, 3,
     "kernel_shape strides dilations pads auto_pad group output_padding "
     "output_shape",
     "`nn.conv_backward_data`", "1 to 3 spatial dimensions"},
    {"Cos", 7, importUnary, foldUnary, 1, 1, "", "`nn.cos`", ""},
    {"Cosh", 9, importUnary, nullptr, 1, 1, "", "`nn.cosh`", ""},
    {"CumSum", 11, importCumSum, nullptr, 2, 2, "exclusive reverse",
     "`nn.cum_sum`", "constant axis"},
    {"Div", 7, importBinary, foldBinary, 2, 2, "", "`nn.div`", ""},
    {"Dropout", 7, importDropout, importDropout, 1, 3, "ratio seed",
     "nothing; for training `nn.dropout`",
     "inference; for training, no use of the mask"},
    {"Einsum", 12, importEinsum, nullptr, 1, any, "equation",
     "`nn.transpose`, `nn.reshape`, `nn.reduce`, `nn.matmul`",
     "products of rank 8 or less"},
    {"Equal", 7, importCompare, foldBinary, 2, 2, "", "`nn.compare`", ""},
    {"Erf", 9, importUnary, foldUnary, 1, 1, "", "`nn.erf`", ""},
    {"Exp", 7, importUnary, foldUnary, 1, 1, "", "`nn.exp`", ""},
    {"Expand", 8, importExpand, foldExpand, 2, 2, "", "`nn.expand`",
     "constant shape"},
    {"Flatten", 7, importFlatten, importFlatten, 1, 1, "axis", "`nn.reshape`",
     ""},
    {"Floor", 7, importUnary, foldUnary, 1, 1, "", "`nn.floor`", ""},
    {"GRU", 7, importGRU, nullptr, 3, 6,
     "activations activation_alpha activation_beta clip direction hidden_size "
     "layout linear_before_reset",
     "`nn.gru`; the last hidden state is a slice", ""},
    {"Gather", 7, importGather, foldGather, 2, 2, "axis",
     "`nn.gather`; `nn.slice` for constant rows that follow one another", ""},
    {"GatherElements", 11, importGatherElements, nullptr, 2, 2, "axis",
     "`nn.gather_elements`", ""},
    {"GatherND", 11, importGatherND, nullptr, 2, 2, "batch_dims",
     "`nn.gather_nd`", ""},
    {"Gelu", 20, importGelu, nullptr, 1, 1, "approximate", "`nn.gelu`", ""},
    {"Gemm", 7, importGemm, nullptr, 2, 3, "alpha beta transA transB",
     "`nn.matmul`", ""},
    {"GlobalAveragePool", 7, importGlobalPool, nullptr, 1, 1, "",
     "`nn.reduce` sum with scale", ""},
    {"GlobalMaxPool", 7, importGlobalPool, nullptr, 1, 1, "", "`nn.reduce` max",
     ""},
    {"Greater", 7, importCompare, foldBinary, 2, 2, "", "`nn.compare`", ""},
    {"GreaterOrEqual", 12, importCompare, foldBinary, 2, 2, "", "`nn.compare`",
     ""},
    {"Identity", 7, importIdentity, importIdentity, 1, 1, "", "nothing", ""},
    {"IsInf", 10, importIsInf, nullptr, 1, 1, "detect_negative detect_positive",
     "`nn.abs`, `nn.compare`", ""},
    {"IsNaN", 9, importIsNaN, nullptr, 1, 1, "", "`nn.compare` of x and x", ""},
    {"LRN", 7, importLRN, nullptr, 1, 1, "size alpha beta bias", "`nn.lrn`",
     ""},
    {"LSTM", 7, importLSTM, nullptr, 3, 8,
     "activations activation_alpha activation_beta clip direction hidden_size "
     "input_forget layout",
     "`nn.lstm`; the last hidden state is a slice", ""},
    {"LayerNormalization", 17, importLayerNormalization, nullptr, 2, 3,
     "axis epsilon stash_type", "`nn.layer_norm`; statistics by `nn.reduce`",
     ""},
    {"Less", 7, importCompare, foldBinary, 2, 2, "", "`nn.compare`", ""},
    {"LessOrEqual", 12, importCompare, foldBinary, 2, 2, "", "`nn.compare`",
     ""},
    {"Log", 7, importUnary, foldUnary, 1, 1, "", "`nn.log`", ""},
    {"LogSoftmax", 7, importSoftmax, nullptr, 1, 1, "axis",
     "`nn.softmax` with `log`, as Softmax", ""},
    {"MatMul", 7, importMatMul, nullptr, 2, 2, "", "`nn.matmul`", ""},
    {"Max", 7, importBinary, foldBinary, 1, any, "", "`nn.max`", ""},
    {"MaxPool", 7, importMaxPool, nullptr, 1, 1,
     "kernel_shape strides dilations pads auto_pad ceil_mode storage_order",
     "`nn.max_pool`; indices by `nn.gather`, `nn.arg_max`",
     "1 to 3 spatial dimensions"},
    {"Min", 7, importBinary, foldBinary, 1, any, "", "`nn.min`", ""},
    {"Mod", 10, importMod, foldBinary, 2, 2, "fmod", "`nn.mod`", ""},
    {"Mul", 7, importBinary, foldBinary, 2, 2, "", "`nn.mul`", ""},
    {"Neg", 7, importUnary, foldUnary, 1, 1, "", "`nn.neg`", ""},
    {"Not", 7, importUnary, foldUnary, 1, 1, "", "`nn.not`", ""},
    {"OneHot", 9, importOneHot, nullptr, 3, 3, "axis", "`nn.one_hot`",
     "constant depth"},
    {"Or", 7, importBinary, foldBinary, 2, 2, "", "`nn.or`", ""},
    {"Pad", 7, importPad, nullptr, 1, 4, "mode pads value",
     "`nn.pad`; in other modes than constant `nn.gather` per dimension",
     "constant pads"},
    {"Pow", 7, importPow, foldPow, 2, 2, "",
     "`nn.pow`; `nn.mul`, `nn.sqrt`, `nn.reciprocal` for constant exponents",
     ""},
    {"RMSNormalization", 23, importRMSNormalization, nullptr, 2, 2,
     "axis epsilon stash_type", "`nn.mul`, `nn.reduce`, `nn.sqrt`, `nn.div`",
     ""},
    {"RNN", 7, importRNN, nullptr, 3, 6,
     "activations activation_alpha activation_beta clip direction hidden_size "
     "layout",
     "`nn.rnn`; the last hidden state is a slice", ""},
    {"Range", 11, nullptr, foldRange, 3, 3, "", "folds", ""},
    {"Reciprocal", 7, importUnary, foldUnary, 1, 1, "", "`nn.reciprocal`", ""},
    {"ReduceL1", 7, importReduce, nullptr, 1, 2,
     "axes keepdims noop_with_empty_axes", "`nn.abs`, `nn.reduce` sum",
     "constant axes"},
    {"ReduceL2", 7, importReduce, nullptr, 1, 2,
     "axes keepdims noop_with_empty_axes",
     "`nn.mul`, `nn.reduce` sum, `nn.sqrt`", "constant axes"},
    {"ReduceLogSum", 7, importReduce, nullptr, 1, 2,
     "axes keepdims noop_with_empty_axes", "`nn.reduce` sum, `nn.log`",
     "constant axes"},
    {"ReduceLogSumExp", 7, importReduce, nullptr, 1, 2,
     "axes keepdims noop_with_empty_axes",
     "`nn.reduce` max, `nn.exp`, `nn.reduce` sum, `nn.log`", "constant axes"},
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
    {"ReduceSumSquare", 7, importReduce, nullptr, 1, 2,
     "axes keepdims noop_with_empty_axes", "`nn.mul`, `nn.reduce` sum",
     "constant axes"},
    {"Relu", 7, importUnary, foldUnary, 1, 1, "", "`nn.relu`", ""},
    {"Reshape", 7, importReshape, importReshape, 2, 2, "allowzero",
     "`nn.reshape`", "constant shape"},
    {"Resize", 10, importResize, nullptr, 1, 4,
     "mode coordinate_transformation_mode nearest_mode cubic_coeff_a "
     "exclude_outside extrapolation_value antialias axes "
     "keep_aspect_ratio_policy",
     "`nn.resize`; `nn.matmul` with constant matrices for antialias and "
     "tf_crop_and_resize",
     "constant sizes, scales and regions; tf_half_pixel_for_nn for nearest"},
    {"Round", 11, importUnary, foldUnary, 1, 1, "", "`nn.round`", ""},
    {"Scatter", 9, importScatterElements, nullptr, 3, 3, "axis",
     "`nn.scatter_elements`", ""},
    {"ScatterElements", 11, importScatterElements, nullptr, 3, 3,
     "axis reduction", "`nn.scatter_elements`", ""},
    {"ScatterND", 11, importScatterND, nullptr, 3, 3, "reduction",
     "`nn.scatter_nd`", ""},
    {"Shape", 7, importShape, importShape, 1, 1, "start end", "folds", ""},
    {"Sigmoid", 7, importUnary, foldUnary, 1, 1, "", "`nn.sigmoid`", ""},
    {"Sign", 9, importUnary, nullptr, 1, 1, "", "`nn.sign`", ""},
    {"Sin", 7, importUnary, foldUnary, 1, 1, "", "`nn.sin`", ""},
    {"Sinh", 9, importUnary, nullptr, 1, 1, "", "`nn.sinh`", ""},
    {"Size", 7, importSize, importSize, 1, 1, "", "folds", ""},
    {"Slice", 7, importSlice, foldSlice, 1, 5, "axes starts ends", "`nn.slice`",
     "constant bounds"},
    {"Softmax", 7, importSoftmax, nullptr, 1, 1, "axis",
     "`nn.softmax`, between reshapes where operator sets before 13 ask for it",
     ""},
    {"Split", 7, importSplit, foldSplit, 1, 2, "axis split num_outputs",
     "one `nn.slice` per output", "constant sizes"},
    {"Sqrt", 7, importUnary, foldUnary, 1, 1, "", "`nn.sqrt`", ""},
    {"Squeeze", 7, importSqueeze, importSqueeze, 1, 2, "axes", "`nn.reshape`",
     "constant axes"},
    {"Sub", 7, importBinary, foldBinary, 2, 2, "", "`nn.sub`", ""},
    {"Sum", 7, importBinary, foldBinary, 1, any, "", "a chain of `nn.add`", ""},
    {"Tan", 7, importUnary, nullptr, 1, 1, "", "`nn.tan`", ""},
    {"Tanh", 7, importUnary, foldUnary, 1, 1, "", "`nn.tanh`", ""},
    {"Tile", 7, importTile, foldTile, 2, 2, "", "`nn.tile`",
     "constant repeats"},
    {"TopK", 7, importTopK, nullptr, 1, 2, "axis k largest sorted",
     "`nn.top_k`", "constant K"},
    {"Transpose", 7, importTranspose, foldTranspose, 1, 1, "perm",
     "`nn.transpose`", ""},
    {"Trilu", 14, importTrilu, nullptr, 1, 2, "upper", "`nn.trilu`",
     "constant k"},
    {"Unsqueeze", 7, importUnsqueeze, importUnsqueeze, 1, 2, "axes",
     "`nn.reshape`", "constant axes"},
    {"Upsample", 9, importResize, nullptr, 2, 2, "mode", "`nn.resize`",
     "constant scales"},
    {"Where", 9, importWhere, foldWhere, 3, 3, "", "`nn.where`", ""},
    {"Xor", 7, importBinary, foldBinary, 2, 2, "", "`nn.xor`", ""},
};

llvm::ArrayRef<OperatorEntry> soap::onnx_import::operators() { return table; }

const OperatorEntry *soap::onnx_import::findOperator(llvm::StringRef name) {
  for (llvm::ArrayRef<OperatorEntry> entries : {operators(), compositions()}) {
    const OperatorEntry *it = llvm::lower_bound(
        entries, name,
        [](const OperatorEntry &e, llvm::StringRef n) { return e.name < n; });
    if (it != entries.end() && it->name == name)
      return it;
  }
  return nullptr;
}

void soap::listONNXOperators(llvm::raw_ostream &os) {
  os << "| ONNX operator | since | becomes | limits |\n"
     << "|---|---|---|---|\n";
  std::vector<OperatorEntry> all(std::begin(table), std::end(table));
  all.insert(all.end(), compositions().begin(), compositions().end());
  llvm::sort(all, [](const OperatorEntry &a, const OperatorEntry &b) {
    return a.name < b.name;
  });
  for (const OperatorEntry &entry : all) {
    os << "| " << entry.name << " | " << entry.since << " | " << entry.becomes
       << " | ";
    bool folds = !entry.import && entry.fold;
    if (folds && entry.name != "ConstantOfShape")
      os << "constant operands" << (entry.limits.empty() ? "" : "; ");
    os << entry.limits << " |\n";
  }
}
