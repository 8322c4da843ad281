//===- CompiledModel.h - A compiled model's table and code ------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_MODEL_COMPILEDMODEL_H
#define SOAP_LIB_RUNTIME_MODEL_COMPILEDMODEL_H

#include "Types.h"
#include <memory>

namespace soap::runtime {

/// A checked table, the native kernels that it names and where its weights lie.
class CompiledModel {
public:
  /// Reads a build of the model in a shared library. Its code is loaded only
  /// after the table has been checked, and only if the table names native
  /// kernels.
  static std::shared_ptr<const CompiledModel>
  open(const std::string &path, soap_build build = SOAP_BUILD_MODEL);
  /// Takes a table in memory.
  static std::shared_ptr<const CompiledModel>
  fromMemory(const void *data, size_t size, const soap_native_kernel *natives,
             size_t nativeCount, const std::string &directory);
  ~CompiledModel();
  CompiledModel(const CompiledModel &) = delete;

  const fb::Model &table() const { return *table_; }
  /// True if the shared library holds a build for one device, too.
  bool hasReference() const { return hasReference_; }
  /// Of a model without device code.
  soap_native_kernel native(uint32_t symbol) const { return natives_[symbol]; }
  /// The weights file, or "" if the model has none.
  std::string weightsPath() const;
  /// Throws SOAP_INVALID unless the weights file is the one that was written
  /// with the model: size, header and blocks of its data, or, if `all`, every
  /// byte.
  void checkWeights(bool all) const;

private:
  CompiledModel(const void *data, size_t size);

  std::vector<uint64_t> storage_; ///< The table, aligned.
  const fb::Model *table_ = nullptr;
  std::vector<soap_native_kernel> natives_;
  std::string directory_;
  bool hasReference_ = false;
  void *library_ = nullptr;
};

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_MODEL_COMPILEDMODEL_H
