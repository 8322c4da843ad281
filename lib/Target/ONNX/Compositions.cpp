//===- Compositions.cpp - Operators that are several ops --------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators that need no nn op of their own. Each op is one pass over memory:
// ONNX's function bodies, which the others in the table at the end have, take
// more of them, or overflow where the result does not.
//
//===----------------------------------------------------------------------===//

#include "Operators.h"
#include "soap/Dialect/NN/IR/NN.h"

using namespace mlir;
using namespace soap;
using namespace soap::onnx_import;

/// DepthToSpace and SpaceToDepth: the factors of the shape change places.
static LogicalResult importBlocks(NodeContext &node) {
  auto x = node.tensor(0, ElementTypes::Any);
  if (failed(x))
    return failure();
  llvm::ArrayRef<int64_t> shape = node.shape(0);
  int64_t block = node.integer("blocksize", 0);
  bool toSpace = node.node.op_type() == "DepthToSpace";
  if (shape.size() != 4 || block < 1 || block > (int64_t{1} << 15))
    return node.fail("expected an input of rank 4 and a positive blocksize, "
                     "got: " +
                     toString(shape) + " and " + llvm::Twine(block));
  int64_t n = shape[0], c = shape[1], h = shape[2], w = shape[3];
  bool fits =
      toSpace ? c % (block * block) == 0 : h % block == 0 && w % block == 0;
  if (!fits)
    return node.fail("expected sizes that the blocksize " + llvm::Twine(block) +
                     " divides, got: " + toString(shape));
  std::string mode = node.string("mode", "DCR");
  if (mode != "DCR" && mode != "CRD")
    return node.fail("expected mode DCR or CRD, got: " + quoted(mode));
  Shape factors, result;
  llvm::SmallVector<int64_t> permutation;
  if (!toSpace) {
    factors = {n, c, h / block, block, w / block, block};
    permutation = {0, 3, 5, 1, 2, 4};
    result = {n, c * block * block, h / block, w / block};
  } else {
    int64_t depth = c / (block * block);
    result = {n, depth, h * block, w * block};
    factors = {n, block, block, depth, h, w};
    permutation = {0, 3, 4, 1, 5, 2};
    if (mode == "CRD") {
      factors = {n, depth, block, block, h, w};
      permutation = {0, 1, 4, 2, 5, 3};
    }
  }
  Shape moved;
  for (int64_t dim : permutation)
    moved.push_back(factors[static_cast<size_t>(dim)]);
  auto value = node.reshape(*x, factors, "_factors");
  if (succeeded(value))
    value = node.create<nn::TransposeOp>(
        moved, *value, {node.attr("permutation", permutation)}, "_moved");
  if (succeeded(value))
    value = node.reshape(*value, result);
  return node.finish(value);
}

/// The sum of the operands, over their number.
static LogicalResult importMean(NodeContext &node) {
  auto value = node.tensor(0);
  Shape shape(node.shape(0));
  for (size_t i = 1, e = node.numInputs(); i != e; ++i) {
    auto operand = node.tensor(i);
    if (failed(value) || failed(operand))
      return failure();
    auto joined = node.broadcast(shape, node.shape(i));
    if (failed(joined))
      return failure();
    shape = *joined;
    value = node.create<nn::AddOp>(shape, {*value, *operand}, {},
                                   "_sum" + std::to_string(i));
  }
  if (failed(value))
    return failure();
  if (node.numInputs() == 1)
    return importIdentity(node);
  auto count = static_cast<double>(node.numInputs());
  return node.finish(node.create<nn::MulOp>(
      shape, {*value, node.scalar(1 / count, "_factor")}));
}

/// The affine map of every sampling point. The points, with a 1 behind their
/// coordinates (the last dimension's first), are the columns of a constant.
static LogicalResult importAffineGrid(NodeContext &node) {
  auto theta = node.tensor(0);
  auto sizes = node.constantIntegers(1, "sizes");
  if (failed(theta) || failed(sizes))
    return failure();
  size_t rank = sizes->size() < 2 ? 0 : sizes->size() - 2;
  auto order = static_cast<int64_t>(rank);
  std::optional<int64_t> count = countElements(*sizes);
  if (rank < 2 || rank > 3 || !count || *count == 0 ||
      node.shape(0) !=
          llvm::ArrayRef<int64_t>({sizes->front(), order, order + 1}))
    return node.fail("expected sizes of 2 or 3 spatial dimensions and matrices "
                     "that fit, got: " +
                     toString(*sizes) + " and " + toString(node.shape(0)));
  auto spatial = llvm::ArrayRef<int64_t>(*sizes).drop_front(2);
  int64_t points = *countElements(spatial);
  if (points > maxTableElements)
    return node.fail("expected at most " + llvm::Twine(maxTableElements) +
                     " points, got: " + llvm::Twine(points));
  bool corners = node.integer("align_corners", 0) != 0;
  std::vector<float> columns(static_cast<size_t>(points * (order + 1)), 1);
  int64_t inner = 1; // Points of one index of the dimension.
  for (size_t row = 0; row != rank; ++row) {
    int64_t size = spatial[rank - 1 - row];
    for (int64_t k = 0; k != points; ++k) {
      auto at = static_cast<double>(k / inner % size);
      auto whole = static_cast<double>(size);
      double x = corners ? (size == 1 ? -1 : 2 * at / (whole - 1) - 1)
                         : (2 * at + 1) / whole - 1;
      columns[row * static_cast<size_t>(points) + static_cast<size_t>(k)] =
          static_cast<float>(x);
    }
    inner *= size;
  }
  Value grid = node.numbers({order + 1, points}, columns, "_points");
  Shape mapped = {sizes->front(), order}, result = {sizes->front()};
  llvm::SmallVector<int64_t> permutation = {0};
  for (size_t d = 0; d != rank; ++d) {
    mapped.push_back(spatial[d]);
    result.push_back(spatial[d]);
    permutation.push_back(static_cast<int64_t>(d) + 2);
  }
  permutation.push_back(1);
  result.push_back(order);
  auto value = node.create<nn::MatMulOp>({sizes->front(), order, points},
                                         {*theta, grid}, {}, "_mapped");
  if (succeeded(value))
    value = node.reshape(*value, mapped, "_grid");
  if (failed(value))
    return failure();
  return node.finish(node.create<nn::TransposeOp>(
      result, *value, {node.attr("permutation", permutation)}));
}

/// Ones on a diagonal; only the shape of the operand counts.
static LogicalResult importEyeLike(NodeContext &node) {
  llvm::ArrayRef<int64_t> shape = node.shape(0);
  std::optional<int64_t> count = countElements(shape);
  if (shape.size() != 2 || count > maxHostElements)
    return node.fail("expected an operand of rank 2 with at most " +
                     llvm::Twine(maxHostElements) +
                     " elements, got: " + toString(shape));
  int64_t type = node.integer("dtype", node.input(0).elementType);
  if (!isKnownType(static_cast<int>(type)))
    return node.fail("expected a type of numbers, got: " +
                     typeName(static_cast<int>(type)));
  HostTensor result = HostTensor::zeros(static_cast<int>(type), shape);
  int64_t shift = std::clamp(node.integer("k", 0), -maxDim, maxDim);
  for (int64_t row = 0; row != shape[0]; ++row)
    if (row + shift >= 0 && row + shift < shape[1])
      result.setInteger(row * shape[1] + row + shift, 1);
  node.setResult(0, std::move(result));
  return success();
}

static constexpr unsigned anyNumber = 1u << 16;
static constexpr llvm::StringLiteral body = "its function body in ONNX";

// name, since, import, fold, inputs, attributes, becomes, limits. Operators
// without functions have the body that ONNX gives them; those of control flow
// are in ControlFlow.cpp, those of sequences in Sequences.cpp.
static constexpr OperatorEntry table[] = {
    {"AffineGrid", 20, importAffineGrid, nullptr, 2, 2, "align_corners",
     "`nn.matmul`, `nn.transpose`", "constant size"},
    {"Attention", 23, nullptr, nullptr, 3, 7, "", body, ""},
    {"BlackmanWindow", 17, nullptr, nullptr, 1, 1, "", body, "constant size"},
    {"CastLike", 15, nullptr, nullptr, 2, 2, "", body, ""},
    {"Celu", 12, nullptr, nullptr, 1, 1, "", body, ""},
    {"CenterCropPad", 18, nullptr, nullptr, 2, 2, "", body, "constant shape"},
    {"Col2Im", 18, importCol2Im, nullptr, 3, 3, "dilations pads strides",
     "`nn.conv_backward_data` with a constant kernel",
     "constant shapes; 1 to 3 spatial dimensions"},
    {"Compress", 9, importCompress, nullptr, 2, 2, "axis",
     "`nn.gather` or `nn.slice`", "constant condition"},
    {"ConcatFromSequence", 11, nullptr, nullptr, 1, 1, "", "`nn.concat`", ""},
    {"ConvInteger", 10, importConvInteger, nullptr, 2, 4,
     "kernel_shape strides dilations pads auto_pad group",
     "`nn.cast`, `nn.sub`, `nn.conv` of i32", "1 to 3 spatial dimensions"},
    {"CumProd", 26, importCumProd, nullptr, 2, 2, "exclusive reverse",
     "`nn.mul` and `nn.concat`, log2(n) times", "constant axis"},
    {"DFT", 17, importDFT, nullptr, 1, 3, "axis inverse onesided",
     "`nn.matmul` with a constant matrix of at most 2^22 elements",
     "constant length and axis"},
    {"DeformConv", 19, importDeformConv, nullptr, 3, 5,
     "dilations group kernel_shape offset_group pads strides",
     "`nn.gather_nd` and what it is weighted with, `nn.matmul`",
     "2 spatial dimensions"},
    {"DepthToSpace", 7, importBlocks, nullptr, 1, 1, "blocksize mode",
     "`nn.reshape`, `nn.transpose`", ""},
    {"DequantizeLinear", 10, importDequantizeLinear, nullptr, 2, 3,
     "axis block_size output_dtype", "`nn.cast`, `nn.sub`, `nn.mul`",
     "no types below 8 bits but INT4 and UINT4"},
    {"Det", 11, importDet, nullptr, 1, 1, "",
     "Gaussian elimination, row by row", "at most 64 rows"},
    {"DynamicQuantizeLinear", 11, nullptr, nullptr, 1, 1, "", body, ""},
    {"Elu", 7, nullptr, nullptr, 1, 1, "", body, ""},
    {"EyeLike", 9, importEyeLike, importEyeLike, 1, 1, "dtype k",
     "`nn.constant`", ""},
    {"GridSample", 16, importGridSample, nullptr, 2, 2,
     "align_corners mode padding_mode",
     "`nn.gather_nd` and what it is weighted with",
     "1 to 3 spatial dimensions"},
    {"GroupNormalization", 18, importGroupNormalization, nullptr, 3, 3,
     "epsilon num_groups stash_type",
     "`nn.layer_norm` between reshapes, `nn.mul`, `nn.add`", ""},
    {"HammingWindow", 17, nullptr, nullptr, 1, 1, "", body, "constant size"},
    {"HannWindow", 17, nullptr, nullptr, 1, 1, "", body, "constant size"},
    {"HardSigmoid", 7, importHardSigmoid, nullptr, 1, 1, "alpha beta",
     "`nn.mul`, `nn.add`, `nn.clip`", ""},
    {"HardSwish", 14, importHardSigmoid, nullptr, 1, 1, "",
     "`nn.mul`, `nn.add`, `nn.clip`, `nn.mul`", ""},
    {"Hardmax", 7, importHardmax, nullptr, 1, 1, "axis",
     "`nn.arg_max`, `nn.one_hot`", ""},
    {"If", 7, nullptr, nullptr, 1, 1, "", "the branch that is taken",
     "constant condition"},
    {"InstanceNormalization", 7, importGroupNormalization, nullptr, 3, 3,
     "epsilon", "`nn.layer_norm` between reshapes, `nn.mul`, `nn.add`", ""},
    {"LeakyRelu", 7, importLeakyRelu, nullptr, 1, 1, "alpha",
     "`nn.mul`, `nn.max`; `nn.where` for alpha outside (0, 1]", ""},
    {"Loop", 7, nullptr, nullptr, 2, anyNumber, "",
     "its body, once per iteration", "constant trip count and conditions"},
    {"LpNormalization", 7, importLpNormalization, nullptr, 1, 1, "axis p",
     "`nn.mul` or `nn.abs`, `nn.reduce` sum, `nn.div`", ""},
    {"LpPool", 7, importLpPool, nullptr, 1, 1,
     "auto_pad ceil_mode dilations kernel_shape p pads strides",
     "`nn.avg_pool` of powers, `nn.mul`, a root", "1 to 3 spatial dimensions"},
    {"MatMulInteger", 10, importMatMulInteger, nullptr, 2, 4, "",
     "`nn.cast`, `nn.sub`, `nn.matmul` of i32", ""},
    {"MaxUnpool", 9, importMaxUnpool, nullptr, 2, 3,
     "kernel_shape pads strides", "`nn.scatter_elements`",
     "constant output_shape"},
    {"Mean", 8, importMean, nullptr, 1, anyNumber, "", "`nn.add`, `nn.mul`",
     ""},
    {"MeanVarianceNormalization", 9, importMeanVarianceNormalization, nullptr,
     1, 1, "axes",
     "`nn.reduce` sums with scale, `nn.sub`, `nn.mul`, `nn.sqrt`, `nn.div`",
     ""},
    {"MelWeightMatrix", 17, nullptr, foldMelWeightMatrix, 5, 5,
     "output_datatype", "folds", ""},
    {"Mish", 18, importMish, nullptr, 1, 1, "", "`nn.exp` and rational ops",
     ""},
    {"NonMaxSuppression", 10, importNonMaxSuppression, nullptr, 2, 5,
     "center_point_box",
     "`nn.non_max_suppression`, `nn.cum_sum`, `nn.scatter_nd`",
     "constant operands, or only the last three with `--pad-selections`"},
    {"NonZero", 9, importNonZero, importNonZero, 1, 1, "", "folds",
     "constant operands"},
    {"Optional", 15, nullptr, nullptr, 0, 1, "", "nothing", ""},
    {"OptionalGetElement", 15, nullptr, nullptr, 1, 1, "", "nothing", ""},
    {"OptionalHasElement", 15, nullptr, nullptr, 0, 1, "", "folds", ""},
    {"PRelu", 7, nullptr, nullptr, 2, 2, "", body, ""},
    {"QLinearConv", 10, importQLinearConv, nullptr, 8, 9,
     "kernel_shape strides dilations pads auto_pad group",
     "as ConvInteger, then `nn.mul`, `nn.add`, `nn.round`, `nn.clip` of f64",
     "1 to 3 spatial dimensions"},
    {"QLinearMatMul", 10, importQLinearMatMul, nullptr, 8, 8, "",
     "as MatMulInteger, then `nn.mul`, `nn.add`, `nn.round`, `nn.clip` of f64",
     ""},
    {"QuantizeLinear", 10, importQuantizeLinear, nullptr, 2, 3,
     "axis block_size output_dtype precision saturate",
     "`nn.div`, `nn.round`, `nn.add`, `nn.clip`, `nn.cast`",
     "no types below 8 bits but INT4 and UINT4"},
    {"ReverseSequence", 10, importReverseSequence, nullptr, 2, 2,
     "batch_axis time_axis", "`nn.where`, `nn.gather_nd`", ""},
    {"RoiAlign", 10, importRoiAlign, nullptr, 3, 3,
     "coordinate_transformation_mode mode output_height output_width "
     "sampling_ratio spatial_scale",
     "`nn.gather` and what it is weighted with, `nn.reduce`",
     "positive sampling_ratio"},
    {"RotaryEmbedding", 23, nullptr, nullptr, 3, 4, "", body, ""},
    {"STFT", 17, importSTFT, nullptr, 2, 4, "onesided",
     "`nn.gather`, `nn.mul`, `nn.matmul`", "constant step and length"},
    {"Scan", 8, nullptr, nullptr, 1, anyNumber, "",
     "its body, once per iteration", ""},
    {"Selu", 7, nullptr, nullptr, 1, 1, "", body, ""},
    {"SequenceAt", 11, nullptr, nullptr, 2, 2, "", "nothing",
     "constant position"},
    {"SequenceConstruct", 11, nullptr, nullptr, 1, anyNumber, "", "nothing",
     ""},
    {"SequenceEmpty", 11, nullptr, nullptr, 0, 0, "", "nothing", ""},
    {"SequenceErase", 11, nullptr, nullptr, 1, 2, "", "nothing",
     "constant position"},
    {"SequenceInsert", 11, nullptr, nullptr, 2, 3, "", "nothing",
     "constant position"},
    {"SequenceLength", 11, nullptr, nullptr, 1, 1, "", "folds", ""},
    {"Shrink", 9, nullptr, nullptr, 1, 1, "", body, ""},
    {"Softplus", 7, importSoftplus, nullptr, 1, 1, "",
     "`nn.exp`, `nn.log`, `nn.max`", ""},
    {"Softsign", 7, nullptr, nullptr, 1, 1, "", body, ""},
    {"SpaceToDepth", 7, importBlocks, nullptr, 1, 1, "blocksize",
     "`nn.reshape`, `nn.transpose`", ""},
    {"SplitToSequence", 11, nullptr, nullptr, 1, 2, "",
     "one `nn.slice` per element", "constant sizes"},
    {"TensorScatter", 24, importTensorScatter, nullptr, 2, 3, "axis mode",
     "`nn.scatter_elements`", ""},
    {"TfIdfVectorizer", 9, importTfIdfVectorizer, nullptr, 1, 1,
     "max_gram_length max_skip_count min_gram_length mode ngram_counts "
     "ngram_indexes pool_int64s pool_strings weights",
     "`nn.compare`, `nn.reduce`, `nn.scatter_elements`", "no strings"},
    {"ThresholdedRelu", 10, nullptr, nullptr, 1, 1, "", body, ""},
    {"Unique", 11, importUnique, importUnique, 1, 1, "axis sorted", "folds",
     "constant operands"},
};

llvm::ArrayRef<OperatorEntry> soap::onnx_import::compositions() {
  return table;
}
