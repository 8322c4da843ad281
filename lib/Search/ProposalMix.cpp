//===- ProposalMix.cpp - Kinds of proposals, and how often each comes -----===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DegreesCosts.h"
#include "Hashing.h"
#include "Lanes.h"
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
  case ProposalKind::Layer:
    return "layer";
  case ProposalKind::Updates:
    return "updates";
  }
  return "";
}

static size_t indexOf(ProposalKind kind) { return static_cast<size_t>(kind); }

double detail::workOf(size_t numChanged, const OperatorGraph &graph) {
  constexpr double ofAllNodes = 16;
  return 1 + ofAllNodes * static_cast<double>(numChanged) /
                 static_cast<double>(graph.numNodes());
}

ProposalMix::ProposalMix(const OperatorGraph &graph) {
  isPossible_.fill(true);
  isPossible_[indexOf(ProposalKind::Updates)] = graph.numUpdates() != 0;
  isPossible_[indexOf(ProposalKind::Layer)] = !SharedParameters(graph).empty();
  weights_.fill(1);
  weights_[indexOf(ProposalKind::Stretch)] = 4;
  weights_[indexOf(ProposalKind::Lanes)] = 4;
  weights_[indexOf(ProposalKind::Sums)] = 4 / sumsCost;
  for (auto [weight, isPossible] : llvm::zip_equal(weights_, isPossible_))
    if (!isPossible)
      weight = 0;
}

ProposalMix::ProposalMix(ProposalKind only) {
  isPossible_.fill(false);
  isPossible_[indexOf(only)] = true;
  weights_.fill(0);
  weights_[indexOf(only)] = 1;
}

ProposalKind ProposalMix::draw(Random &random) const {
  double sum = 0;
  for (double weight : weights_)
    sum += weight;
  double at = random.uniform() * sum;
  size_t last = 0;
  for (size_t kind = 0; kind < numProposalKinds; ++kind) {
    if (!isPossible_[kind])
      continue;
    last = kind;
    if (at < weights_[kind])
      break;
    at -= weights_[kind];
  }
  return static_cast<ProposalKind>(last);
}

void ProposalMix::adapt() {
  // What each kind gained for its work.
  std::array<double, numProposalKinds> gain{};
  double gains = 0;
  for (size_t kind = 0; kind < numProposalKinds; ++kind) {
    const Tally &tally = tallies_[kind];
    gain[kind] = tally.gain / (tally.work + 16);
    gains += gain[kind];
  }
  auto count = static_cast<double>(llvm::count(isPossible_, true));
  // Most of the weight is shared equally: what gains nothing now may do so
  // later, or make room for what another kind gains.
  constexpr double equal = 0.7;
  for (size_t kind = 0; kind < numProposalKinds; ++kind)
    if (isPossible_[kind])
      weights_[kind] =
          equal / count +
          (1 - equal) * (gains > 0 ? gain[kind] / gains : 1.0 / count);
  // These take several times as long as others.
  weights_[indexOf(ProposalKind::Sums)] /= sumsCost;
  for (Tally &tally : tallies_) {
    tally.work /= 2;
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
    : repeated(problem.graph, space), followers(problem.graph),
      shared(problem.graph),
      isAlone(leadersAlone(problem.graph, [&](int32_t node) {
        return followers.isPreparation(node);
      })) {
  for (const std::vector<int64_t> &ns : nodeCosts(problem))
    nodeNs.push_back(*llvm::min_element(ns));
}
