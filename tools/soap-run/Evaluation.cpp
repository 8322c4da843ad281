//===- Evaluation.cpp - The model on held-out samples ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluation.h"
#include "Report.h"
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>

using namespace soap;
using namespace soap::run;
using namespace soap::training;

Evaluation::Evaluation(Session &step)
    : step_(step), session_(step, "eval"), info_(Json::parse(step.info())) {}

std::optional<LossInfo> run::readLossInfo(const Json &info) {
  const Json &training = info.at("training");
  if (!training.is_object())
    return std::nullopt;
  std::optional<LossKind> kind = lossKind(training.value("loss", ""));
  if (!kind)
    throw UsageError("expected a loss that this version knows, got: " +
                     training["loss"].dump() + "; compile the model again");
  LossInfo result;
  result.loss.kind = *kind;
  result.loss.classAxis = training.value("class_axis", int64_t{1});
  if (training.contains("ignore_index"))
    result.loss.ignoreIndex = training["ignore_index"].get<int64_t>();
  if (*kind != LossKind::Output)
    result.label = training.value("label", "");
  result.output = training.value("output", "");
  return result;
}

/// Of a loss with classes, by the program that is evaluated; nothing: there is
/// none.
static std::optional<int64_t> countClasses(const Session &step,
                                           const LossInfo &loss) {
  if (!loss.loss.hasClasses())
    return std::nullopt;
  for (size_t i = 0; i != soap_model_program_count(step.get()); ++i) {
    if (std::strcmp(soap_model_program_name(step.get(), i), "eval") != 0)
      continue;
    Session evaluated(step, "eval");
    size_t output = loss.output.empty() ? 0 : evaluated.findOutput(loss.output);
    const soap_port &port = evaluated.outputs()[output];
    auto rank = static_cast<int64_t>(port.rank);
    int64_t axis = loss.loss.classAxis + (loss.loss.classAxis < 0 ? rank : 0);
    if (axis >= 0 && axis < rank)
      return port.shape[axis];
  }
  return std::nullopt;
}

void run::checkLabels(const Session &step, const LossInfo &loss,
                      Dataset &data) {
  if (!data.has(loss.label))
    return;
  if (std::optional<int64_t> classes = countClasses(step, loss))
    data.setClasses(loss.label, *classes, loss.loss.ignoreIndex);
}

void run::checkLabels(const Session &step, const LossInfo &loss,
                      const std::map<std::string, std::string> &sources) {
  auto source = sources.find(loss.label);
  std::error_code missing;
  if (source == sources.end() ||
      !std::filesystem::is_regular_file(source->second, missing))
    return;
  size_t number = 0;
  while (number != step.inputs().size() &&
         loss.label != step.inputs()[number].name)
    ++number;
  std::optional<int64_t> classes = countClasses(step, loss);
  if (!classes || number == step.inputs().size())
    return;
  const Tensor &labels = step.input(number);
  for (size_t i = 0; i != labels.count(); ++i)
    if (double label = labels.at(i);
        !(label >= 0 && label < static_cast<double>(*classes)) &&
        !(loss.loss.ignoreIndex &&
          label == static_cast<double>(*loss.loss.ignoreIndex)))
      throw UsageError(
          "expected classes from 0 to " + std::to_string(*classes - 1) +
          " for input '" + loss.label +
          "', got: " + std::to_string(std::llround(label)) + " at element " +
          std::to_string(i) + " of '" + source->second + "'");
}

void Evaluation::open(const std::map<std::string, std::string> &files,
                      const std::map<std::string, std::string> &inputs) {
  std::optional<LossInfo> loss = readLossInfo(info_);
  if (!loss)
    throw UsageError("expected a model that knows its loss with --eval-data, "
                     "got: a step that was made by passes; compile the model "
                     "with soap-compile --train");
  loss_ = *loss;
  output_ = loss_.output.empty() ? 0 : session_.findOutput(loss_.output);
  const soap_port *label = nullptr;
  for (const soap_port &port : step_.inputs())
    if (!loss_.label.empty() && loss_.label == port.name)
      label = &port;
  batches_ =
      std::make_unique<Batches>(session_, files, inputs, "--eval-data", label);
  checkLabels(step_, loss_, batches_->data());
  const Dataset &data = batches_->data();
  uint64_t rest = data.samples() % data.batch();
  if (loss_.loss.kind == LossKind::Output && rest != 0)
    std::fprintf(stderr,
                 "note: the model makes the loss of whole batches, so that the "
                 "last %llu of %llu samples to evaluate are left out\n",
                 static_cast<unsigned long long>(rest),
                 static_cast<unsigned long long>(data.samples()));
  if (loss_.loss.kind == LossKind::Output && rest == data.samples())
    throw UsageError("expected at least one batch of " +
                     std::to_string(data.batch()) + " samples in " +
                     data.placeOf(files.begin()->first) +
                     ", got: " + std::to_string(rest));
  Metrics(loss_.loss)
      .check(session_.output(output_), batches_->current().label);
}

void Evaluation::addBatch(Metrics &metrics) {
  const Batches::Prepared &batch = batches_->current();
  try {
    metrics.add(session_.output(output_), batch.label, batch.fresh);
  } catch (const UsageError &error) {
    throw UsageError(std::string(error.what()) + " in " +
                     batches_->data().placeOf(loss_.label));
  }
}

static Json toJson(const Metrics &metrics, uint64_t samples) {
  Json result = {{"samples", samples}, {"loss", metrics.loss()}};
  if (!metrics.description().hasClasses())
    return result;
  result["labels"] = metrics.count();
  result["accuracy"] = metrics.accuracy();
  if (metrics.classes() > 5)
    result["top5"] = metrics.topFive();
  result["perplexity"] = metrics.perplexity();
  return result;
}

Json Evaluation::run() {
  Metrics metrics(loss_.loss);
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
                      loss_.loss.kind == LossKind::Output);
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
  std::snprintf(text, sizeof(text), "loss %.6g",
                printable(metrics.value("loss", 0.0)));
  std::string result = text;
  for (auto [key, name] :
       {std::pair("accuracy", "accuracy"), {"top5", "top-5"}})
    if (metrics.contains(key)) {
      std::snprintf(text, sizeof(text), ", %s %.2f%%", name,
                    printable(100 * metrics[key].get<double>()));
      result += text;
    }
  if (metrics.contains("perplexity")) {
    std::snprintf(text, sizeof(text), ", perplexity %.6g",
                  printable(metrics["perplexity"].get<double>()));
    result += text;
  }
  std::snprintf(
      text, sizeof(text), " over %llu samples",
      static_cast<unsigned long long>(metrics["samples"].get<uint64_t>()));
  result += text;
  if (metrics.contains("labels") && metrics["labels"] != metrics["samples"])
    result += ", " + std::to_string(metrics["labels"].get<uint64_t>()) +
              " labels that count";
  return result;
}
