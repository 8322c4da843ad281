//===- TestModels.h - Models for tests of the compiler ----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_UNITTESTS_COMPILER_TESTMODELS_H
#define SOAP_UNITTESTS_COMPILER_TESTMODELS_H

#include "soap/Compiler/Compiler.h"
#include <string>
#include <vector>

namespace soap::test {

/// Where the weights of a model are.
enum class Weights { Inline, External };

/// An ONNX model: y = relu(... relu(relu(x w0) w1) ...), `layers` products of
/// x[batch x size] with square weights. External weights are in a file
/// "weights.bin", whose bytes go into `external`.
std::string makeModel(int layers, int batch, int size,
                      Weights where = Weights::Inline,
                      std::string *external = nullptr);

/// What the model above computes of `x`, step by step.
std::vector<float> evaluate(int layers, int batch, int size,
                            std::vector<float> x);

/// A source in memory with the model above, which lives as long as `contents`.
ModelSource inMemory(const std::string &contents,
                     const std::string &path = "model.onnx");

/// Options that depend on nothing but the machine's number of cores.
CompilerOptions quickOptions();

/// The kind and messages of a failed compilation.
struct Failure {
  CompileError::Kind kind = CompileError::Kind::Failed;
  std::string text;
};
/// Consumes the error, which must be a CompileError.
Failure failureOf(llvm::Error error);

/// A new folder, which is removed with all that is in it.
class Folder {
public:
  Folder();
  ~Folder();
  std::string file(const std::string &name) const { return path + "/" + name; }
  /// Names, sorted.
  std::vector<std::string> list() const;

  std::string path;
};

} // namespace soap::test

#endif // SOAP_UNITTESTS_COMPILER_TESTMODELS_H
