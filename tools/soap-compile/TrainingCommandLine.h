//===- TrainingCommandLine.h - Options of training --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TOOLS_SOAP_COMPILE_TRAININGCOMMANDLINE_H
#define SOAP_TOOLS_SOAP_COMPILE_TRAININGCOMMANDLINE_H

#include <CLI/CLI.hpp>

namespace soap {

struct TrainingOptions;

/// The group of all options of training.
inline constexpr char trainingGroup[] = "Training";

/// Declares what a step is built of.
void declareTraining(CLI::App &app, TrainingOptions &how);
/// Declares how a step changes parameters.
void declareOptimizer(CLI::App &app, TrainingOptions &how);

} // namespace soap

#endif // SOAP_TOOLS_SOAP_COMPILE_TRAININGCOMMANDLINE_H
