//===- Verification.h - A strategy against one device -----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// soap-run --verify: runs the build for one device that a compiled model holds,
// keeps all its values, then compares every tile that the model's devices
// compute or receive with them, while the model runs.
//
// With several processes, rank 0 does so. The others have no reference: they
// keep the tiles of their devices and bring them to rank 0 after the step.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TOOLS_SOAPRUN_VERIFICATION_H
#define SOAP_TOOLS_SOAPRUN_VERIFICATION_H

#include "KeptTile.h"
#include "Measure.h"
#include "soap/Tensors/TileComparison.h"
#include <mutex>

namespace soap::run {

class Verification {
public:
  /// Of a program; by default, the first one.
  Verification(const Tolerance &tolerance, std::string program)
      : tolerance_(tolerance), program_(std::move(program)) {}

  /// Runs the reference in `path` once; to be called before the model is loaded
  /// where all is compared. Throws UsageError if there is none.
  void runReference(const std::string &path,
                    const std::map<std::string, std::string> &inputs);

  /// For loading the model: compares or keeps what it is shown, until finish().
  static void show(const soap_tile *tile, void *verification);
  /// After one step of the model: brings what all processes kept to rank 0,
  /// which compares the outputs, too, and looks at what was not compared.
  /// Throws UsageError if nothing was. Collective.
  void finish(Session &session);

  bool equal() const { return different_ == 0; }
  /// Prints the summary and the first difference; returns both as JSON.
  Json report(bool json) const;

private:
  /// A value of the reference, in graph order.
  struct Value {
    std::string name;
    uint32_t result = 0;
    bool input = false;  ///< Of the model: devices hold what they read of it.
    bool output = false; ///< Of the model, as it reaches the host.
    Tensor tensor;
    std::vector<Box> boxes; ///< What is known of `tensor`.
    bool known = false;     ///< All of it is.
    double scale = 0;       ///< Its root mean square.
    Tolerance tolerance;
  };

  /// What the devices of the model hold of it.
  struct Holdings {
    std::vector<Box> boxes; ///< Of complete tiles.
    size_t partials = 0;    ///< Tiles of partial results.
    double squaredError = 0, squaredExpected = 0;
    bool different = false;
  };

  /// A tile that differs.
  struct Difference {
    size_t value = 0;
    Box box;
    uint32_t device = 0;
    int32_t row = 0, task = 0;
    std::string rowName, reason;
    soap_origin origin = SOAP_COMPUTED;
    TileComparison comparison;

    bool operator<(const Difference &other) const;
  };

  /// The parts of a box that were added up so far.
  struct PartSum {
    std::vector<bool> counted;
    size_t missing = 0;
    uint32_t device = UINT32_MAX; ///< The first that made one.
    std::vector<char> data;
  };

  struct Omission {
    std::string name, reason;
    uint32_t result;
  };

  Value &addPort(const soap_port &port, const Tensor &tensor);
  static void record(const soap_tile *tile, void *verification);
  void record(const soap_tile &tile);
  void compare(const soap_tile &tile);
  void compare(const soap_tile &tile, size_t value);
  void addPart(const soap_tile &tile, size_t value);
  std::string nameOf(const Value &value) const;
  void compareOutputs(const Session &session);
  void sumUp();
  Json describe(const Difference &difference) const;
  void print(const Difference &difference) const;

  /// Whether a tile is of the program that is verified.
  bool concerns(const soap_tile &tile) const {
    return program_.empty() ? tile.program_index == 0
                            : program_ == tile.program;
  }

  Tolerance tolerance_;
  std::string program_;
  std::mutex mutex_; ///< Devices show their tiles at the same time.
  std::vector<Value> values_;
  std::map<std::pair<std::string, uint32_t>, size_t> valueOf_;
  std::vector<Holdings> holdings_; ///< Of each value.
  std::map<std::pair<std::string, uint32_t>, std::string> unknown_;
  std::vector<KeptTile> kept_;                         ///< Without a reference.
  std::map<std::pair<size_t, Box>, PartSum> partSums_; ///< By value and box.
  bool hasReference_ = false, running_ = true;

  size_t tensors_ = 0, tiles_ = 0, elements_ = 0, different_ = 0;
  size_t worst_ = 0; ///< Value with the largest error, if `tensors` > 0.
  double worstError_ = -1;
  std::vector<Difference> differences_;
  std::vector<Omission> omissions_;
};

} // namespace soap::run

#endif // SOAP_TOOLS_SOAPRUN_VERIFICATION_H
