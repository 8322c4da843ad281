//===- MinSum.cpp - The least sum of costs of pairs -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MinSum.h"
#include "llvm/ADT/STLExtras.h"
#include <cassert>
#include <set>

using namespace soap;
using namespace soap::detail;
using llvm::ArrayRef;
using llvm::SmallVector;

int32_t MinSum::addVariable(std::vector<int64_t> costs) {
  assert(!costs.empty() && "expected a choice");
  own_.push_back(std::move(costs));
  return numVariables() - 1;
}

void MinSum::addPair(int32_t a, int32_t b, ArrayRef<int64_t> costs) {
  assert(a != b && "expected two variables");
  auto rows = static_cast<size_t>(numChoices(a)),
       columns = static_cast<size_t>(numChoices(b));
  assert(costs.size() == rows * columns && "expected a cost per pair");
  std::vector<int64_t> &table = pairs_[std::minmax(a, b)];
  table.resize(rows * columns, 0);
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j)
      table[a < b ? i * columns + j : j * rows + i] += costs[i * columns + j];
}

int64_t MinSum::sumOf(ArrayRef<int32_t> choices) const {
  int64_t sum = 0;
  for (auto [costs, choice] : llvm::zip_equal(own_, choices))
    sum += costs[choice];
  for (const auto &[edge, costs] : pairs_)
    sum += costs[static_cast<size_t>(choices[edge.first]) *
                     numChoices(edge.second) +
                 choices[edge.second]];
  return sum;
}

namespace {
/// Costs of the combinations of choices of some variables, the last of which
/// turns fastest.
struct Table {
  SmallVector<int32_t, 4> variables; ///< Ascending.
  std::vector<int64_t> costs;
};

/// What remains to be known of a variable that was eliminated: its best choice
/// for every combination of choices of its neighbours.
struct Eliminated {
  int32_t variable;
  SmallVector<int32_t, 4> neighbours;
  std::vector<int32_t> best;
};

/// The variables that are left, and tables over them.
class Elimination {
public:
  explicit Elimination(ArrayRef<std::vector<int64_t>> own)
      : own_(own), neighbours_(own.size()), isLeft_(own.size(), true) {}

  void add(Table table) {
    for (int32_t a : table.variables)
      for (int32_t b : table.variables)
        if (a != b)
          neighbours_[a].insert(b);
    tables_.push_back(std::move(table));
  }

  /// The combinations that eliminating a variable looks at.
  double combinations(int32_t variable) const {
    double product = static_cast<double>(own_[variable].size());
    for (int32_t other : neighbours_[variable])
      product *= static_cast<double>(own_[other].size());
    return product;
  }
  /// The variable that is eliminated with the fewest, the first of several.
  int32_t cheapest() const {
    int32_t best = -1;
    for (size_t variable = 0; variable < own_.size(); ++variable)
      if (isLeft_[variable] &&
          (best < 0 ||
           combinations(static_cast<int32_t>(variable)) < combinations(best)))
        best = static_cast<int32_t>(variable);
    return best;
  }
  Eliminated eliminate(int32_t variable);

private:
  ArrayRef<std::vector<int64_t>> own_;
  std::vector<std::set<int32_t>> neighbours_;
  std::vector<bool> isLeft_;
  std::vector<Table> tables_;
};
} // namespace

/// How far a table moves on when a variable's choice does; 0 if it does not
/// know the variable.
static size_t strideOf(const Table &table, int32_t variable,
                       ArrayRef<std::vector<int64_t>> own) {
  if (!llvm::is_contained(table.variables, variable))
    return 0;
  size_t stride = 1;
  for (int32_t other : llvm::reverse(table.variables)) {
    if (other == variable)
      break;
    stride *= own[other].size();
  }
  return stride;
}

Eliminated Elimination::eliminate(int32_t variable) {
  Eliminated result{
      variable,
      {neighbours_[variable].begin(), neighbours_[variable].end()},
      {}};
  ArrayRef<int32_t> neighbours = result.neighbours;
  SmallVector<Table, 4> own;
  std::vector<Table> others;
  for (Table &table : tables_)
    if (llvm::is_contained(table.variables, variable))
      own.push_back(std::move(table));
    else
      others.push_back(std::move(table));
  tables_ = std::move(others);
  // Per table: how far the choices of neighbours and of the variable move it.
  SmallVector<SmallVector<size_t, 4>, 4> strides;
  SmallVector<size_t, 4> steps, at(own.size(), 0);
  for (const Table &table : own) {
    auto &row = strides.emplace_back();
    for (int32_t other : neighbours)
      row.push_back(strideOf(table, other, own_));
    steps.push_back(strideOf(table, variable, own_));
  }

  Table sums;
  sums.variables.assign(neighbours.begin(), neighbours.end());
  size_t size = 1;
  for (int32_t other : neighbours)
    size *= own_[other].size();
  result.best.reserve(size);
  sums.costs.reserve(size);
  SmallVector<size_t, 4> choices(neighbours.size(), 0);
  std::vector<int64_t> costs;
  for (size_t entry = 0; entry < size; ++entry) {
    costs = own_[variable];
    for (auto [table, begin, step] : llvm::zip_equal(own, at, steps))
      for (size_t choice = 0; choice < costs.size(); ++choice)
        costs[choice] += table.costs[begin + choice * step];
    auto best = llvm::min_element(costs);
    result.best.push_back(static_cast<int32_t>(best - costs.begin()));
    sums.costs.push_back(*best);
    // The next combination; the last neighbour turns fastest.
    for (size_t place = neighbours.size(); place-- != 0;) {
      bool turns = ++choices[place] == own_[neighbours[place]].size();
      for (size_t table = 0; table < own.size(); ++table)
        at[table] += strides[table][place];
      if (!turns)
        break;
      for (size_t table = 0; table < own.size(); ++table)
        at[table] -= strides[table][place] * choices[place];
      choices[place] = 0;
    }
  }
  for (int32_t other : neighbours)
    neighbours_[other].erase(variable);
  isLeft_[variable] = false;
  if (!neighbours.empty())
    add(std::move(sums));
  return result;
}

MinSum::Result MinSum::minimise(double mostCombinations,
                                llvm::function_ref<bool()> stop) const {
  Elimination elimination(own_);
  for (const auto &[edge, costs] : pairs_)
    elimination.add({{edge.first, edge.second}, costs});
  Result result;
  std::vector<Eliminated> eliminated;
  for (int32_t left = numVariables(); left > 0; --left) {
    if (stop()) {
      result.end = End::Stopped;
      return result;
    }
    int32_t variable = elimination.cheapest();
    result.combinations = elimination.combinations(variable);
    if (result.combinations > mostCombinations) {
      result.end = End::TooLarge;
      return result;
    }
    eliminated.push_back(elimination.eliminate(variable));
  }
  // What was eliminated last depends on nothing.
  result.choices.resize(numVariables());
  for (const Eliminated &entry : llvm::reverse(eliminated)) {
    size_t index = 0;
    for (int32_t other : entry.neighbours)
      index = index * own_[other].size() + result.choices[other];
    result.choices[entry.variable] = entry.best[index];
  }
  result.sum = sumOf(result.choices);
  return result;
}
