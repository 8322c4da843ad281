//===- Fit.h - Simulated and measured steps side by side --------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TOOLS_SOAPRUN_FIT_H
#define SOAP_TOOLS_SOAPRUN_FIT_H

#include "Measure.h"

namespace soap::run {

/// A row of the table of a fit. Times are those of all devices, divided by
/// their number, so that those of the compute streams add up to a step.
struct FitRow {
  std::string name;
  double simulatedNs = 0, measuredNs = 0;
  bool isNode = true; ///< Else a sum: of copies, transfers, waits or all.
};

/// What a simulated step says of a model, in rows of its traced steps: nodes
/// with the largest difference first, then "copies", "waits" (what is left of a
/// step on the compute streams), "step", and "transfers", which run beside
/// these. `session` has taken steps. Measured times are medians of
/// `iterations` traced steps. Throws UsageError if the model does not know its
/// simulated step, or if it runs in several processes.
std::vector<FitRow> measureFit(Session &session, size_t iterations);

/// Prints the rows as a table, unless they are wanted as JSON, and returns
/// them: [{"name", "simulated_ns", "measured_ns", "share"}], `share` being that
/// of the measured step.
Json printFit(const std::vector<FitRow> &rows, bool json);

} // namespace soap::run

#endif // SOAP_TOOLS_SOAPRUN_FIT_H
