//===- Prefetches.h - When parameters are gathered again --------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A round (CommPlan.h) gathers a parameter for a reader. It is launched ahead
// of the reader, to hide behind the nodes in between (Zhao et al., 2023,
// "PyTorch FSDP", section 3.3.2). How far ahead follows from the launch order
// and the sizes of parameters alone, not from a strategy's configurations. Task
// graphs and the partitioner both ask the function here.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_PARTITION_PREFETCHES_H
#define SOAP_PARTITION_PREFETCHES_H

#include "llvm/ADT/ArrayRef.h"
#include <vector>

namespace soap {

/// Per node of the launch order: the position in front of which a round is
/// launched that begins with this node. The nodes from there to the one before
/// the reader read at most `limit` bytes of parameters, or are one node alone.
/// `bytesRead`: what each node reads of whole parameters.
std::vector<int32_t> prefetchPositions(llvm::ArrayRef<int64_t> bytesRead,
                                       int64_t limit);

} // namespace soap

#endif // SOAP_PARTITION_PREFETCHES_H
