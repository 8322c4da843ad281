//===- Unpooling.cpp - Places of maxima, and back ---------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Body.h"
#include "Operators.h"
#include <limits>

using namespace mlir;
using namespace soap::onnx_import;
using onnx::TensorProto;

/// The product of sizes, at most maxElements.
static int64_t product(llvm::ArrayRef<int64_t> sizes) {
  return countElements(sizes).value_or(maxElements);
}

/// Calls `visit(index, flat)` for all elements of a tensor of `shape`.
static void
forEach(llvm::ArrayRef<int64_t> shape,
        llvm::function_ref<void(llvm::ArrayRef<int64_t>, int64_t)> visit) {
  Shape index(shape.size(), 0);
  for (int64_t flat = 0, e = product(shape); flat != e; ++flat) {
    visit(index, flat);
    for (size_t d = shape.size(); d-- != 0;) {
      if (++index[d] != shape[d])
        break;
      index[d] = 0;
    }
  }
}

/// The windows are looked up as rows of a table, and a place in the window is
/// one in the operand, flattened.
LogicalResult soap::onnx_import::importMaxPoolIndices(NodeContext &node,
                                                      const Window &window) {
  llvm::ArrayRef<int64_t> shape = node.shape(0);
  auto spatial = shape.drop_front(2);
  size_t rank = spatial.size();
  int64_t places = product(window.kernel), outputs = product(window.result);
  if (places > maxTableElements || outputs > maxTableElements ||
      places * outputs > maxTableElements)
    return node.fail("expected at most " + llvm::Twine(maxTableElements) +
                     " elements in all windows of a channel for the output "
                     "Indices, got: windows of " +
                     llvm::Twine(places) + " for an output of " +
                     llvm::Twine(outputs));
  // Steps of a dimension in the padded and in the whole operand.
  Shape padded, paddedSteps(rank, 1), steps(rank, 1);
  for (size_t d = 0; d != rank; ++d)
    padded.push_back(spatial[d] + window.padsLo[d] + window.padsHi[d]);
  for (size_t d = rank; d-- > 1;) {
    paddedSteps[d - 1] = paddedSteps[d] * padded[d];
    steps[d - 1] = steps[d] * spatial[d];
  }
  if (node.integer("storage_order", 0) != 0)
    for (size_t d = 0; d != rank; ++d)
      steps[d] = product(spatial.take_front(d));

  SmallVector<int64_t> table(static_cast<size_t>(outputs * places)),
      base(static_cast<size_t>(outputs)), offset(static_cast<size_t>(places));
  forEach(window.result, [&](llvm::ArrayRef<int64_t> out, int64_t o) {
    forEach(window.kernel, [&](llvm::ArrayRef<int64_t> k, int64_t p) {
      for (size_t d = 0; d != rank; ++d) {
        int64_t first = out[d] * window.strides[d];
        int64_t within = k[d] * window.dilations[d];
        table[static_cast<size_t>(o * places + p)] +=
            (first + within) * paddedSteps[d];
        if (p == 0)
          base[static_cast<size_t>(o)] += (first - window.padsLo[d]) * steps[d];
        if (o == 0)
          offset[static_cast<size_t>(p)] += within * steps[d];
      }
    });
  });
  SmallVector<int64_t> pads(2 * shape.size(), 0),
      planes(static_cast<size_t>(shape[0] * shape[1]));
  for (size_t d = 0; d != rank; ++d) {
    pads[2 + d] = window.padsLo[d];
    pads[shape.size() + 2 + d] = window.padsHi[d];
  }
  for (auto [i, plane] : llvm::enumerate(planes))
    plane = static_cast<int64_t>(i) * product(spatial);

  Body body(node);
  std::string x = body.input(0);
  if (llvm::any_of(pads, [](int64_t pad) { return pad != 0; }))
    x = body.add("Pad",
                 {x, body.integers(pads),
                  body.number(-std::numeric_limits<double>::infinity())});
  x = body.reshape(x, {shape[0], shape[1], product(padded)});
  std::string windows =
      body.add("Gather", {x, body.integers({outputs, places}, table)},
               {{"axis", int64_t{2}}});
  std::string place = body.add(
      "ArgMax", {windows}, {{"axis", int64_t{3}}, {"keepdims", int64_t{0}}});
  std::string index =
      body.add("Add", {body.add("Gather", {body.integers(offset), place}),
                       body.integers({outputs}, base)});
  index =
      body.add("Add", {index, body.integers({shape[0], shape[1], 1}, planes)});
  Shape result = {shape[0], shape[1]};
  llvm::append_range(result, window.result);
  index = body.reshape(index, result);
  return body.finish({"", index});
}

LogicalResult soap::onnx_import::importMaxUnpool(NodeContext &node) {
  llvm::ArrayRef<int64_t> shape = node.shape(0);
  auto kernel = node.integers("kernel_shape");
  size_t rank = shape.size() < 3 ? 0 : shape.size() - 2;
  if (rank == 0 || !kernel || kernel->size() != rank || node.shape(1) != shape)
    return node.fail("expected a kernel size per spatial dimension of " +
                     toString(shape) + " and as many indices, got: " +
                     toString(kernel.value_or(SmallVector<int64_t>())) +
                     " and indices of shape " + toString(node.shape(1)));
  auto strides =
      node.integers("strides").value_or(SmallVector<int64_t>(rank, 1));
  auto pads = node.integers("pads").value_or(SmallVector<int64_t>(2 * rank, 0));
  if (strides.size() != rank || pads.size() != 2 * rank)
    return node.fail("expected strides and pads per spatial dimension of " +
                     toString(shape) + ", got: " + toString(strides) + " and " +
                     toString(pads));
  Shape inferred = {shape[0], shape[1]};
  for (size_t d = 0; d != rank; ++d)
    inferred.push_back((shape[d + 2] - 1) * strides[d] - pads[d] -
                       pads[rank + d] + (*kernel)[d]);
  std::optional<int64_t> count = countElements(inferred);
  if (!count || *count == 0)
    return node.fail(
        "expected a result with elements and within bounds, got: " +
        toString(inferred));
  Body body(node);
  std::string zeros =
      body.add("Expand", {body.number(0), body.integers({*count})});
  std::string result = body.add("ScatterElements",
                                {zeros, body.reshape(body.input(1), {-1}),
                                 body.reshape(body.input(0), {-1})},
                                {{"axis", int64_t{0}}});
  result = body.reshape(result, inferred);
  if (node.hasInput(2)) {
    auto wanted = node.constantIntegers(2, "output_shape");
    if (failed(wanted))
      return failure();
    // The elements that the indices cannot reach are at the ends.
    SmallVector<int64_t> ends(2 * shape.size(), 0);
    for (size_t d = 0; d != shape.size(); ++d) {
      if (wanted->size() != shape.size() || (*wanted)[d] < inferred[d])
        return node.fail("expected an output_shape of at least " +
                         toString(inferred) + ", got: " + toString(*wanted));
      ends[shape.size() + d] = (*wanted)[d] - inferred[d];
    }
    result = body.add("Pad", {result, body.integers(ends)});
  }
  return body.finish({result});
}

/// The sum of overlapping blocks is the transposed convolution whose kernel
/// has a 1 per place of a block.
LogicalResult soap::onnx_import::importCol2Im(NodeContext &node) {
  auto image = node.constantIntegers(1, "image shapes");
  auto block = node.constantIntegers(2, "block shapes");
  if (failed(image) || failed(block))
    return failure();
  llvm::ArrayRef<int64_t> shape = node.shape(0);
  size_t rank = image->size();
  auto strides =
      node.integers("strides").value_or(SmallVector<int64_t>(rank, 1));
  auto dilations =
      node.integers("dilations").value_or(SmallVector<int64_t>(rank, 1));
  auto pads = node.integers("pads").value_or(SmallVector<int64_t>(2 * rank, 0));
  if (rank < 1 || rank > 3 || shape.size() != 3 || block->size() != rank ||
      strides.size() != rank || dilations.size() != rank ||
      pads.size() != 2 * rank || !countElements(*block) ||
      product(*block) < 1 || shape[1] % product(*block) != 0)
    return node.fail("expected columns of blocks of 1 to 3 dimensions, got: " +
                     toString(shape) + " and blocks " + toString(*block));
  int64_t places = product(*block), channels = shape[1] / places;
  Shape columns = {shape[0], shape[1]}, kernel = {shape[1], 1};
  SmallVector<int64_t> extra;
  int64_t count = 1;
  for (size_t d = 0; d != rank; ++d) {
    int64_t reach = dilations[d] * ((*block)[d] - 1) + 1;
    int64_t slack = (*image)[d] + pads[d] + pads[rank + d] - reach;
    if (strides[d] < 1 || dilations[d] < 1 || slack < 0)
      return node.fail("expected blocks that fit into the image " +
                       toString(*image) + ", got: " + toString(*block));
    columns.push_back(slack / strides[d] + 1);
    kernel.push_back((*block)[d]);
    extra.push_back(slack % strides[d]);
    count *= columns.back();
  }
  if (count != shape[2] || shape[1] > maxTableElements ||
      shape[1] * places > maxTableElements)
    return node.fail("expected " + llvm::Twine(count) +
                     " blocks per channel, got: " + toString(shape));
  SmallVector<double> marks(static_cast<size_t>(shape[1] * places), 0);
  for (int64_t row = 0; row != shape[1]; ++row)
    marks[static_cast<size_t>(row * places + row % places)] = 1;
  Body body(node);
  return body.finish({body.add(
      "ConvTranspose",
      {body.reshape(body.input(0), columns), body.numbers(kernel, marks)},
      {{"group", channels},
       {"strides", strides},
       {"dilations", dilations},
       {"pads", pads},
       {"output_padding", extra}})});
}
