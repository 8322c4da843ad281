//===- ResultTable.h - Tables that benchmarks print -------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_BENCHMARKS_SEARCH_RESULTTABLE_H
#define SOAP_BENCHMARKS_SEARCH_RESULTTABLE_H

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <vector>

namespace soap {

/// A table that is written row by row, so that nothing is lost when a long run
/// is interrupted: as Markdown, or as one JSON object per row.
class ResultTable {
public:
  struct Column {
    const char *key;   ///< In JSON, with the unit.
    const char *title; ///< In Markdown, with the unit.
    int decimals = 0;  ///< Of numbers in Markdown; JSON has all digits.
    unsigned width = 0;
  };

  ResultTable(llvm::raw_ostream &os, std::vector<Column> columns, bool json);

  /// One value per column: strings, numbers, booleans, or null for what there
  /// is not.
  void addRow(llvm::json::Array row);

private:
  llvm::raw_ostream &os_;
  std::vector<Column> columns_;
  bool json_;
};

/// The value with `share` of all values below it, 0.5 for the median; between
/// two values in proportion. NaN if there are none.
double quantile(std::vector<double> values, double share);

} // namespace soap

#endif // SOAP_BENCHMARKS_SEARCH_RESULTTABLE_H
