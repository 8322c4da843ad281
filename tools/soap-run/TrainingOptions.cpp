//===- TrainingOptions.cpp - Options of soap-run for training -------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainingOptions.h"
#include "../Numbers.h"
#include "soap/Tensors/Error.h"

using namespace soap;
using namespace soap::run;
using tensors::UsageError;

/// Reads `N` and the letter of a unit: `units` has those that are allowed.
static CLI::callback_t readInterval(Interval &interval, const char *option,
                                    std::string units) {
  return [&interval, option, units](const CLI::results_t &texts) {
    std::string digits = texts.at(0);
    interval.unit = Interval::Steps;
    uint64_t scale = 1;
    if (!digits.empty() && units.find(digits.back()) != std::string::npos) {
      scale = digits.back() == 'm' ? 60 : 1;
      interval.unit =
          digits.back() == 'e' ? Interval::Epochs : Interval::Seconds;
      digits.pop_back();
    }
    std::string error = soap::wholeNumber<uint32_t>(1)(digits);
    if (!error.empty()) {
      std::string letters;
      for (char unit : units)
        letters += std::string(", N") + unit;
      throw CLI::ValidationError(option, "expected N steps" + letters +
                                             ", with N from 1, got: '" +
                                             texts.at(0) + "'");
    }
    interval.count = std::stoull(digits) * scale;
    return true;
  };
}

static void declareCheckpoints(CLI::App &app, TrainingOptions &o) {
  CLI::Option *checkpoint =
      app.add_option("--checkpoint", o.checkpoint,
                     "Write all that training needs to go on into files of "
                     "this folder, while steps run; at the end and on SIGINT "
                     "and SIGTERM, too")
          ->type_name("DIR");
  app.add_option("--checkpoint-every",
                 readInterval(o.checkpointEvery, "--checkpoint-every", "esm"),
                 "After so many steps, epochs, seconds or minutes (default 1e)")
      ->needs(checkpoint)
      ->type_name("N|Ne|Ns|Nm");
  app.add_option("--keep", o.keep, "Keep so many checkpoints, the newest ones")
      ->check(soap::wholeNumber<uint64_t>(1))
      ->needs(checkpoint)
      ->capture_default_str()
      ->type_name("K");
  app.add_flag("--resume", o.resume,
               "Go on where a checkpoint was made, under this or another "
               "strategy: =FILE, or the newest one of --checkpoint, or the "
               "beginning if there is none yet")
      ->type_name("[=FILE]");
}

static void declareExport(CLI::App &app, TrainingOptions &o) {
  app.add_option("--export-onnx", o.exportONNX,
                 "Write the model with the weights that are there in the end")
      ->type_name("FILE.onnx");
  app.add_option("--onnx-model", o.model,
                 "The model that --export-onnx puts them into: what "
                 "soap-compile has read")
      ->type_name("MODEL.onnx");
}

void run::declareTraining(CLI::App &app, TrainingOptions &o) {
  app.option_defaults()->group("Training on files (soap-compile --train)");
  app.add_option("--data", o.data,
                 "Train on the samples of a file, along dimension 0, one batch "
                 "per step: for each input of a batch a file of NumPy. Of a "
                 ".npz file, it is the array of the input's name, or ARRAY")
      ->type_name("NAME=FILE.npy|FILE.npz[:ARRAY]");
  app.add_option("--epochs", o.epochs,
                 "Take all samples so many times (default 1, or as many as "
                 "--steps needs)")
      ->check(soap::wholeNumber<uint64_t>(1))
      ->type_name("N");
  app.add_option("--steps", o.steps, "End after so many steps in all")
      ->check(soap::wholeNumber<uint64_t>(1))
      ->type_name("N");
  app.add_option("--shuffle", o.shuffle,
                 "Take the samples of every epoch in another order, which "
                 "follows from this seed (default: as in the file)")
      ->check(soap::wholeNumber<uint64_t>())
      ->type_name("SEED");
  app.add_flag("--drop-last", o.dropLast,
               "Leave out the last samples of an epoch if they are no full "
               "batch (default: the first samples of the epoch fill it up)");
  CLI::Option *evalData =
      app.add_option("--eval-data", o.evalData,
                     "Evaluate the program eval on these samples, of its "
                     "inputs and the label; without --data, do nothing else")
          ->type_name("NAME=FILE.npy|FILE.npz[:ARRAY]");
  app.add_option("--eval-every", readInterval(o.evalEvery, "--eval-every", "e"),
                 "After so many steps or epochs, and at the end (default 1e)")
      ->needs(evalData)
      ->type_name("N|Ne");
  declareCheckpoints(app, o);
  declareExport(app, o);
}

void run::checkTraining(const TrainingOptions &o) {
  for (auto [option, given] : {std::pair("--epochs", o.epochs != 0),
                               {"--steps", o.steps != 0},
                               {"--shuffle", o.shuffle.has_value()},
                               {"--drop-last", o.dropLast},
                               {"--checkpoint", !o.checkpoint.empty()},
                               {"--resume", !o.resume.empty()}})
    if (given && !o.hasData())
      throw UsageError(std::string("expected --data with ") + option +
                       ", got: none; without files of samples, --iterations "
                       "says how many steps to take");
  if (o.exportONNX.empty() != o.model.empty())
    throw UsageError("expected --export-onnx=FILE.onnx with "
                     "--onnx-model=MODEL.onnx, got: one without the other; "
                     "the compiled model has no copy of the other one");
  if (o.resumesNewest() && o.checkpoint.empty())
    throw UsageError("expected --checkpoint=DIR or a file with --resume, got: "
                     "neither; say where checkpoints are");
}

std::vector<std::pair<const char *, std::string>>
run::readFiles(const TrainingOptions &o) {
  std::vector<std::pair<const char *, std::string>> files;
  auto add = [&](const char *option, const std::vector<std::string> &texts) {
    for (const std::string &text : texts) {
      // NAME=FILE.npz:ARRAY; names of inputs may have equals signs.
      std::string file = text.substr(text.rfind('=') + 1);
      if (size_t at = file.rfind(".npz:"); at != std::string::npos)
        file.resize(at + 4);
      files.emplace_back(option, file);
    }
  };
  add("--data", o.data);
  add("--eval-data", o.evalData);
  if (!o.resume.empty() && !o.resumesNewest())
    files.emplace_back("--resume", o.resume);
  if (!o.model.empty())
    files.emplace_back("--onnx-model", o.model);
  return files;
}
