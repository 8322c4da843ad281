//===- Ngrams.cpp - TfIdfVectorizer -----------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts of n-grams, as comparisons of all windows of a row with all n-grams of
// the pool, one place of the n-gram after the other.
//
//===----------------------------------------------------------------------===//

#include "Body.h"
#include "Operators.h"
#include <map>

using namespace mlir;
using namespace soap::onnx_import;
using onnx::TensorProto;

namespace {
/// N-grams of one length, the columns of the result that count them, and their
/// weights.
struct Ngrams {
  SmallVector<SmallVector<int64_t>> values;
  SmallVector<int64_t> columns;
  SmallVector<float> weights;
};
} // namespace

static LogicalResult wrong(NodeContext &node) {
  return node.fail(
      "expected ngram_counts that begin the n-grams of pool_int64s "
      "by their length, and a column of ngram_indexes for each, "
      "got: others");
}

/// The n-grams of the pool by their length. Of equal ones the last counts.
static LogicalResult readPool(NodeContext &node, int64_t least, int64_t most,
                              llvm::ArrayRef<float> weights,
                              std::map<int64_t, Ngrams> &ngrams) {
  auto pool = node.integers("pool_int64s"),
       starts = node.integers("ngram_counts"),
       columns = node.integers("ngram_indexes");
  if (!pool || !starts || !columns)
    return wrong(node);
  auto total = static_cast<int64_t>(pool->size());
  size_t id = 0;
  for (size_t k = 0; k != starts->size(); ++k) {
    int64_t begin = (*starts)[k];
    int64_t end = k + 1 != starts->size() ? (*starts)[k + 1] : total;
    auto length = static_cast<int64_t>(k) + 1;
    if (begin < 0 || end > total || begin > end)
      return wrong(node);
    std::map<SmallVector<int64_t>, size_t> found;
    for (; begin + length <= end; begin += length, ++id) {
      if (id >= columns->size() || (*columns)[id] < 0)
        return wrong(node);
      found[SmallVector<int64_t>(llvm::ArrayRef(*pool).slice(
          static_cast<size_t>(begin), static_cast<size_t>(length)))] = id;
    }
    if (length < least || length > most)
      continue;
    for (const auto &[values, place] : found) {
      ngrams[length].values.push_back(values);
      ngrams[length].columns.push_back((*columns)[place]);
      ngrams[length].weights.push_back(weights[place]);
    }
  }
  return success();
}

/// How often each n-gram occurs in each row of x, (rows, size): elements that
/// lie `step` apart.
static std::string countWindows(Body &body, const std::string &x,
                                llvm::ArrayRef<int64_t> shape,
                                const Ngrams &ngrams, int64_t length,
                                int64_t step) {
  int64_t windows = shape[1] - step * (length - 1);
  auto count = static_cast<int64_t>(ngrams.columns.size());
  std::string matches;
  for (int64_t k = 0; k != length; ++k) {
    SmallVector<int64_t> wanted;
    for (llvm::ArrayRef<int64_t> values : ngrams.values)
      wanted.push_back(values[static_cast<size_t>(k)]);
    std::string part = body.reshape(
        body.slice(x, 1, step * k, step * k + windows), {shape[0], windows, 1});
    std::string equal =
        body.add("Equal", {part, body.integers({1, 1, count}, wanted)});
    matches = matches.empty() ? equal : body.add("And", {matches, equal});
  }
  std::string ones =
      body.add("Cast", {matches}, {{"to", int64_t{TensorProto::FLOAT}}});
  return body.add("ReduceSum", {ones, body.integers({1})},
                  {{"keepdims", int64_t{0}}});
}

static LogicalResult importCounts(NodeContext &node,
                                  llvm::ArrayRef<int64_t> rows, int64_t width,
                                  const std::map<int64_t, Ngrams> &ngrams,
                                  const Shape &resultShape) {
  Body body(node);
  auto ofType = [&](const std::string &x, int64_t type) {
    return body.add("Cast", {x}, {{"to", type}});
  };
  auto floats = [&](llvm::ArrayRef<float> values) {
    std::string name = body.integer(0); // A name that no other tensor has.
    node.setValue(name, node.numbers({1, static_cast<int64_t>(values.size())},
                                     values, "_numbers", TensorProto::FLOAT));
    return name;
  };
  std::string x = body.reshape(ofType(body.input(0), TensorProto::INT64), rows);
  int64_t skips = node.integer("max_skip_count", 0);
  std::string mode = node.string("mode", "");
  std::string result =
      body.add("Expand", {floats({0}), body.integers({rows[0], width})});
  for (const auto &[length, grams] : ngrams) {
    std::string counts;
    // Skips make no other windows of one element.
    for (int64_t step = 1; step <= (length == 1 ? 1 : skips + 1); ++step) {
      if (step * (length - 1) >= rows[1])
        break;
      std::string more = countWindows(body, x, rows, grams, length, step);
      counts = counts.empty() ? more : body.add("Add", {counts, more});
    }
    if (counts.empty())
      continue;
    if (mode == "IDF") // IDF counts an n-gram once.
      counts = body.add("Min", {counts, floats({1})});
    if (mode != "TF")
      counts = body.add("Mul", {counts, floats(grams.weights)});
    auto count = static_cast<int64_t>(grams.columns.size());
    std::string columns =
        body.add("Expand", {body.integers({1, count}, grams.columns),
                            body.integers({rows[0], count})});
    result =
        body.add("ScatterElements", {result, columns, counts},
                 {{"axis", int64_t{1}}, {"reduction", std::string("add")}});
  }
  return body.finish({body.reshape(result, resultShape)});
}

LogicalResult soap::onnx_import::importTfIdfVectorizer(NodeContext &node) {
  llvm::ArrayRef<int64_t> shape = node.shape(0);
  std::string mode = node.string("mode", "");
  int64_t least = node.integer("min_gram_length", 1);
  int64_t most = node.integer("max_gram_length", 1);
  int64_t skips = node.integer("max_skip_count", 0);
  if (shape.size() > 2 || (mode != "TF" && mode != "IDF" && mode != "TFIDF") ||
      least < 1 || most < least || skips < 0 ||
      skips > std::numeric_limits<int32_t>::max())
    return node.fail("expected rows of rank 2 or less, mode TF, IDF or TFIDF, "
                     "lengths from 1 and skips from 0, got: " +
                     toString(shape) + ", " + quoted(mode) + ", " +
                     llvm::Twine(least) + " to " + llvm::Twine(most) + ", " +
                     llvm::Twine(skips));
  if (node.hasAttribute("pool_strings"))
    return node.fail("expected a pool of integers, got: one of strings");
  auto columns = node.integers("ngram_indexes");
  if (!columns || columns->empty())
    return wrong(node);
  int64_t width = *llvm::max_element(*columns) + 1;
  SmallVector<float> weights(columns->size(), 1);
  if (const auto *given = node.find("weights"); given && given->floats_size())
    weights.assign(given->floats().begin(), given->floats().end());
  if (weights.size() != columns->size())
    return node.fail(
        "expected " + llvm::Twine(columns->size()) +
        " weights, one per n-gram, got: " + llvm::Twine(weights.size()));
  std::map<int64_t, Ngrams> ngrams;
  if (failed(readPool(node, least, most, weights, ngrams)))
    return failure();
  SmallVector<int64_t> rows = {shape.size() == 2 ? shape[0] : 1,
                               shape.empty() ? 1 : shape.back()};
  Shape resultShape = {width};
  if (shape.size() == 2)
    resultShape.insert(resultShape.begin(), rows[0]);
  if (!countElements(resultShape))
    return node.fail("expected a result within bounds, got: " +
                     toString(resultShape));
  if (rows[0] * rows[1] == 0) {
    node.setResult(0, HostTensor::zeros(TensorProto::FLOAT, resultShape));
    return success();
  }
  return importCounts(node, rows, width, ngrams, resultShape);
}
