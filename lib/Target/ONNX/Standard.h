//===- Standard.h - What ONNX's own library knows ---------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parts of ONNX's C++ library that the importer uses: schemas of operators,
// bodies of the operators that are functions, and the binding of names and
// attributes when a body takes the place of a call. The library throws; nothing
// that is declared here does.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TARGET_ONNX_STANDARD_H
#define SOAP_LIB_TARGET_ONNX_STANDARD_H

#include "onnx/onnx-ml.pb.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace soap::onnx_import {

/// Versions of operator sets by domain; that of the default one is "".
using OperatorSets = std::map<std::string, int64_t>;
OperatorSets operatorSets(
    const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto> &list);

inline bool isStandard(const onnx::NodeProto &node) {
  return node.domain().empty() || node.domain() == "ai.onnx";
}

/// Fails with what is wrong with the inputs, outputs and attributes of a node
/// of the default domain, after the schema of its operator. A node of an
/// operator that ONNX does not have passes.
llvm::Error checkAgainstSchema(const onnx::NodeProto &node, int64_t opset);

/// True if two operator sets have the same operator `op`.
bool isUnchanged(const std::string &op, int64_t oldSet, int64_t newSet);

/// Element types and shapes of the results of a node of the default domain, in
/// the order of its outputs; unset where they do not follow from the types of
/// the operands and from `constants`, by operand.
std::vector<onnx::TypeProto>
inferTypes(const onnx::NodeProto &node, int64_t opset,
           llvm::ArrayRef<onnx::TypeProto> inputTypes,
           const std::map<int, onnx::TensorProto> &constants);

/// The body of the operator of `node` in operator set `opset` of the default
/// domain, or nothing if it is no function there. `inputTypes` are the types of
/// its operands (element type and shape), unset for those that are left out.
/// `node` gets the default values of attributes that it does not give.
std::optional<onnx::FunctionProto>
standardFunction(onnx::NodeProto &node, int64_t opset,
                 llvm::ArrayRef<onnx::TypeProto> inputTypes);

/// Replaces references to attributes of the function by the values that `call`
/// gives, or by the function's default values.
void bindAttributes(const onnx::NodeProto &call, onnx::FunctionProto &function);

/// New names by old ones.
using Renaming = llvm::StringMap<std::string>;
/// Gives the tensors that the nodes read and write their new names. Tensors
/// that the nodes' subgraphs define get new names from `uniqueName`.
void renameTensors(llvm::MutableArrayRef<onnx::NodeProto> nodes,
                   const Renaming &names,
                   llvm::function_ref<std::string(llvm::StringRef)> uniqueName);

/// Calls `read` for every tensor that a node reads, also in its subgraphs; not
/// for what these define.
void forEachRead(const onnx::NodeProto &node,
                 llvm::function_ref<void(const std::string &)> read);

} // namespace soap::onnx_import

#endif // SOAP_LIB_TARGET_ONNX_STANDARD_H
