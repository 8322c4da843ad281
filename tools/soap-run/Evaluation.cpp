//===- Evaluation.cpp - The model on held-out samples ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluation.h"
#include <cstdio>
#include <cstring>

using namespace soap;
using namespace soap::run;
using namespace soap::training;

Evaluation::Evaluation(Session &step)
    : step_(step), session_(step, "eval"), info_(Json::parse(step.info())) {}

/// What the compiler says about the loss.
void Evaluation::findLoss() {
  const Json &training = info_["training"];
  if (!training.is_object())
    throw UsageError("expected a model that knows its loss with --eval-data, "
                     "got: a step that was made by passes; compile the model "
                     "with soap-compile --train");
  std::optional<LossKind> kind = lossKind(training.value("loss", ""));
  if (!kind)
    throw UsageError("expected a loss that this version knows, got: " +
                     training["loss"].dump() + "; compile the model again");
  loss_.kind = *kind;
  loss_.classAxis = training.value("class_axis", int64_t{1});
  if (training.contains("ignore_index"))
    loss_.ignoreIndex = training["ignore_index"].get<int64_t>();
  if (*kind != LossKind::Output)
    label_ = training.value("label", "");
  std::string output = training.value("output", "");
  output_ = output.empty() ? 0 : session_.findOutput(output);
}

void Evaluation::open(const std::map<std::string, std::string> &files,
                      const std::map<std::string, std::string> &inputs) {
  findLoss();
  const soap_port *label = nullptr;
  for (const soap_port &port : step_.inputs())
    if (!label_.empty() && label_ == port.name)
      label = &port;
  batches_ =
      std::make_unique<Batches>(session_, files, inputs, "--eval-data", label);
  const Dataset &data = batches_->data();
  uint64_t rest = data.samples() % data.batch();
  if (loss_.kind == LossKind::Output && rest != 0)
    std::fprintf(stderr,
                 "note: the model makes the loss of whole batches, so that the "
                 "last %llu of %llu samples to evaluate are left out\n",
                 static_cast<unsigned long long>(rest),
                 static_cast<unsigned long long>(data.samples()));
  if (loss_.kind == LossKind::Output && rest == data.samples())
    throw UsageError("expected at least one batch of " +
                     std::to_string(data.batch()) + " samples in " +
                     data.placeOf(files.begin()->first) +
                     ", got: " + std::to_string(rest));
  Metrics(loss_).check(session_.output(output_), batches_->current().label);
}

void Evaluation::addBatch(Metrics &metrics) {
  const Batches::Prepared &batch = batches_->current();
  try {
    metrics.add(session_.output(output_), batch.label, batch.fresh);
  } catch (const UsageError &error) {
    throw UsageError(std::string(error.what()) + " in " +
                     batches_->data().placeOf(label_));
  }
}

static Json toJson(const Metrics &metrics, uint64_t samples) {
  Json result = {{"samples", samples}, {"loss", metrics.loss()}};
  if (!metrics.description().hasClasses())
    return result;
  result["accuracy"] = metrics.accuracy();
  if (metrics.classes() > 5)
    result["top5"] = metrics.topFive();
  result["perplexity"] = metrics.perplexity();
  return result;
}

Json Evaluation::run() {
  Metrics metrics(loss_);
  uint64_t left = 0, samples = 0;
  std::exception_ptr failure; // Told to all ranks by the next decision.
  auto next = [&]() -> uint64_t {
    if (failure)
      std::rethrow_exception(failure);
    return left != 0;
  };
  session_.onRoot([&] {
    const Dataset &data = batches_->data();
    SampleOrder order(data.samples(), data.batch(), std::nullopt,
                      loss_.kind == LossKind::Output);
    left = order.batchesPerEpoch();
    batches_->begin(order, {});
    batches_->readAhead();
  });
  const std::vector<Tensor> none;
  while (session_.decide(next)) {
    bool isRoot = session_.isRoot();
    if (isRoot)
      batches_->advance();
    session_.start(isRoot ? batches_->current().inputs : none);
    try {
      if (isRoot && --left != 0)
        batches_->readAhead();
    } catch (...) {
      failure = std::current_exception();
    }
    session_.wait();
    try {
      if (isRoot) {
        addBatch(metrics);
        samples += batches_->current().fresh;
      }
    } catch (...) {
      failure = std::current_exception();
    }
  }
  return toJson(metrics, samples);
}

std::string run::describeMetrics(const Json &metrics) {
  char text[96];
  std::snprintf(text, sizeof(text), "loss %.6g", metrics.value("loss", 0.0));
  std::string result = text;
  for (auto [key, name] :
       {std::pair("accuracy", "accuracy"), {"top5", "top-5"}})
    if (metrics.contains(key)) {
      std::snprintf(text, sizeof(text), ", %s %.2f%%", name,
                    100 * metrics[key].get<double>());
      result += text;
    }
  if (metrics.contains("perplexity")) {
    std::snprintf(text, sizeof(text), ", perplexity %.6g",
                  metrics["perplexity"].get<double>());
    result += text;
  }
  std::snprintf(
      text, sizeof(text), " over %llu samples",
      static_cast<unsigned long long>(metrics["samples"].get<uint64_t>()));
  return result + text;
}
