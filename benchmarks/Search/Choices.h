//===- Choices.h - Options with a list of choices ---------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_BENCHMARKS_SEARCH_CHOICES_H
#define SOAP_BENCHMARKS_SEARCH_CHOICES_H

#include "llvm/Support/CommandLine.h"

namespace soap {

/// What a list of choices means that is not given.
template <typename T>
void setDefault(llvm::cl::list<T> &list, std::initializer_list<T> values) {
  if (list.empty())
    for (T value : values)
      list.push_back(value);
}

/// What an option calls one of its values.
template <typename T>
llvm::StringRef nameOf(llvm::cl::list<T> &list, T value) {
  auto &parser = list.getParser();
  for (unsigned i = 0; i < parser.getNumOptions(); ++i)
    if (static_cast<const llvm::cl::OptionValue<T> &>(parser.getOptionValue(i))
            .getValue() == value)
      return parser.getOption(i);
  return "";
}

} // namespace soap

#endif // SOAP_BENCHMARKS_SEARCH_CHOICES_H
