//===- NearestWords.cpp - Hints for misspelled words ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Support/NearestWords.h"
#include "llvm/ADT/STLExtras.h"
#include <vector>

using namespace soap;

std::string soap::nearestWords(llvm::StringRef word,
                               llvm::ArrayRef<llvm::StringRef> words) {
  // Near: a third of the letters may differ, or one contains the other.
  constexpr size_t most = 3;
  unsigned limit = std::max<size_t>(1, word.size() / 3);
  std::vector<std::pair<unsigned, size_t>> near;
  for (auto [index, other] : llvm::enumerate(words)) {
    unsigned distance = word.edit_distance_insensitive(
        other, /*AllowReplacements=*/true, /*MaxEditDistance=*/limit);
    if (distance <= limit)
      near.push_back({distance, index});
    else if (word.size() >= 3 && other.contains_insensitive(word))
      near.push_back({limit + 1, index});
  }
  llvm::sort(near);
  std::string hint;
  for (size_t i = 0; i < std::min(near.size(), most); ++i)
    hint +=
        (i ? " or '" : "; did you mean '") + words[near[i].second].str() + "'";
  return hint.empty() ? hint : hint + "?";
}
