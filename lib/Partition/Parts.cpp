//===- Parts.cpp - Partial values that are taken as they are --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Planner.h"
#include "soap/Testing/PlantedFault.h"
#include "llvm/ADT/STLExtras.h"
#include <utility>

using namespace soap;
using namespace soap::detail;
using llvm::ArrayRef;

bool soap::takesParts(const Layout &producer, const Need &need) {
  if (need.parts == 1 || need.regather || need.parts != producer.parts ||
      producer.combine != Combine::Sum ||
      need.ranges.size() != producer.cuts.size())
    return false;
  for (size_t d = 0, rank = producer.cuts.size(); d != rank; ++d) {
    const auto &cuts = producer.cuts[d];
    if (need.ranges[d].size() + 1 != cuts.size())
      return false;
    for (size_t i = 0, e = need.ranges[d].size(); i != e; ++i)
      if (need.ranges[d][i] != Range{cuts[i], cuts[i + 1]})
        return false;
  }
  for (size_t slot = 0, e = need.devices.size(); slot != e; ++slot) {
    ArrayRef<int32_t> holders =
        ArrayRef<int32_t>(producer.devices)
            .slice(slot / need.copies * producer.copies, producer.copies);
    if (!llvm::is_contained(holders, need.devices[slot]))
      return false;
  }
  return true;
}

void soap::settleParts(Need &need) {
  if (need.parts == 1)
    return;
  if (SOAP_FAULT("whole-in-every-part")) {
    need.copies *= std::exchange(need.parts, 1);
    return;
  }
  size_t kept = 0, copies = need.copies;
  for (size_t slot = 0, e = need.devices.size(); slot != e; ++slot) {
    if (slot / copies % need.parts != 0)
      continue;
    need.devices[kept] = need.devices[slot];
    need.tasks[kept++] = need.tasks[slot];
  }
  need.devices.truncate(kept);
  need.tasks.truncate(kept);
  need.parts = 1;
}

void soap::settleParts(const Layout &producer, Need &need) {
  if (need.parts > 1 && !takesParts(producer, need))
    settleParts(need);
}

void Planner::serveParts() {
  int32_t copies = producer_->copies;
  for (auto [consumer, firstRead] : partReaders_) {
    const Need &need = consumers_[consumer];
    for (size_t slot = 0, e = need.devices.size(); slot != e; ++slot) {
      // Of equal copies of a part, the task takes the one where it runs.
      size_t place = slot / need.copies * copies;
      while (producer_->devices[place] != need.devices[slot])
        ++place;
      int32_t box =
          firstTileBox_ + static_cast<int32_t>(slot / need.copies / need.parts);
      plan_.reads[firstRead + slot] = {consumer, need.tasks[slot],
                                       need.devices[slot], box,
                                       addPiece(producer_->tasks[place], box)};
    }
  }
}
