//===- MetricsTest.cpp - How good a model is -----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Training/Metrics.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace soap::training;

static Tensor tensorOf(soap_element element, std::vector<int64_t> shape,
                       const std::vector<double> &values) {
  Tensor tensor;
  tensor.element = element;
  tensor.shape = std::move(shape);
  tensor.bytes.resize(values.size() * soap_element_size(element));
  for (size_t i = 0; i != values.size(); ++i)
    tensor.set(i, values[i]);
  return tensor;
}

static LossDescription describe(const char *name) {
  LossDescription loss;
  loss.kind = lossKind(name).value();
  return loss;
}

TEST(Metrics, ClassesByFormula) {
  Tensor scores = tensorOf(SOAP_F64, {3, 6},
                           {1, 2, 3, 4, 5, 6, //
                            6, 5, 4, 3, 2, 1, //
                            0, 0, 9, 0, 0, 0});
  Tensor labels = tensorOf(SOAP_I64, {3}, {5, 5, 0});
  Metrics metrics(describe("softmax-cross-entropy"));
  metrics.check(scores, labels);
  metrics.add(scores, labels, 2);
  double sum = 0;
  for (int i = 1; i <= 6; ++i)
    sum += std::exp(i);
  double expected = (std::log(sum) - 6 + std::log(sum) - 1) / 2;
  EXPECT_EQ(metrics.count(), 2u);
  EXPECT_NEAR(metrics.loss(), expected, 1e-12);
  EXPECT_NEAR(metrics.perplexity(), std::exp(expected), 1e-9);
  EXPECT_EQ(metrics.accuracy(), 0.5);
  // The smallest of six is not among the five largest.
  EXPECT_EQ(metrics.topFive(), 0.5);
  // Of equal scores the first ones count: class 0 is the second largest.
  metrics.add(scores, labels, 3);
  EXPECT_EQ(metrics.count(), 5u);
  EXPECT_EQ(metrics.accuracy(), 2.0 / 5);
  EXPECT_EQ(metrics.topFive(), 3.0 / 5);
}

TEST(Metrics, LogarithmsAndLargeScores) {
  Metrics logs(describe("negative-log-likelihood"));
  logs.add(tensorOf(SOAP_F32, {1, 2}, {-0.5, -1}), tensorOf(SOAP_I64, {1}, {1}),
           1);
  EXPECT_EQ(logs.loss(), 1);
  Metrics scores(describe("softmax-cross-entropy"));
  scores.add(tensorOf(SOAP_F64, {1, 2}, {1000, 1010}),
             tensorOf(SOAP_I64, {1}, {0}), 1);
  EXPECT_NEAR(scores.loss(), 10 + std::log1p(std::exp(-10.0)), 1e-12);
}

TEST(Metrics, ClassesOfAnyAxisAndLabelsThatDoNotCount) {
  // Steps of two samples: classes are the last dimension, or the middle one.
  for (int64_t axis : {1, 2, -1}) {
    bool last = axis != 1;
    LossDescription loss = describe("softmax-cross-entropy");
    loss.classAxis = axis;
    loss.ignoreIndex = -100;
    Tensor scores = tensorOf(SOAP_F64,
                             last ? std::vector<int64_t>{2, 2, 3}
                                  : std::vector<int64_t>{2, 3, 2},
                             std::vector<double>(12, 0));
    auto set = [&](size_t sample, size_t step, size_t k, double value) {
      scores.set(last ? sample * 6 + step * 3 + k : sample * 6 + k * 2 + step,
                 value);
    };
    set(0, 0, 2, 5);
    set(0, 1, 1, 5);
    set(1, 0, 0, 5);
    Metrics metrics(loss);
    Tensor labels = tensorOf(SOAP_I64, {2, 2}, {2, -100, 1, 0});
    metrics.check(scores, labels);
    metrics.add(scores, labels, 2);
    EXPECT_EQ(metrics.count(), 3u);
    EXPECT_EQ(metrics.accuracy(), 2.0 / 3) << axis;
  }
}

TEST(Metrics, ElementsAndLossesOfTheModel) {
  Tensor x = tensorOf(SOAP_F64, {2, 2}, {1, -2, 3, 100});
  Tensor y = tensorOf(SOAP_F64, {2, 2}, {0, 1, 1, 1});
  Metrics squares(describe("mean-squared-error"));
  squares.add(x, y, 1);
  EXPECT_EQ(squares.loss(), (1.0 + 9) / 2);
  Metrics logits(describe("binary-cross-entropy"));
  logits.add(x, y, 1);
  EXPECT_NEAR(logits.loss(),
              (std::log1p(std::exp(1.0)) + std::log1p(std::exp(2.0))) / 2,
              1e-12);
  Metrics own(describe("output"));
  own.add(tensorOf(SOAP_F32, {}, {2}), {}, 7);
  own.add(tensorOf(SOAP_F32, {1}, {3}), {}, 7);
  EXPECT_EQ(own.loss(), 2.5);
}

TEST(Metrics, WhatDoesNotFitIsRefused) {
  Metrics metrics(describe("softmax-cross-entropy"));
  Tensor scores = tensorOf(SOAP_F64, {2, 3}, std::vector<double>(6, 0));
  EXPECT_THROW(metrics.check(scores, tensorOf(SOAP_I64, {3}, {0, 0, 0})),
               UsageError);
  EXPECT_THROW(metrics.add(scores, tensorOf(SOAP_I64, {2}, {0, 3}), 2),
               UsageError);
  EXPECT_THROW(metrics.check(tensorOf(SOAP_F64, {2}, {0, 0}),
                             tensorOf(SOAP_I64, {2}, {0, 3})),
               UsageError);
  EXPECT_FALSE(lossKind("hinge"));
  EXPECT_TRUE(std::isnan(Metrics(describe("output")).loss()));
}
