//===- CellOptions.cpp - Models and machines of a benchmark ---------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CellOptions.h"
#include "soap/Topology/GeneratedTopologies.h"

using namespace soap;
namespace cl = llvm::cl;

CellOptions::CellOptions(cl::OptionCategory &category)
    : models_("models",
              cl::desc("Models to search for, required; FILE.mlir: "
                       "what soap-compile --emit=nn printed"),
              cl::value_desc("FILE.onnx[:BATCH[:UNROLL]]|FILE.mlir,..."),
              cl::CommaSeparated, cl::OneOrMore, cl::cat(category)),
      topologies_("topologies",
                  cl::desc("Machines, as soap-compile's --topology takes them; "
                           "K80 and P100 nodes have four devices (default: 4, "
                           "16 and 64 of each)"),
                  cl::value_desc("NAME[:KEY=VALUE],..."),
                  cl::init("p100:nodes=1,p100:nodes=4,p100:nodes=16,"
                           "k80:nodes=1,k80:nodes=4,k80:nodes=16"),
                  cl::cat(category)),
      json_("json", cl::desc("Print one JSON object per row"),
            cl::cat(category)) {}

llvm::Expected<std::vector<ModelSpec>> CellOptions::models() const {
  std::vector<ModelSpec> specs;
  for (const std::string &text : models_) {
    llvm::Expected<ModelSpec> spec = ModelSpec::parse(text);
    if (!spec)
      return spec.takeError();
    specs.push_back(std::move(*spec));
  }
  return specs;
}

llvm::Expected<std::vector<std::pair<std::string, Topology>>>
CellOptions::topologies() const {
  std::vector<std::pair<std::string, Topology>> topologies;
  for (std::string &text : splitTopologies(topologies_.getValue())) {
    llvm::Expected<Topology> topology = loadTopology(text);
    if (!topology)
      return topology.takeError();
    topologies.emplace_back(std::move(text), std::move(*topology));
  }
  return topologies;
}

int soap::fail(llvm::Error error) {
  llvm::errs() << "error: " << llvm::toString(std::move(error)) << "\n";
  return 2;
}
