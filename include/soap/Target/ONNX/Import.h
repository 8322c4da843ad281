//===- Import.h - ONNX models as nn graphs ----------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads an ONNX model (operator sets 6 to 27) into a module with one function
// `@main` of nn ops in normal form: static shapes, explicit pads, shape
// arithmetic folded away. Weights stay where they are: nn.parameter refers to
// bytes of the model file or of its external data.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TARGET_ONNX_IMPORT_H
#define SOAP_TARGET_ONNX_IMPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "soap/Dialect/NN/IR/Files.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace soap {

/// What the user says about a model. Names are those of the ONNX file.
struct ONNXImportOptions {
  /// The size of the batch: of the symbol at the batch dimension of the inputs,
  /// or in place of the size that the file fixes.
  std::optional<int64_t> batch;
  /// Sizes of symbolic dimensions; an anonymous dimension k of input x is
  /// called `x:k`.
  std::map<std::string, int64_t> dims;
  /// Which dimension of an input is the batch, where it is not 0.
  std::map<std::string, int64_t> batchDims;
  /// Inputs that become constants: name and file (.npy, or .pb with a
  /// serialized TensorProto).
  std::map<std::string, std::string> bindings;
  /// Results whose number of rows follows from values that are not known (of
  /// NonMaxSuppression) have as many as there can be: the others are -1, and an
  /// output `NAME_count`, after the result's name, says how many count.
  bool padSelections = false;
  /// Keep Dropout, which inference does without, as nn.dropout: for
  /// nn-build-training-step.
  bool training = false;
  /// Replace parameters that the model leaves constant by seeded random values.
  std::optional<uint64_t> initWeightsSeed;
  /// Computes nn operations whose operands are known; `values` holds dense
  /// row-major elements, a byte for a truth value, and gets the results. With
  /// it, all that shapes, axes and indices may depend on is known if it follows
  /// from constants; without it, only what the importer folds itself.
  std::function<llvm::Error(
      llvm::ArrayRef<mlir::Operation *> ops,
      llvm::DenseMap<mlir::Value, std::vector<char>> &values)>
      evaluate;
  /// Where model, external data and bindings are read from.
  nn::Files files;
};

/// Imports the model at `path`. Relative paths in `#nn.file` are as `path`:
/// relative to the working directory. The module passes the verifier. Every
/// problem of a model is in the one error: a first line that says what was
/// expected, what came, and the cure, and possibly indented lines, one per
/// node.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importONNX(llvm::StringRef path, const ONNXImportOptions &options,
           mlir::MLIRContext &context);

/// Replaces splat parameters (and small ones that are constant in their file)
/// of `module` by `#nn.random` recipes, by role: weights of convolutions and
/// matrix products are normal with a variance of 2/fan_in, divided by the
/// estimated second moment of what they are applied to, so that activations
/// keep their scale in deep networks; scales and variances of batch norms are
/// uniform in [0.5, 1.5], biases and means normal with standard deviation 0.1.
/// Recipes are named by the ONNX tensor, so that views of one tensor have the
/// same values. `files` has what parameters refer to.
void initializeWeights(mlir::ModuleOp module, uint64_t seed,
                       const nn::Files &files = {});

/// Writes the recipes of a module as a JSON array: tensor, elements, seed,
/// distribution, a, b.
void writeRecipes(mlir::ModuleOp module, llvm::raw_ostream &os);

/// Writes the table of supported operators in Markdown.
void listONNXOperators(llvm::raw_ostream &os);

} // namespace soap

#endif // SOAP_TARGET_ONNX_IMPORT_H
