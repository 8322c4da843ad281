//===- Aim.cpp - Strategies that split a given loop -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Aim.h"

using namespace soap;

int32_t property::degreeThatCuts(int64_t extent, bool equally) {
  for (auto degree = static_cast<int32_t>(std::min<int64_t>(extent, 8));
       degree > 1; --degree)
    if ((extent % degree == 0) == equally)
      return degree;
  return 0;
}

llvm::Error property::aimStrategy(Strategy &strategy,
                                  const llvm::json::Object &aim,
                                  const OperatorGraph &graph, int32_t devices) {
  llvm::StringRef op = aim.getString("op").value_or("");
  llvm::StringRef name = aim.getString("loop").value_or("");
  bool even = aim.getBoolean("even").value_or(true);
  for (int32_t id = 0; id < graph.numNodes(); ++id) {
    const GraphNode &node = graph.node(id);
    int loop = node.spec.findLoop(name);
    if (node.role != NodeRole::Compute || node.op != op || loop < 0)
      continue;
    int32_t degree = degreeThatCuts(node.spec.loops[loop].extent, even);
    if (degree == 0)
      continue;
    Configuration &config = strategy.configs[id];
    config.degrees.loops.assign(node.spec.loops.size(), 1);
    config.degrees.loops[loop] = degree;
    config.degrees.replicate = 1;
    config.devices.clear();
    for (int32_t task = 0; task < degree; ++task)
      config.devices.push_back((id + task) % devices);
    return llvm::Error::success();
  }
  return llvm::createStringError("expected a node of " + op +
                                 " with a loop that can be split, got: no " +
                                 name);
}
