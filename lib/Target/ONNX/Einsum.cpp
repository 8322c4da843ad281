//===- Einsum.cpp - Einsum as matrix products -------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operators.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace soap;
using namespace soap::onnx_import;

namespace {
/// A tensor whose dimensions have letters.
struct Term {
  Value value;
  std::string letters;

  int64_t sizeOf(char letter) const {
    return cast<RankedTensorType>(value.getType())
        .getDimSize(static_cast<unsigned>(letters.find(letter)));
  }
  bool has(char letter) const {
    return letters.find(letter) != std::string::npos;
  }
};

/// Normal form: every operand is transposed and reshaped to a matrix with batch
/// dimensions; letters that nobody else has are summed up first.
class EinsumImporter {
public:
  explicit EinsumImporter(NodeContext &node) : node_(node) {}
  LogicalResult run();

private:
  LogicalResult parse();
  std::string uniqueSuffix(llvm::StringRef what) {
    return ("_" + what + "_" + llvm::Twine(count_++)).str();
  }
  /// The letters of `term` that are in `others` or in the result.
  FailureOr<Term> withoutLonely(Term term, llvm::StringRef others);
  /// The elements whose indices of one letter agree, for letters that a term
  /// repeats.
  FailureOr<Term> diagonal(Term term);
  FailureOr<Term> transposed(Term term, llvm::StringRef letters);
  FailureOr<Term> multiply(Term a, Term b, llvm::StringRef later);
  int64_t sizeOf(char letter, llvm::ArrayRef<Term> of) const {
    // A dimension of size 1 broadcasts.
    int64_t size = 1;
    for (const Term &term : of)
      if (term.has(letter))
        size = std::max(size, term.sizeOf(letter));
    return size;
  }

  NodeContext &node_;
  SmallVector<Term> terms_;
  std::string result_;
  int count_ = 0;
};
} // namespace

/// Letters that no equation has stand for the dimensions of an ellipsis: digits
/// from the right.
static std::string expandEllipsis(llvm::StringRef text, size_t dims) {
  std::string digits;
  for (size_t i = dims; i != 0; --i)
    digits += static_cast<char>('0' + i - 1);
  size_t at = text.find("...");
  if (at == llvm::StringRef::npos)
    return text.str();
  return (text.take_front(at) + digits + text.drop_front(at + 3)).str();
}

/// Of an equation, or a digit of an ellipsis.
static bool isLetter(char letter) {
  return llvm::isAlpha(letter) || llvm::isDigit(letter);
}

LogicalResult EinsumImporter::parse() {
  std::string equation = node_.string("equation", "");
  llvm::erase_if(equation, [](char c) { return c == ' '; });
  auto wrong = [&] {
    return node_.fail("expected an equation with one term per operand, letters "
                      "once in the result, and sizes that agree, got: '" +
                      equation + "'");
  };
  auto [left, right] = llvm::StringRef(equation).split("->");
  bool isExplicit = llvm::StringRef(equation).contains("->");
  SmallVector<llvm::StringRef> texts;
  left.split(texts, ',');
  if (texts.size() != node_.numInputs())
    return wrong();
  size_t ellipsis = 0;
  std::string written; // The letters of all terms.
  for (auto [i, text] : llvm::enumerate(texts)) {
    size_t rank = node_.shape(i).size();
    bool dotted = text.contains("...");
    size_t letters = text.size() - (dotted ? 3 : 0);
    if (letters > rank || (!dotted && letters != rank) || rank - letters > 8)
      return wrong();
    ellipsis = std::max(ellipsis, rank - letters);
    auto value = node_.tensor(i, ElementTypes::Numbers);
    if (failed(value))
      return failure();
    Term term{*value, expandEllipsis(text, rank - letters)};
    if (!llvm::all_of(term.letters, isLetter))
      return wrong();
    for (auto [k, letter] : llvm::enumerate(term.letters))
      if (node_.shape(i)[k] != term.sizeOf(letter))
        return wrong();
    written += term.letters;
    auto once = diagonal(std::move(term));
    if (failed(once))
      return failure();
    terms_.push_back(*once);
  }
  std::string all;
  for (const Term &term : terms_)
    for (char letter : term.letters) {
      int64_t size = sizeOf(letter, terms_);
      if (term.sizeOf(letter) != size && term.sizeOf(letter) != 1)
        return wrong();
      all += letter;
    }
  if (isExplicit) {
    result_ = expandEllipsis(right, ellipsis);
  } else {
    // The ellipsis, then letters that occur once, in alphabetical order.
    result_ = expandEllipsis("...", ellipsis);
    std::string once;
    for (char letter : all)
      if (llvm::isAlpha(letter) && llvm::count(written, letter) == 1)
        once += letter;
    llvm::sort(once);
    result_ += once;
  }
  for (char letter : result_)
    if (llvm::count(result_, letter) != 1 ||
        all.find(letter) == std::string::npos)
      return wrong();
  return success();
}

FailureOr<Term> EinsumImporter::withoutLonely(Term term,
                                              llvm::StringRef others) {
  SmallVector<int64_t> axes;
  Shape shape;
  std::string kept;
  for (auto [i, letter] : llvm::enumerate(term.letters)) {
    if (!llvm::StringRef(result_).contains(letter) &&
        !others.contains(letter)) {
      axes.push_back(static_cast<int64_t>(i));
      continue;
    }
    shape.push_back(term.sizeOf(letter));
    kept += letter;
  }
  if (axes.empty())
    return term;
  auto kind = nn::ReduceKindAttr::get(node_.builder().getContext(),
                                      nn::ReduceKind::Sum);
  auto value = node_.create<nn::ReduceOp>(
      shape, term.value,
      {node_.attr("kind", kind), node_.attr("axes", axes),
       node_.attr("keepdims", Attribute(node_.builder().getBoolAttr(false)))},
      uniqueSuffix("sum"));
  if (failed(value))
    return failure();
  return Term{*value, kept};
}

FailureOr<Term> EinsumImporter::diagonal(Term term) {
  for (size_t i = 0; i != term.letters.size(); ++i) {
    char letter = term.letters[i];
    if (llvm::count(term.letters, letter) == 1)
      continue;
    // Its dimensions go to the end and become one, where the diagonal is every
    // (1 + n + n^2 + ..)-th element.
    int64_t size = term.sizeOf(letter), all = 1, step = 0;
    SmallVector<int64_t> permutation, last;
    Shape shape;
    std::string kept;
    for (auto [k, other] : llvm::enumerate(term.letters)) {
      if (other == letter) {
        last.push_back(static_cast<int64_t>(k));
        step += all;
        all *= size;
        continue;
      }
      permutation.push_back(static_cast<int64_t>(k));
      shape.push_back(term.sizeOf(other));
      kept += other;
    }
    llvm::append_range(permutation, last);
    Shape ordered(shape), flat(shape);
    ordered.append(last.size(), size);
    flat.push_back(all);
    shape.push_back(size);
    SmallVector<int64_t> starts(shape.size(), 0), steps(shape.size(), 1);
    steps.back() = step;
    auto value = node_.create<nn::TransposeOp>(
        ordered, term.value, {node_.attr("permutation", permutation)},
        uniqueSuffix("ordered"));
    if (succeeded(value))
      value = node_.reshape(*value, flat, uniqueSuffix("flat"));
    if (succeeded(value))
      value = node_.create<nn::SliceOp>(
          shape, *value,
          {node_.attr("starts", starts), node_.attr("steps", steps)},
          uniqueSuffix("diagonal"));
    if (failed(value))
      return failure();
    term = {*value, kept + letter};
    i = static_cast<size_t>(-1); // The letters have moved.
  }
  return term;
}

FailureOr<Term> EinsumImporter::transposed(Term term, llvm::StringRef letters) {
  if (term.letters == letters)
    return term;
  SmallVector<int64_t> permutation;
  Shape shape;
  for (char letter : letters) {
    permutation.push_back(static_cast<int64_t>(term.letters.find(letter)));
    shape.push_back(term.sizeOf(letter));
  }
  auto value = node_.create<nn::TransposeOp>(
      shape, term.value, {node_.attr("permutation", permutation)},
      uniqueSuffix("transposed"));
  if (failed(value))
    return failure();
  return Term{*value, letters.str()};
}

FailureOr<Term> EinsumImporter::multiply(Term a, Term b,
                                         llvm::StringRef later) {
  // A letter that is summed up and broadcast in one of them has a sum of its
  // own in each.
  auto without = [&](const Term &term, const Term &other) {
    std::string letters;
    for (char letter : term.letters)
      if (!other.has(letter) || later.contains(letter) ||
          llvm::StringRef(result_).contains(letter) ||
          term.sizeOf(letter) == other.sizeOf(letter))
        letters += letter;
    return letters;
  };
  auto first = withoutLonely(a, without(b, a) + later.str());
  auto second = withoutLonely(b, without(a, b) + later.str());
  if (failed(first) || failed(second))
    return failure();
  a = *first;
  b = *second;
  // Letters of both that stay, of one alone, of both that are summed up.
  std::string batch, rows, columns, inner;
  for (char letter : a.letters) {
    bool stays =
        llvm::StringRef(result_).contains(letter) || later.contains(letter);
    (!b.has(letter) ? rows : stays ? batch : inner) += letter;
  }
  for (char letter : b.letters)
    if (!a.has(letter))
      columns += letter;
  auto left = transposed(a, batch + rows + inner);
  auto right = transposed(b, batch + inner + columns);
  if (failed(left) || failed(right))
    return failure();
  // Batch dimensions stay apart, so that each of them can be split.
  auto product = [](const Term &term, llvm::StringRef letters) {
    int64_t size = 1;
    for (char letter : letters)
      size *= term.sizeOf(letter);
    return size;
  };
  Shape leftShape, rightShape, shape, full;
  for (char letter : batch) {
    leftShape.push_back(left->sizeOf(letter));
    rightShape.push_back(right->sizeOf(letter));
    shape.push_back(std::max(leftShape.back(), rightShape.back()));
  }
  full = shape;
  leftShape.append({product(*left, rows), product(*left, inner)});
  rightShape.append({product(*right, inner), product(*right, columns)});
  shape.append({product(*left, rows), product(*right, columns)});
  for (char letter : rows)
    full.push_back(left->sizeOf(letter));
  for (char letter : columns)
    full.push_back(right->sizeOf(letter));
  if (std::max(shape.size(), full.size()) > static_cast<size_t>(nn::maxRank))
    return node_.fail("expected a product of rank 8 or less, got: " +
                      toString(full));
  auto x = node_.reshape(left->value, leftShape, uniqueSuffix("a"));
  auto y = node_.reshape(right->value, rightShape, uniqueSuffix("b"));
  if (failed(x) || failed(y))
    return failure();
  auto value =
      node_.create<nn::MatMulOp>(shape, {*x, *y}, {}, uniqueSuffix("product"));
  if (succeeded(value))
    value = node_.reshape(*value, full, uniqueSuffix("full"));
  if (failed(value))
    return failure();
  return Term{*value, batch + rows + columns};
}

LogicalResult EinsumImporter::run() {
  if (failed(parse()))
    return failure();
  Term joined = terms_.front();
  for (size_t i = 1; i != terms_.size(); ++i) {
    std::string later;
    for (const Term &term : llvm::ArrayRef(terms_).drop_front(i + 1))
      later += term.letters;
    auto next = multiply(joined, terms_[i], later);
    if (failed(next))
      return failure();
    joined = *next;
  }
  auto reduced = withoutLonely(joined, "");
  if (failed(reduced))
    return failure();
  auto ordered = transposed(*reduced, result_);
  if (failed(ordered))
    return failure();
  node_.setResult(0, ordered->value);
  return success();
}

LogicalResult soap::onnx_import::importEinsum(NodeContext &node) {
  return EinsumImporter(node).run();
}
