//===- KernelTable.h - Measured times of kernels ----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What kernels of one kind of device took, and what that says about kernels
// that were not measured: kernels of one class (the operation that their key
// begins with) are off from the analytic model by similar factors if they do
// similar work and have equal attributes.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_COSTMODEL_KERNELTABLE_H
#define SOAP_COSTMODEL_KERNELTABLE_H

#include "soap/Topology/Topology.h"
#include "llvm/ADT/StringMap.h"
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace soap {

/// The work of a kernel, as far as the analytic model sees it. Rows, columns
/// and depth describe a contraction (m, n, k of its matrix product); depth 0
/// means that there is none, and only the memory traffic counts.
struct KernelWork {
  double flops = 0;
  double bytes = 0; ///< Read plus written.
  /// Read once more, from the bytes above: by a layer that runs step by step.
  double bytesAgain = 0;
  int64_t rows = 1, columns = 1, depth = 0;
  Precision precision = Precision::F32; ///< Of a contraction.
};

/// The class of a kernel: what its key begins with, up to the first character
/// that no name of an operation has.
llvm::StringRef kernelClass(llvm::StringRef key);

/// The key of the first of several kernels of which the library makes one,
/// `KEY + KEY` (soaprt-fuse-followers); of another kernel its own.
llvm::StringRef firstOfJoined(llvm::StringRef key);

/// How well the times of one class of kernels are known without measuring:
/// means of |estimate / measured - 1|.
struct ClassError {
  std::string name;
  size_t count = 0;
  double analytic = 0; ///< By the analytic model alone.
  /// By what the table says of a kernel from all others of its class.
  double leaveOneOut = 0;
};

class KernelTable {
public:
  /// A kernel with a known time and known work.
  struct Sample {
    std::string key;
    int64_t ns = 0;
    KernelWork work;
  };

  KernelTable();

  /// The time of the kernel called `key`, in place of an earlier one. With
  /// `work`, it also tells about other kernels.
  void add(llvm::StringRef key, int64_t ns, std::optional<KernelWork> work);
  size_t size() const { return times_.size(); }

  std::optional<int64_t> find(llvm::StringRef key) const;
  /// The factor by which the analytic time of this work is to be multiplied, by
  /// a regression over what is known of the class (docs/CostModel.md); 1 if
  /// nothing is. A pure function of what was added, in any order. Threads may
  /// ask at the same time.
  double factor(llvm::StringRef key, const KernelWork &work,
                const DeviceKind &kind) const;
  /// The errors of all classes with at least two kernels, by name.
  std::vector<ClassError> errors(const DeviceKind &kind) const;

private:
  struct Fits;
  static std::vector<const Sample *>
  fittedSamples(llvm::ArrayRef<Sample> samples, const DeviceKind &kind);

  llvm::StringMap<int64_t> times_;
  llvm::StringMap<std::vector<Sample>> classes_; ///< Sorted by key.
  std::shared_ptr<Fits> fits_;                   ///< Of classes_.
};

} // namespace soap

#endif // SOAP_COSTMODEL_KERNELTABLE_H
