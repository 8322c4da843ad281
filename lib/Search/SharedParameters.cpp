//===- SharedParameters.cpp - Operations with the same weights ------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedParameters.h"
#include "Followers.h"
#include <set>

using namespace soap;
using namespace soap::detail;

SharedParameters::SharedParameters(const OperatorGraph &graph) {
  Followers followers(graph);
  std::set<std::vector<int32_t>> known;
  for (const GraphNode &parameter : graph.nodes()) {
    if (parameter.role != NodeRole::Parameter)
      continue;
    std::set<int32_t> groups;
    std::vector<int32_t> values(parameter.results.begin(),
                                parameter.results.end());
    while (!values.empty()) {
      int32_t value = values.back();
      values.pop_back();
      for (const GraphValue::Use &use : graph.value(value).uses) {
        const GraphNode &reader = graph.node(use.node);
        if (followers.isPreparation(use.node))
          values.insert(values.end(), reader.results.begin(),
                        reader.results.end());
        else if (reader.role == NodeRole::Compute)
          groups.insert(reader.group);
      }
    }
    std::vector<int32_t> readers(groups.begin(), groups.end());
    if (readers.size() > 1 && known.insert(readers).second)
      readers_.push_back(std::move(readers));
  }
}
