//===- ThreadsTest.cpp - Compilations at the same time --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compilation depends on nothing that another one does: what threads make at
// the same time is, byte by byte, what they make one after the other. Under
// the thread sanitizer, this is also a test for data races.
//
//===----------------------------------------------------------------------===//

#include "TestModels.h"
#include <atomic>
#include <gtest/gtest.h>
#include <thread>

using namespace soap;
using namespace soap::test;

namespace {
/// Something to compile.
struct Job {
  std::string model;
  CompilerOptions options;
  bool fails = false;
};

/// What came out of it.
struct Outcome {
  std::string text, library, weights, strategy, error, messages;

  bool operator==(const Outcome &other) const {
    return text == other.text && library == other.library &&
           weights == other.weights && strategy == other.strategy &&
           error == other.error;
  }
};
} // namespace

static Outcome compile(const Job &job) {
  CompilationResult result;
  llvm::Error error =
      compileModel(inMemory(job.model), job.options, {}, result);
  EXPECT_EQ(static_cast<bool>(error), job.fails);
  Outcome outcome;
  if (error)
    outcome.error = llvm::toString(std::move(error));
  outcome.text = std::move(result.text);
  outcome.library = std::move(result.model.library);
  outcome.weights = std::move(result.model.weights);
  outcome.strategy = std::move(result.strategy);
  return outcome;
}

/// Jobs that use all parts of the compiler.
static std::vector<Job> makeJobs() {
  std::vector<Job> jobs;
  for (int layers : {2, 5})
    for (const char *strategy : {"search", "tensor-parallel"}) {
      Job job{makeModel(layers, 4, 16), quickOptions()};
      job.options.devices = 2;
      job.options.strategy = strategy;
      job.options.proposals = 300;
      job.options.seed = static_cast<uint64_t>(layers);
      job.options.prove = true;
      jobs.push_back(job);
    }
  Job soap{makeModel(4, 8, 16), quickOptions()};
  soap.options.emit = Emit::SOAP;
  soap.options.topology = "p100:nodes=1";
  soap.options.strategy = "model-parallel";
  jobs.push_back(soap);
  // Errors do not get into each other's way either.
  for (int layers : {1, 3}) {
    Job wrong{makeModel(layers, 8, 16), quickOptions()};
    wrong.model.resize(wrong.model.size() / 2);
    wrong.fails = true;
    jobs.push_back(wrong);
  }
  return jobs;
}

// Nothing has been compiled by this process before: tables of ONNX's and LLVM's
// libraries are filled on the way.
TEST(Threads, TheFirstCompilations) {
  std::vector<Job> jobs = makeJobs();
  std::vector<Outcome> outcomes(jobs.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i != jobs.size(); ++i)
    threads.emplace_back([&, i] { outcomes[i] = compile(jobs[i]); });
  for (std::thread &thread : threads)
    thread.join();
  for (size_t i = 0; i != jobs.size(); ++i)
    EXPECT_TRUE(outcomes[i] == compile(jobs[i])) << "job " << i;
}

TEST(Threads, TwoCompilationsAtOnce) {
  std::vector<Job> jobs = makeJobs();
  std::vector<Outcome> alone;
  for (const Job &job : jobs)
    alone.push_back(compile(job));
  EXPECT_NE(alone.front().library, "");
  constexpr size_t rounds = 3;
  // Both threads go through all jobs, from other beginnings.
  std::vector<Outcome> together[2];
  std::atomic<int> waiting{2};
  auto work = [&](size_t thread) {
    --waiting;
    while (waiting)
      std::this_thread::yield();
    for (size_t i = 0; i != rounds * jobs.size(); ++i)
      together[thread].push_back(
          compile(jobs[(i + thread * jobs.size() / 2) % jobs.size()]));
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  for (size_t thread : {0, 1})
    for (size_t i = 0; i != rounds * jobs.size(); ++i)
      EXPECT_TRUE(together[thread][i] ==
                  alone[(i + thread * jobs.size() / 2) % jobs.size()])
          << "thread " << thread << ", job " << i;
}
