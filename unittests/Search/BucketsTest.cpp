//===- BucketsTest.cpp - Gradients that are reduced together --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Partition/Buckets.h"
#include "ExampleGraphs.h"
#include "soap/Search/BucketActions.h"
#include "soap/Search/BucketSizes.h"
#include "soap/Search/LaunchPolicy.h"
#include "soap/Search/SearchAlgorithm.h"
#include "soap/Search/Simulator.h"
#include "gtest/gtest.h"
#include <set>

using namespace soap;
using namespace soap::test;

namespace {

std::vector<Bucket> form(std::vector<BucketCandidate> candidates,
                         int64_t limit) {
  return formBuckets(candidates, limit);
}

TEST(Buckets, HoldAsMuchAsTheLimit) {
  std::vector<BucketCandidate> four = {
      {1, 9, 100}, {2, 9, 100}, {3, 9, 100}, {4, 9, 100}};
  EXPECT_EQ(form(four, 400), (std::vector<Bucket>{{0, 1, 2, 3}}));
  EXPECT_EQ(form(four, 399), (std::vector<Bucket>{{0, 1, 2}}));
  EXPECT_EQ(form(four, 200), (std::vector<Bucket>{{0, 1}, {2, 3}}));
  EXPECT_TRUE(form(four, 199).empty());
  EXPECT_TRUE(form(four, 0).empty());
}

TEST(Buckets, LeaveOutWhatIsAboveTheLimit) {
  EXPECT_EQ(form({{1, 9, 100}, {2, 9, 500}, {3, 9, 100}}, 400),
            (std::vector<Bucket>{{0, 2}}));
}

TEST(Buckets, AreReducedBeforeAnyValueIsRead) {
  // The second is read at 3, where the third is made: it may not wait for it.
  EXPECT_EQ(form({{1, 9, 1}, {2, 3, 1}, {3, 9, 1}, {4, 9, 1}}, 400),
            (std::vector<Bucket>{{0, 1}, {2, 3}}));
  EXPECT_EQ(form({{1, 2, 1}, {2, 3, 1}, {3, 4, 1}}, 400),
            std::vector<Bucket>());
}

TEST(Buckets, HoldOneTypeOfElements) {
  EXPECT_EQ(form({{1, 9, 1, 4}, {2, 9, 1, 4}, {3, 9, 1, 8}, {4, 9, 1, 8}}, 9),
            (std::vector<Bucket>{{0, 1}, {2, 3}}));
}

TEST(Buckets, HoldSumsThatAreSoonReadApart) {
  BucketCandidate gradient{1, 90, 100000}, sum{2, 5, 256};
  sum.isUpdatedFirst = false;
  BucketCandidate other = sum, last = gradient;
  other.position = 3;
  other.isGradient = false;
  last.position = 4;
  // They do not end the bucket of gradients; buckets stand as they are
  // launched.
  EXPECT_EQ(form({gradient, sum, other, last}, 4 << 20),
            (std::vector<Bucket>{{1, 2}, {0, 3}}));
  EXPECT_EQ(form({gradient, sum, other, last}, 300), std::vector<Bucket>());
  // Read late, a gradient stays with the others, and another sum is in none.
  sum.firstUse = other.firstUse = 90;
  EXPECT_EQ(form({gradient, sum, other, last}, 4 << 20),
            (std::vector<Bucket>{{0, 1, 3}}));
  // So does a large one that is soon read.
  sum.firstUse = 5;
  sum.bytes = smallSumBytes + 1;
  EXPECT_EQ(form({gradient, sum, last}, 4 << 20),
            (std::vector<Bucket>{{0, 1, 2}}));
}

TEST(Buckets, AlignTheirMembers) {
  ActionKind kind = ActionKind::AllReduce;
  EXPECT_EQ(bytesOfBucket(kind, 4, {4, 4}), 68);
  EXPECT_EQ(bytesOfBucket(kind, 4, {64, 128, 12}), 204);
  EXPECT_EQ(bytesOfBucket(kind, 4, {12}), 12);
  // Chunks for each device, which are aligned, too.
  kind = ActionKind::ReduceScatter;
  EXPECT_EQ(chunkOfBucket(kind, {4, 4}), 128);
  EXPECT_EQ(bytesOfBucket(kind, 4, {4, 4}), 4 * 128);
  EXPECT_EQ(bytesOfBucket(kind, 3, {64, 128, 12}), 3 * 256);
}

/// A step of deepProducts().
struct Step {
  explicit Step(int64_t bucketBytes, llvm::StringRef policy = "program",
                llvm::StringRef machine = "p100-node", bool sharded = false)
      : graph(deepProducts(6, bucketBytes)),
        topology(llvm::cantFail(
            Topology::load((SOAP_TOPOLOGIES "/" + machine + ".json").str()))),
        tasks({graph, topology, costs}) {
    SearchProblem problem{graph, topology, costs};
    Strategy strategy = sharded ? shardedProducts(graph, topology)
                                : dataParallel(graph, topology);
    strategy.order = launchOrder(policy, problem, strategy);
    tasks.setStrategy(strategy);
    result = FullSimulator(tasks).run();
  }
  OperatorGraph graph;
  Topology topology;
  CostModel costs;
  TaskGraph tasks;
  SimulationResult result;
};

TEST(Buckets, HaveTheSizeOfTheShortestStep) {
  CostModel costs;
  std::set<int64_t> chosen;
  for (const char *machine : {"p100-node", "p100-cluster", "k80-cluster"})
    for (int64_t scale : {1, 40, 160}) {
      OperatorGraph graph = deepProducts(9, 0, 0, scale);
      Topology topology = llvm::cantFail(
          Topology::load(std::string(SOAP_TOPOLOGIES "/") + machine + ".json"));
      Strategy strategy = dataParallel(graph, topology);
      auto stepWith = [&](int64_t bytes) {
        OperatorGraph graph = deepProducts(9, bytes, 0, scale);
        TaskGraph tasks({graph, topology, costs});
        tasks.setStrategy(strategy);
        return FullSimulator(tasks).stepNs();
      };
      int64_t usual = stepWith(defaultBucketBytes), least = usual;
      for (int64_t bytes = 1 << 20; bytes <= 64 << 20; bytes *= 2)
        least = std::min(least, stepWith(bytes));
      chooseBucketBytes(graph, topology, costs, strategy);
      chosen.insert(graph.bucketBytes);
      EXPECT_EQ(stepWith(graph.bucketBytes), least) << machine << scale;
      if (least == usual)
        EXPECT_EQ(graph.bucketBytes, defaultBucketBytes) << machine << scale;
    }
  EXPECT_GT(chosen.size(), 1u);
}

/// What a strategy says of them counts more than what the graph says, and may
/// change without new plans.
TEST(Buckets, AreAsLargeAsAStrategySays) {
  CostModel costs;
  Topology topology =
      llvm::cantFail(Topology::load(SOAP_TOPOLOGIES "/k80-cluster.json"));
  OperatorGraph graph = deepProducts(9, 0, 0, 40);
  Strategy strategy = dataParallel(graph, topology);
  TaskGraph tasks({graph, topology, costs});
  tasks.setStrategy(strategy);
  EXPECT_EQ(tasks.numBuckets(), 0);
  std::set<int64_t> steps;
  for (int64_t bytes : {1 << 20, 16 << 20, 64 << 20}) {
    OperatorGraph other = deepProducts(9, bytes, 0, 40);
    TaskGraph expected({other, topology, costs});
    expected.setStrategy(strategy);
    auto expectSame = [&](const TaskGraph &got) {
      EXPECT_EQ(got.numBuckets(), expected.numBuckets()) << bytes;
      EXPECT_EQ(FullSimulator(got).stepNs(), FullSimulator(expected).stepNs())
          << bytes;
      EXPECT_EQ(got.peakMemory(), expected.peakMemory()) << bytes;
    };
    uint64_t planned = tasks.statistics().planned;
    tasks.setBucketBytes(bytes);
    expectSame(tasks);
    EXPECT_EQ(tasks.statistics().planned, planned);
    // From a file, in the order that was there before.
    Strategy given = strategy;
    given.bucketBytes = bytes;
    std::string text = toJSON(given, graph, {});
    llvm::Expected<Strategy> read =
        parseStrategy(text, {graph, topology, costs});
    ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
    EXPECT_EQ(*read, given);
    tasks.setStrategy(strategy);
    EXPECT_EQ(tasks.numBuckets(), 0);
    tasks.setStrategy(*read);
    expectSame(tasks);
    steps.insert(FullSimulator(tasks).stepNs());
  }
  EXPECT_GT(steps.size(), 1u);
  for (const char *bytes : {"0", "-1", "\"4 MiB\""}) {
    std::string text = toJSON(strategy, graph, {});
    text.insert(text.find("\"ops\""),
                std::string("\"bucket_bytes\": ") + bytes + ", ");
    auto read = parseStrategy(text, {graph, topology, costs});
    ASSERT_FALSE(bool(read));
    std::string error = llvm::toString(read.takeError());
    EXPECT_NE(error.find("expected 'bucket_bytes' to be a number of bytes"),
              std::string::npos)
        << error;
  }
}

/// A search may choose them: what it finds, with the strategy that it was given
/// alone, is no slower than that strategy with buckets of any size.
TEST(Buckets, AreChosenBySearches) {
  CostModel costs;
  OperatorGraph graph = deepProducts(9, 64 << 20, 0, 160);
  Topology topology =
      llvm::cantFail(Topology::load(SOAP_TOPOLOGIES "/p100-cluster.json"));
  SearchProblem problem{graph, topology, costs};
  SearchOptions options;
  options.namedStarts = false;
  options.leastSums = false;
  options.randomStarts = 0;
  options.proposals = 1;
  options.starts = {dataParallel(graph, topology)};
  TaskGraph tasks(problem);
  tasks.setStrategy(options.starts.front());
  int64_t given = FullSimulator(tasks).stepNs(), least = given;
  ASSERT_TRUE(shortenByBuckets(tasks, least));
  ASSERT_LT(least, given);
  auto run = [&] {
    llvm::Expected<SearchResult> found = createMCMC()->run(problem, options);
    EXPECT_TRUE(bool(found));
    tasks.setStrategy(found->strategy);
    EXPECT_EQ(FullSimulator(tasks).stepNs(), found->stepNs);
    return std::move(*found);
  };
  EXPECT_EQ(run().strategy.bucketBytes, 0);
  options.choosesBuckets = true;
  SearchResult with = run();
  EXPECT_GT(with.strategy.bucketBytes, 0);
  EXPECT_LE(with.stepNs, least);
}

TEST(Buckets, HaveASizeThatFits) {
  CostModel costs;
  OperatorGraph graph = deepProducts(9, 0, 0, 160);
  Topology topology =
      llvm::cantFail(Topology::load(SOAP_TOPOLOGIES "/k80-cluster.json"));
  // Shares are copied together, bucket by bucket.
  Strategy strategy = shardedProducts(graph, topology);
  auto peakWith = [&](int64_t bytes) {
    OperatorGraph graph = deepProducts(9, bytes, 0, 160);
    TaskGraph tasks({graph, topology, costs});
    tasks.setStrategy(strategy);
    std::vector<int64_t> peaks = tasks.peakMemory();
    return *llvm::max_element(peaks);
  };
  chooseBucketBytes(graph, topology, costs, strategy);
  int64_t freely = graph.bucketBytes, peak = peakWith(freely);
  ASSERT_GT(peak, peakWith(1 << 20));
  for (int32_t device = 0; device < topology.numDevices(); ++device)
    topology.reserveMemory(device,
                           topology.device(device).memoryBytes - peak + 1);
  chooseBucketBytes(graph, topology, costs, strategy);
  EXPECT_NE(graph.bucketBytes, freely);
  EXPECT_LT(peakWith(graph.bucketBytes), peak);
}

TEST(Buckets, PayLatencyOnce) {
  Step apart(0), together(100000);
  EXPECT_EQ(apart.tasks.numBuckets(), 0);
  ASSERT_EQ(together.tasks.numBuckets(), 1);
  EXPECT_EQ(together.tasks.bucketValues(0).size(), 6u);
  EXPECT_LT(together.result.maxCommunicationNs(),
            apart.result.maxCommunicationNs());
  auto moves = [](const Step &step) {
    return llvm::count_if(step.result.nodes, [](const TaskNode &node) {
      return node.kind == TaskNode::Kind::Move;
    });
  };
  EXPECT_EQ(moves(apart), 6);
  EXPECT_EQ(moves(together), 1);
  std::vector<Movement> movements = together.tasks.movements(Phase::Step);
  ASSERT_EQ(movements.size(), 1u);
  llvm::SmallVector<int64_t> bytes;
  for (int32_t value : together.tasks.bucketValues(0))
    bytes.push_back(together.graph.value(value).bytes());
  EXPECT_EQ(movements[0].bytes[0],
            bytesOfBucket(ActionKind::AllReduce, 4, bytes));
}

/// Nodes of a kind, and their times.
std::vector<std::pair<const TaskNode *, const NodeTimes *>>
nodesOf(const Step &step, TaskNode::Kind kind) {
  std::vector<std::pair<const TaskNode *, const NodeTimes *>> found;
  for (auto [node, times] :
       llvm::zip_equal(step.result.nodes, step.result.times))
    if (node.kind == kind)
      found.push_back({&node, &times});
  return found;
}

TEST(Buckets, CopySharesToTheirChunks) {
  Step apart(0, "program", "p100-cluster", /*sharded=*/true),
      together(100000, "program", "p100-cluster", /*sharded=*/true);
  auto scatters = [](const Step &step) {
    auto moves = nodesOf(step, TaskNode::Kind::Move);
    llvm::erase_if(moves, [](auto move) {
      return move.first->actionKind != ActionKind::ReduceScatter;
    });
    return moves;
  };
  EXPECT_EQ(scatters(apart).size(), 6u);
  EXPECT_TRUE(nodesOf(apart, TaskNode::Kind::Pack).empty());
  auto joint = scatters(together);
  ASSERT_EQ(joint.size(), 1u);
  EXPECT_EQ(joint[0].first->numValues, 6);
  // Each share has the room of the largest.
  llvm::SmallVector<int64_t> bytes;
  for (int32_t update = 0; update < together.graph.numUpdates(); ++update) {
    int32_t node = together.graph.update(update).front();
    bytes.push_back(4);
    for (auto [loop, degree] :
         llvm::zip_equal(together.graph.node(node).spec.loops,
                         together.tasks.strategy().configs[node].degrees.loops))
      bytes.back() *= (loop.extent + degree - 1) / degree;
  }
  int64_t all = bytesOfBucket(ActionKind::ReduceScatter, 8, bytes);
  EXPECT_EQ(joint[0].first->bytes, 7 * all);
  // All devices copy their shares, and then the collective starts.
  auto packs = nodesOf(together, TaskNode::Kind::Pack);
  ASSERT_EQ(packs.size(), 1u);
  EXPECT_EQ(packs[0].first->devices.size(), 8u);
  for (auto [start, end] :
       llvm::zip_equal(packs[0].second->start, packs[0].second->end)) {
    EXPECT_EQ(end - start, CostModel::copyNs(all, together.topology.kindOf(0)));
    EXPECT_LE(end, joint[0].second->start.front());
  }
  EXPECT_LT(together.result.maxCommunicationNs(),
            apart.result.maxCommunicationNs());
}

TEST(Buckets, StartWhenTheirLastMemberIsThere) {
  for (llvm::StringRef policy : launchPolicyNames()) {
    Step step(100000, policy);
    // Sums of which devices have no parts have buckets that reduce nothing.
    auto nextBucket = [&](int32_t bucket) {
      while (bucket != step.tasks.numBuckets() &&
             step.tasks.bucketTasks(bucket).actions.empty())
        ++bucket;
      return bucket;
    };
    int32_t bucket = nextBucket(0);
    ASSERT_LT(bucket, step.tasks.numBuckets());
    int64_t ready = 0;
    for (auto [node, times] :
         llvm::zip_equal(step.result.nodes, step.result.times)) {
      if (node.kind == TaskNode::Kind::Compute)
        for (int32_t value : step.graph.node(node.node).results)
          if (step.tasks.bucketOf(value) == bucket)
            ready = std::max(
                ready, *std::max_element(times.end.begin(), times.end.end()));
      if (node.kind != TaskNode::Kind::Move)
        continue;
      ASSERT_LT(bucket, step.tasks.numBuckets());
      EXPECT_EQ(node.numValues,
                static_cast<int32_t>(step.tasks.bucketValues(bucket).size()));
      EXPECT_GE(times.start.front(), ready);
      ready = 0;
      bucket = nextBucket(bucket + 1);
    }
    EXPECT_EQ(bucket, step.tasks.numBuckets());
  }
}

TEST(Buckets, CopyOnlyWhatSavesMoreThanTheCopy) {
  // One takes 40 ns, and one for each byte; two as one save 40.
  auto gains = [&](int64_t bytes) {
    auto reduceScatterNs = [](llvm::ArrayRef<int64_t> each) {
      EXPECT_EQ(each.size(), 2u);
      return 40 + each.front();
    };
    auto copyNs = [](int64_t copied, int32_t device) {
      return copied + 10 * device;
    };
    return gainsFromBucket({0, 1}, bytes, {reduceScatterNs, copyNs});
  };
  EXPECT_TRUE(gains(30));
  EXPECT_FALSE(gains(31));
  // Links within a node are too quick for any copy.
  Step node(100000, "program", "p100-node", /*sharded=*/true);
  EXPECT_TRUE(nodesOf(node, TaskNode::Kind::Pack).empty());
  EXPECT_EQ(node.tasks.bucketTasks(0).actions.size(), 0u);
}

TEST(Buckets, JoinOnlyWhatHasTheSameDevices) {
  Step step(100000);
  Strategy strategy = step.tasks.strategy();
  // One layer on two of the devices, and one on one.
  auto place = [&](llvm::StringRef name, llvm::ArrayRef<int32_t> devices) {
    int32_t leader = step.graph.find(name);
    Configuration config;
    config.degrees.loops.assign(step.graph.node(leader).spec.loops.size(), 1);
    config.degrees.loops[0] = static_cast<int32_t>(devices.size());
    config.devices.assign(devices.begin(), devices.end());
    for (int32_t member : step.graph.group(step.graph.node(leader).group))
      strategy.configs[member] = memberConfiguration(
          step.graph.node(leader), config, step.graph.node(member));
  };
  place("fc2", {1, 3});
  place("fc4", {2});
  deriveEnds(strategy, step.graph, step.topology);
  ASSERT_FALSE(llvm::errorToBool(verify(strategy, step.graph, step.topology)));
  step.tasks.setStrategy(strategy);
  const detail::BucketTasks &tasks = step.tasks.bucketTasks(0);
  ASSERT_EQ(tasks.actions.size(), 2u);
  EXPECT_EQ(tasks.actions[0].members.size(), 4u);
  EXPECT_EQ(tasks.actions[1].members.size(), 1u);
  EXPECT_EQ(tasks.actions[1].devices.size(), 2u);
}

} // namespace
