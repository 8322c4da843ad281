//===- StrategyReport.cpp - Tables of strategies --------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/LaunchPolicy.h"
#include "soap/Transforms/StrategyIR.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace soap {

static std::string degreesText(const GraphNode &node,
                               const Configuration &config) {
  std::string text;
  raw_string_ostream os(text);
  ListSeparator separator(" ");
  for (auto [loop, degree] : zip(node.spec.loops, config.degrees.loops))
    if (degree > 1)
      os << separator << loop.name << '=' << degree;
  if (config.degrees.replicate > 1)
    os << separator << "replicate=" << config.degrees.replicate;
  return text.empty() ? "-" : os.str();
}

/// `0-3`, `0,2`: runs of three or more devices are shortened.
static std::string devicesText(ArrayRef<int32_t> devices) {
  std::string text;
  raw_string_ostream os(text);
  ListSeparator separator(",");
  for (size_t begin = 0, end; begin < devices.size(); begin = end) {
    end = begin + 1;
    while (end < devices.size() && devices[end] == devices[end - 1] + 1)
      ++end;
    if (end - begin > 2) {
      os << separator << devices[begin] << '-' << devices[end - 1];
      continue;
    }
    end = begin + 1;
    os << separator << devices[begin];
  }
  return os.str();
}

void printStrategy(raw_ostream &os, const ModuleProblem &problem,
                   const Strategy &strategy) {
  const OperatorGraph &graph = problem.extracted.graph;
  TaskGraph tasks(problem.get());
  tasks.setStrategy(strategy);
  size_t nameWidth = 4, degreesWidth = 7;
  for (int32_t id : tasks.order()) {
    if (graph.node(id).role != NodeRole::Compute)
      continue;
    nameWidth = std::max(nameWidth, graph.node(id).name.size());
    degreesWidth = std::max(
        degreesWidth, degreesText(graph.node(id), strategy.configs[id]).size());
  }
  os << left_justify("op", nameWidth) << "  " << left_justify("kind", 14)
     << "  " << left_justify("degrees", degreesWidth) << "  "
     << left_justify("devices", 12) << right_justify("simulated us", 14)
     << right_justify("bytes sent", 14) << '\n';
  for (int32_t id : tasks.order()) {
    const GraphNode &node = graph.node(id);
    if (node.role != NodeRole::Compute)
      continue;
    const Configuration &config = strategy.configs[id];
    int64_t sent = 0;
    for (int32_t value : node.results)
      sent += tasks.valueTasks(value).stepBytes;
    os << left_justify(node.name, nameWidth) << "  "
       << left_justify(node.op, 14) << "  "
       << left_justify(degreesText(node, config), degreesWidth) << "  "
       << left_justify(devicesText(config.devices), 12)
       << right_justify(formatv("{0:f1}", tasks.nodeNs(id) / 1e3).str(), 14)
       << right_justify(std::to_string(sent), 14) << '\n';
  }
  os << "simulated step time: "
     << formatv("{0:f3}", FullSimulator(tasks).stepNs() / 1e6) << " ms\n";
  os << "by launch order: ";
  interleaveComma(simulatePolicies(problem.get(), strategy), os,
                  [&](const PolicyTime &time) {
                    os << time.policy
                       << formatv(" {0:f3} ms", time.stepNs / 1e6);
                  });
  os << '\n';
}

void printReport(raw_ostream &os, ArrayRef<StrategyReport> reports,
                 const LowerBound &bound, StringRef chosen) {
  bool evaluates = llvm::any_of(
      reports, [](const auto &row) { return row.evaluationNs != 0; });
  os << left_justify("strategy", 18) << right_justify("step ms", 12)
     << right_justify("compute ms", 12) << right_justify("moving ms", 12)
     << right_justify("moved MB", 12) << right_justify("peak MiB", 12)
     << right_justify("idle %", 10)
     << (evaluates ? right_justify("eval ms", 12) : right_justify("", 0))
     << "   (simulated)\n";
  auto cell = [](double value) { return formatv("{0:f3}", value).str(); };
  for (const StrategyReport &row : reports) {
    os << left_justify(row.name, 18)
       << right_justify(cell(row.stepNs / 1e6), 12);
    if (!row.isExact) {
      os << "   at least: too many transfers to be planned\n";
      continue;
    }
    os << right_justify(cell(row.computeNs / 1e6), 12)
       << right_justify(cell(row.communicationNs / 1e6), 12)
       << right_justify(cell(row.communicationBytes / 1e6), 12)
       << right_justify(cell(row.peakMemoryBytes / 1048576.0), 12)
       << right_justify(formatv("{0:f1}", row.idleShare * 100).str(), 10);
    if (evaluates)
      os << right_justify(cell(row.evaluationNs / 1e6), 12);
    os << (row.fits ? "" : "   does not fit into memory");
    if (row.numRepeated)
      os << formatv("   {0} {1} made again: {2:f1} MiB less, {3:f3} ms more",
                    row.numRepeated,
                    row.numRepeated == 1 ? "operation" : "operations",
                    row.savedBytes / 1048576.0, row.addedNs / 1e6);
    os << '\n';
  }
  os << left_justify("lower bound", 18)
     << right_justify(cell(bound.stepNs / 1e6), 12);
  for (const StrategyReport &row : reports)
    if (row.name == chosen)
      os << formatv("   {0} takes {1:f1}% longer", row.name,
                    bound.gap(row.stepNs) * 100);
  os << '\n';
}

json::Object reportJSON(ArrayRef<StrategyReport> reports,
                        const LowerBound &bound) {
  json::Array rows;
  for (const StrategyReport &row : reports) {
    if (!row.isExact) {
      rows.push_back(
          json::Object{{"name", row.name}, {"at_least_step_ns", row.stepNs}});
      continue;
    }
    json::Object entry =
        json::Object{{"name", row.name},
                     {"step_ns", row.stepNs},
                     {"compute_ns", row.computeNs},
                     {"mean_compute_ns", row.meanComputeNs},
                     {"communication_ns", row.communicationNs},
                     {"communication_bytes", row.communicationBytes},
                     {"peak_memory_bytes", row.peakMemoryBytes},
                     {"idle_share", row.idleShare},
                     {"fits", row.fits},
                     {"gap", bound.gap(row.stepNs)}};
    if (row.evaluationNs)
      entry["evaluation_ns"] = row.evaluationNs;
    if (row.numRepeated)
      entry["recomputation"] = json::Object{{"operations", row.numRepeated},
                                            {"saved_bytes", row.savedBytes},
                                            {"added_ns", row.addedNs}};
    rows.push_back(std::move(entry));
  }
  return json::Object{
      {"strategies", std::move(rows)},
      {"lower_bound", json::Object{{"step_ns", bound.stepNs},
                                   {"work_ns", bound.workNs},
                                   {"path_ns", bound.pathNs},
                                   {"communication_ns", bound.communicationNs},
                                   {"mixed_ns", bound.mixedNs}}}};
}

} // namespace soap
