//===- ProposalMix.cpp - Kinds of proposals, and how often each comes -----===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DegreesCosts.h"
#include "Hashing.h"
#include "Proposals.h"
#include "ValueClasses.h"
#include "llvm/ADT/DenseMap.h"

using namespace soap;
using namespace soap::detail;

llvm::StringRef soap::stringify(ProposalKind kind) {
  switch (kind) {
  case ProposalKind::Uniform:
    return "uniform";
  case ProposalKind::Grid:
    return "grid";
  case ProposalKind::Adopt:
    return "adopt";
  case ProposalKind::Stretch:
    return "stretch";
  case ProposalKind::Repeat:
    return "repeat";
  case ProposalKind::Resize:
    return "resize";
  case ProposalKind::Shift:
    return "shift";
  case ProposalKind::Lanes:
    return "lanes";
  case ProposalKind::Cross:
    return "cross";
  case ProposalKind::Sums:
    return "sums";
  case ProposalKind::Updates:
    return "updates";
  }
  return "";
}

ProposalKind ProposalMix::draw(Random &random) const {
  double sum = 0;
  for (double weight : weights_)
    sum += weight;
  double at = random.uniform() * sum;
  for (size_t kind = 0; kind + 1 < numKinds_; ++kind) {
    if (at < weights_[kind])
      return static_cast<ProposalKind>(kind);
    at -= weights_[kind];
  }
  return static_cast<ProposalKind>(numKinds_ - 1);
}

void ProposalMix::adapt() {
  // What a proposal of each kind gained, and how often it was taken.
  std::array<double, numProposalKinds> gain{}, taken{};
  double gains = 0, takes = 0;
  for (size_t kind = 0; kind < numKinds_; ++kind) {
    const Tally &tally = tallies_[kind];
    gain[kind] = tally.gain / (tally.proposals + 16);
    taken[kind] = tally.accepted / (tally.proposals + 16);
    gains += gain[kind];
    takes += taken[kind];
  }
  auto count = static_cast<double>(numKinds_);
  // No kind dies out: what gains nothing now may do so later.
  for (size_t kind = 0; kind < numKinds_; ++kind)
    weights_[kind] = 0.4 / count +
                     0.4 * (gains > 0 ? gain[kind] / gains : 1.0 / count) +
                     0.2 * (takes > 0 ? taken[kind] / takes : 1.0 / count);
  // These take several times as long as others.
  weights_[static_cast<size_t>(ProposalKind::Sums)] /= sumsCost;
  for (Tally &tally : tallies_) {
    tally.proposals /= 2;
    tally.accepted /= 2;
    tally.gain /= 2;
  }
}

RepeatedGroups::RepeatedGroups(const OperatorGraph &graph,
                               const ConfigurationSpace &space) {
  llvm::DenseMap<Key, int32_t> classes;
  for (auto [index, group] : llvm::enumerate(space.groups())) {
    auto [it, isNew] =
        classes.try_emplace(classOfNode(graph, graph.group(group).front()),
                            static_cast<int32_t>(members_.size()));
    if (isNew)
      members_.emplace_back();
    classOf_.push_back(it->second);
    members_[it->second].push_back(static_cast<int32_t>(index));
  }
}

ProposalTables::ProposalTables(const SearchProblem &problem,
                               const ConfigurationSpace &space)
    : repeated(problem.graph, space), followers(problem.graph) {
  for (const std::vector<int64_t> &ns : nodeCosts(problem))
    nodeNs.push_back(*llvm::min_element(ns));
}
