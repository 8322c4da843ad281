//===- Report.h - What soap-run prints --------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TOOLS_SOAPRUN_REPORT_H
#define SOAP_TOOLS_SOAPRUN_REPORT_H

#include "Measure.h"
#include "soap/Tensors/Compare.h"

namespace soap::run {

/// What printf shall print: NaN without its sign.
double printable(double value);

/// Prints soap_model_info() as text.
void printInfo(const Json &info);

/// The output that `NAME[:TOPK]` asks for, and how many of its elements, 0 for
/// all. A name may have colons. Throws UsageError.
std::pair<size_t, size_t> findPrinted(const std::string &text,
                                      const Session &session);

// The others print unless `json`, and return the same as JSON.

/// An output, as a --print asks for it.
Json printTensor(const std::string &request, const Session &session, bool json);

Json printComparison(const char *what, const Comparison &comparison, bool json);

/// `batch`: samples per step.
Json printTimes(const char *what, const StepTimes &times, int64_t batch,
                bool json);

} // namespace soap::run

#endif // SOAP_TOOLS_SOAPRUN_REPORT_H
