//===- MinSum.cpp - The least sum of costs of pairs -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MinSum.h"
#include "TimeArrays.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cassert>
#include <deque>

using namespace soap;
using namespace soap::detail;
using llvm::ArrayRef;
using llvm::SmallVector;

int32_t MinSum::addVariable(std::vector<int64_t> costs) {
  assert(!costs.empty() && "expected a choice");
  own_.push_back(std::move(costs));
  edgesAt_.emplace_back();
  return numVariables() - 1;
}

void MinSum::addPair(int32_t a, int32_t b, ArrayRef<int64_t> costs) {
  assert(a != b && "expected two variables");
  auto rows = static_cast<size_t>(numChoices(a)),
       columns = static_cast<size_t>(numChoices(b));
  assert(costs.size() == rows * columns && "expected a cost per pair");
  auto [it, isNew] = edgeOf_.try_emplace(std::minmax(a, b), edges_.size());
  if (isNew) {
    edgesAt_[a].push_back(edges_.size());
    edgesAt_[b].push_back(edges_.size());
    edges_.push_back({std::min(a, b), std::max(a, b),
                      std::vector<int64_t>(rows * columns, 0)});
  }
  std::vector<int64_t> &table = edges_[it->second].costs;
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j)
      table[a < b ? i * columns + j : j * rows + i] += costs[i * columns + j];
}

int64_t MinSum::sumOf(ArrayRef<int32_t> choices) const {
  int64_t sum = 0;
  for (auto [costs, choice] : llvm::zip_equal(own_, choices))
    sum += costs[choice];
  for (size_t edge = 0; edge < edges_.size(); ++edge)
    sum += pairCost(static_cast<int32_t>(edge), choices);
  return sum;
}

namespace {
/// Costs of the combinations of choices of some variables, the last of which
/// turns fastest.
struct Table {
  SmallVector<int32_t, 4> variables; ///< Ascending.
  std::vector<int64_t> costs;
};

/// What remains to be known of a variable that was eliminated: the tables that
/// know it, in which it turns fastest. Its best choice follows from them when
/// the choices of its neighbours are known.
struct Eliminated {
  int32_t variable;
  SmallVector<int32_t, 4> neighbours;
  std::deque<Table> tables;
};

/// The variables that are left, and tables over them.
class Elimination {
public:
  explicit Elimination(ArrayRef<std::vector<int64_t>> own)
      : own_(own), neighbours_(own.size()), tablesAt_(own.size()),
        isLeft_(own.size(), true) {}

  void add(Table table) {
    for (int32_t a : table.variables) {
      tablesAt_[a].push_back(tables_.size());
      for (int32_t b : table.variables)
        if (a != b && !llvm::is_contained(neighbours_[a], b))
          neighbours_[a].push_back(b);
    }
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
    double least = 0;
    for (int32_t variable = 0, end = static_cast<int32_t>(own_.size());
         variable < end; ++variable) {
      if (!isLeft_[variable])
        continue;
      double product = combinations(variable);
      if (best < 0 || product < least) {
        best = variable;
        least = product;
      }
    }
    return best;
  }
  Eliminated eliminate(int32_t variable);
  /// The best choice of a variable behind those of its neighbours; the first of
  /// several.
  int32_t best(const Eliminated &entry, ArrayRef<int32_t> choices) const;

private:
  Table turned(Table table, int32_t variable) const;
  size_t strideOf(const Table &table, int32_t variable) const;
  Table leastOver(const Eliminated &entry) const;

  ArrayRef<std::vector<int64_t>> own_;
  std::vector<SmallVector<int32_t, 4>> neighbours_;
  std::deque<Table> tables_;
  std::vector<SmallVector<size_t, 4>> tablesAt_; ///< Per variable that is left.
  std::vector<bool> isLeft_;
};
} // namespace

/// How far a table moves on when a variable's choice does; 0 if it does not
/// know the variable.
size_t Elimination::strideOf(const Table &table, int32_t variable) const {
  if (!llvm::is_contained(table.variables, variable))
    return 0;
  size_t stride = 1;
  for (int32_t other : llvm::reverse(table.variables)) {
    if (other == variable)
      break;
    stride *= own_[other].size();
  }
  return stride;
}

/// The same table, in which `variable` turns fastest.
Table Elimination::turned(Table table, int32_t variable) const {
  if (table.variables.back() == variable)
    return table;
  size_t inner = strideOf(table, variable), size = own_[variable].size();
  Table result;
  for (int32_t other : table.variables)
    if (other != variable)
      result.variables.push_back(other);
  result.variables.push_back(variable);
  result.costs.resize(table.costs.size());
  int64_t *next = result.costs.data();
  for (size_t outer = 0; outer < table.costs.size(); outer += inner * size)
    for (size_t i = 0; i < inner; ++i)
      for (size_t choice = 0; choice < size; ++choice)
        *next++ = table.costs[outer + choice * inner + i];
  return result;
}

Eliminated Elimination::eliminate(int32_t variable) {
  llvm::sort(neighbours_[variable]);
  Eliminated result{variable, std::move(neighbours_[variable]), {}};
  ArrayRef<int32_t> neighbours = result.neighbours;
  for (size_t number : tablesAt_[variable]) {
    for (int32_t other : tables_[number].variables)
      if (other != variable)
        llvm::erase(tablesAt_[other], number);
    result.tables.push_back(turned(std::move(tables_[number]), variable));
    tables_[number] = {};
  }
  if (!neighbours.empty())
    add(leastOver(result));
  for (int32_t other : neighbours)
    llvm::erase(neighbours_[other], variable);
  isLeft_[variable] = false;
  return result;
}

/// What the variable adds at best, per combination of choices of its
/// neighbours, of which there are some.
Table Elimination::leastOver(const Eliminated &entry) const {
  ArrayRef<int32_t> outer(entry.neighbours);
  int32_t inner = outer.back(); // Turns fastest.
  outer = outer.drop_back();
  const std::vector<int64_t> &own = own_[entry.variable];
  size_t numChoices = own.size(), numInner = own_[inner].size();
  // Tables that the innermost neighbour does not turn count once for all of its
  // choices.
  SmallVector<const Table *, 4> fixed, turning;
  for (const Table &table : entry.tables)
    (strideOf(table, inner) == 0 ? fixed : turning).push_back(&table);

  Table sums;
  sums.variables.assign(entry.neighbours.begin(), entry.neighbours.end());
  size_t size = numInner;
  for (int32_t other : outer)
    size *= own_[other].size();
  sums.costs.resize(size);
  SmallVector<size_t, 4> choices(outer.size(), 0);
  auto begin = [&](const Table &table) {
    size_t at = 0;
    for (auto [other, choice] : llvm::zip_equal(outer, choices))
      at += strideOf(table, other) * choice;
    return table.costs.data() + at;
  };
  std::vector<int64_t> base, all;
  for (size_t entryBegin = 0; entryBegin < size; entryBegin += numInner) {
    base = own;
    for (const Table *table : fixed)
      addTo(base.data(), begin(*table), numChoices);
    // Of the others there is one at least; their rows are added up first.
    const int64_t *rows = begin(*turning.front());
    size_t stride = strideOf(*turning.front(), inner);
    if (turning.size() > 1) {
      all.resize(numInner * numChoices);
      for (size_t row = 0; row < numInner; ++row) {
        std::copy_n(rows + row * stride, numChoices,
                    all.data() + row * numChoices);
        for (const Table *table : ArrayRef(turning).drop_front())
          addTo(all.data() + row * numChoices,
                begin(*table) + row * strideOf(*table, inner), numChoices);
      }
      rows = all.data();
      stride = numChoices;
    }
    leastSums(base.data(), rows, stride, numChoices,
              sums.costs.data() + entryBegin, numInner);
    for (size_t place = outer.size(); place-- != 0;) {
      if (++choices[place] != own_[outer[place]].size())
        break;
      choices[place] = 0;
    }
  }
  return sums;
}

int32_t Elimination::best(const Eliminated &entry,
                          ArrayRef<int32_t> choices) const {
  std::vector<int64_t> costs = own_[entry.variable];
  for (const Table &table : entry.tables) {
    size_t at = 0;
    for (int32_t other : entry.neighbours)
      at += strideOf(table, other) * choices[other];
    addTo(costs.data(), table.costs.data() + at, costs.size());
  }
  return static_cast<int32_t>(std::min_element(costs.begin(), costs.end()) -
                              costs.begin());
}

/// Eliminates all variables.
static MinSum::Result eliminateAll(Elimination &elimination,
                                   ArrayRef<std::vector<int64_t>> own,
                                   double mostCombinations,
                                   llvm::function_ref<bool()> stop) {
  MinSum::Result result;
  std::vector<Eliminated> eliminated;
  for (size_t left = own.size(); left > 0; --left) {
    if (stop()) {
      result.end = MinSum::End::Stopped;
      return result;
    }
    int32_t variable = elimination.cheapest();
    result.combinations = elimination.combinations(variable);
    if (result.combinations > mostCombinations) {
      result.end = MinSum::End::TooLarge;
      return result;
    }
    eliminated.push_back(elimination.eliminate(variable));
  }
  // What was eliminated last depends on nothing.
  result.choices.resize(own.size());
  for (const Eliminated &entry : llvm::reverse(eliminated))
    result.choices[entry.variable] = elimination.best(entry, result.choices);
  return result;
}

MinSum::Result MinSum::minimise(double mostCombinations,
                                llvm::function_ref<bool()> stop) const {
  Elimination elimination(own_);
  for (const Edge &edge : edges_)
    elimination.add({{edge.a, edge.b}, edge.costs});
  Result result = eliminateAll(elimination, own_, mostCombinations, stop);
  if (result.end == End::Done)
    result.sum = sumOf(result.choices);
  return result;
}

MinSum::Result MinSum::minimise(Part part, double mostCombinations) const {
  std::vector<int32_t> places(own_.size(), -1);
  for (auto [place, variable] : llvm::enumerate(part.variables))
    places[variable] = static_cast<int32_t>(place);
  std::vector<Table> tables;
  for (auto [place, variable] : llvm::enumerate(part.variables))
    for (size_t number : edgesAt_[variable]) {
      const Edge &edge = edges_[number];
      double factor =
          part.pairFactor * (part.shares.empty() ? 1 : part.shares[number]);
      auto count = [factor](int64_t cost) {
        return static_cast<int64_t>(static_cast<double>(cost) * factor);
      };
      int32_t other = edge.a == variable ? edge.b : edge.a;
      if (places[other] < 0) {
        int32_t choice = part.fixed(other);
        if (choice < 0)
          continue;
        // A column or a row of the edge's costs.
        size_t step = edge.a == variable ? own_[edge.b].size() : 1;
        size_t begin = choice * (edge.a == variable ? 1 : own_[edge.b].size());
        for (auto [index, cost] : llvm::enumerate(part.own[place]))
          cost += count(edge.costs[begin + index * step]);
        continue;
      }
      if (edge.a != variable)
        continue; // Seen from the other side.
      Table table;
      int32_t from = places[edge.a], to = places[edge.b];
      table.variables = {std::min(from, to), std::max(from, to)};
      table.costs.reserve(edge.costs.size());
      size_t rows = own_[edge.a].size(), columns = own_[edge.b].size();
      if (from < to)
        for (int64_t cost : edge.costs)
          table.costs.push_back(count(cost));
      else
        for (size_t column = 0; column < columns; ++column)
          for (size_t row = 0; row < rows; ++row)
            table.costs.push_back(count(edge.costs[row * columns + column]));
      tables.push_back(std::move(table));
    }
  Elimination elimination(part.own);
  for (Table &table : tables)
    elimination.add(std::move(table));
  return eliminateAll(elimination, part.own, mostCombinations,
                      [] { return false; });
}
