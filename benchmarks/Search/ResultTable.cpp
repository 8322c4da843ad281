//===- ResultTable.cpp - Tables that benchmarks print ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ResultTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace soap;
namespace json = llvm::json;

ResultTable::ResultTable(llvm::raw_ostream &os, std::vector<Column> columns,
                         bool json)
    : os_(os), columns_(std::move(columns)), json_(json) {
  if (json_)
    return;
  for (Column &column : columns_) {
    column.width =
        std::max<unsigned>(column.width, llvm::StringRef(column.title).size());
    os_ << "| " << llvm::left_justify(column.title, column.width) << " ";
  }
  os_ << "|\n";
  for (size_t i = 0; i < columns_.size(); ++i)
    os_ << "|---";
  os_ << "|\n";
  os_.flush();
}

static std::string textOf(const json::Value &value, int decimals) {
  switch (value.kind()) {
  case json::Value::Null:
    return "-";
  case json::Value::Boolean:
    return *value.getAsBoolean() ? "yes" : "no";
  case json::Value::Number: {
    std::string text;
    llvm::raw_string_ostream(text)
        << llvm::format("%.*f", decimals, *value.getAsNumber());
    // Thousands are separated from four digits on, as in the documentation.
    size_t end = std::min(text.find('.'), text.size());
    for (size_t at = end; at > 3 + (text[0] == '-'); at -= 3)
      text.insert(at - 3, ",");
    return text;
  }
  default:
    return value.getAsString().value_or("").str();
  }
}

void ResultTable::addRow(json::Array row) {
  assert(row.size() == columns_.size() && "expected a value per column");
  if (json_) {
    json::Object object;
    for (auto [column, value] : llvm::zip_equal(columns_, row))
      object[column.key] = std::move(value);
    os_ << llvm::formatv("{0}\n", json::Value(std::move(object)));
    os_.flush();
    return;
  }
  for (auto [column, value] : llvm::zip_equal(columns_, row)) {
    std::string text = textOf(value, column.decimals);
    os_ << "| ";
    if (value.kind() == json::Value::Number)
      os_ << llvm::right_justify(text, column.width);
    else
      os_ << llvm::left_justify(text, column.width);
    os_ << " ";
  }
  os_ << "|\n";
  os_.flush();
}

double soap::quantile(std::vector<double> values, double share) {
  if (values.empty())
    return std::nan("");
  llvm::sort(values);
  double at = share * static_cast<double>(values.size() - 1);
  auto below = static_cast<size_t>(at);
  size_t above = std::min(below + 1, values.size() - 1);
  double part = at - static_cast<double>(below);
  // Without this, the infinite values of runs that never arrive give NaN.
  return part == 0 ? values[below]
                   : values[below] * (1 - part) + values[above] * part;
}
