//===- MovementList.cpp - What a program moves ----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Verification/MovementList.h"
#include "soap/Dialect/SOAP/Transforms/Coverage.h"
#include "soap/Dialect/SOAPRT/IR/SOAPRT.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace soap;

static constexpr Phase phases[] = {Phase::Feed, Phase::Step, Phase::Drain};

static std::string describe(const Movement &movement) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << stringify(movement.kind) << " [";
  llvm::interleaveComma(movement.devices, os);
  os << "] of [";
  llvm::interleaveComma(movement.bytes, os);
  os << "] bytes";
  return os.str();
}

MovementList MovementList::of(const TaskGraph &tasks) {
  MovementList list;
  list.host_ = tasks.topology().host();
  for (Phase phase : phases)
    for (Movement &movement : tasks.movements(phase))
      list.entries_.push_back({phase, std::move(movement)});
  return list;
}

MovementList MovementList::of(func::FuncOp main) {
  MovementList list;
  list.host_ = kHostDevice;
  for (Phase phase : phases)
    for (Movement &movement : soapir::collectMovements(main, phase, list.host_))
      list.entries_.push_back({phase, std::move(movement)});
  return list;
}

LogicalResult MovementList::compare(func::FuncOp main) const {
  auto expected = entries_.begin();
  for (Phase phase : phases)
    for (const Movement &movement :
         soapir::collectMovements(main, phase, host_)) {
      if (expected != entries_.end() && expected->phase == phase &&
          expected->movement == movement) {
        ++expected;
        continue;
      }
      return emitError(main.getLoc())
             << "expected the movements that were planned, next "
             << (expected == entries_.end() ? "none"
                                            : describe(expected->movement))
             << ", got: " << stringify(phase) << " " << describe(movement)
             << "; this is a defect of the partitioner";
    }
  if (expected != entries_.end())
    return emitError(main.getLoc())
           << "expected the movements that were planned, next "
           << stringify(expected->phase) << " " << describe(expected->movement)
           << ", got: none; this is a defect of the partitioner";
  return success();
}

LogicalResult MovementList::compare(ModuleOp programs, unsigned program) const {
  auto less = [](const Movement &a, const Movement &b) {
    return std::tie(a.kind, a.devices, a.bytes) <
           std::tie(b.kind, b.devices, b.bytes);
  };
  soaprt::ProgramMovements all =
      soaprt::collectMovements(programs, host_, program);
  std::pair<Phase, SmallVector<Movement> *> found[] = {
      {Phase::Feed, &all.feed},
      {Phase::Step, &all.step},
      {Phase::Drain, &all.drain}};
  for (auto [phase, got] : found) {
    SmallVector<Movement> expected;
    for (const Entry &phased : entries_)
      if (phased.phase == phase)
        expected.push_back(phased.movement);
    llvm::sort(expected, less);
    llvm::sort(*got, less);
    for (size_t i = 0, e = std::max(expected.size(), got->size()); i < e; ++i)
      if (i >= expected.size() || i >= got->size() ||
          !(expected[i] == (*got)[i]))
        return emitError(programs.getLoc())
               << "expected the movements that were planned, in phase "
               << stringify(phase) << " "
               << (i < expected.size() ? describe(expected[i]) : "no more")
               << ", got: "
               << (i < got->size() ? describe((*got)[i]) : "no more")
               << "; this is a defect of convert-soap-to-soaprt";
  }
  return success();
}

std::string MovementList::json() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os, /*IndentSize=*/2);
  auto writeMovement = [&](const Entry &phased) {
    const Movement &movement = phased.movement;
    json.attributeArray("bytes", [&] {
      for (int64_t bytes : movement.bytes)
        json.value(bytes);
    });
    json.attributeArray("devices", [&] {
      for (int32_t device : movement.devices)
        json.value(device == host_ ? -1 : device);
    });
    json.attribute("kind", stringify(movement.kind));
    json.attribute("phase", stringify(phased.phase));
  };
  json.object([&] {
    json.attribute("format", "soap-movements");
    json.attributeArray("movements", [&] {
      for (const Entry &phased : entries_)
        json.object([&] { writeMovement(phased); });
    });
  });
  return text;
}
