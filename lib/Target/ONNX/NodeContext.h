//===- NodeContext.h - What the importer of an operator sees ----*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TARGET_ONNX_NODECONTEXT_H
#define SOAP_LIB_TARGET_ONNX_NODECONTEXT_H

#include "Importer.h"

namespace soap::onnx_import {

/// Element types that an operator reads; nn ops have no others.
enum class ElementTypes : uint8_t {
  Floats,            ///< FLOAT, DOUBLE, FLOAT16, BFLOAT16.
  Integers,          ///< INT8 to INT64, UINT8 to UINT64.
  Numbers,           ///< All of these.
  Booleans,          ///< BOOL.
  Indices,           ///< INT32, INT64.
  NumbersOrBooleans, ///< Numbers and BOOL.
  Any                ///< Also those that are only moved and cast.
};

/// What the importer of one operator sees: attributes, operands and results of
/// one node. A method that fails has reported why.
class NodeContext {
public:
  NodeContext(GraphImporter &graph, const onnx::NodeProto &node, int index);

  const onnx::NodeProto &node;
  const int index;
  int64_t opset() const { return graph_.opset(); }
  mlir::OpBuilder &builder() { return graph_.builder_; }
  const nn::Files &files() const { return graph_.options_.files; }
  /// `--batch`, and the size that it replaces.
  std::optional<int64_t> newBatch() const { return graph_.options_.batch; }
  std::optional<int64_t> oldBatch() const { return graph_.oldBatch_; }

  mlir::LogicalResult fail(const llvm::Twine &message);
  /// Fails to fold, without a message: the result has too many elements for a
  /// constant, and the node can be computed at run time.
  mlir::LogicalResult tooLargeToFold() {
    isTooLargeToFold = true;
    return mlir::failure();
  }
  bool isTooLargeToFold = false;
  /// False if only constant operands are supported.
  bool canRun = true;
  /// If set, operands of operand 0's type are cast to this one, and results
  /// back: what several ops compute is rounded once.
  mlir::Type computeType;

  // Attributes. A wrong type counts as absent here; checkAttributes() reports
  // it.
  bool hasAttribute(llvm::StringRef name) const {
    return find(name) != nullptr;
  }
  int64_t integer(llvm::StringRef name, int64_t otherwise) const;
  float number(llvm::StringRef name, float otherwise) const;
  std::string string(llvm::StringRef name, llvm::StringRef otherwise) const;
  std::optional<llvm::SmallVector<int64_t>>
  integers(llvm::StringRef name) const;
  const onnx::AttributeProto *find(llvm::StringRef name) const;
  /// Axis attribute `name`, counted from the front. Reports a bad one.
  mlir::FailureOr<int64_t> axis(int64_t value, size_t rank);

  // Operands.
  size_t numInputs() const { return static_cast<size_t>(node.input_size()); }
  bool hasInput(size_t i) const;
  ImportedValue &input(size_t i);
  llvm::ArrayRef<int64_t> shape(size_t i) { return input(i).shape; }
  /// The values of a constant operand.
  mlir::FailureOr<HostTensor> constant(size_t i, llvm::StringRef role);
  /// The same as a list of integers.
  mlir::FailureOr<llvm::SmallVector<int64_t>>
  constantIntegers(size_t i, llvm::StringRef role);
  /// True if the values of operand i are known and few.
  bool isConstant(size_t i);
  /// The operand as tensor of an nn op, by default one of floats. Reports
  /// other element types.
  mlir::FailureOr<mlir::Value>
  tensor(size_t i, ElementTypes types = ElementTypes::Floats);
  /// The operand as float tensor of another shape with as many elements;
  /// parameters stay parameters.
  mlir::FailureOr<mlir::Value> tensorAs(size_t i, llvm::ArrayRef<int64_t> shape,
                                        llvm::StringRef suffix);

  /// How many nodes and outputs read operand i.
  size_t numReaders(size_t i) const;
  /// Elements [start, start + size) of dimension `dim` of a whole parameter, as
  /// a parameter.
  mlir::Value partOf(nn::ParameterOp whole, int64_t dim, int64_t start,
                     int64_t size);
  /// Erases `op` at the end if nobody reads it then.
  void mayGo(mlir::Operation *op) { graph_.replaced_.push_back(op); }

  // Results.
  bool usesOutput(size_t i) const;
  size_t numOutputs() const { return static_cast<size_t>(node.output_size()); }
  void setResult(size_t i, mlir::Value value);
  void setResult(size_t i, ImportedValue value);
  void setResult(size_t i, HostTensor value);
  /// Tensor `name`, of nodes that take the place of this one, is `value`.
  void setValue(llvm::StringRef name, mlir::Value value);
  /// The elements of `value` if it follows from constants alone.
  std::optional<HostTensor> known(mlir::Value value);
  bool isForTraining() const { return graph_.options_.training; }
  /// `--pad-selections`.
  bool padsSelections() const { return graph_.options_.padSelections; }
  /// Makes tensor `name`, of nodes that take the place of this one, an output
  /// of the model. It is called as this node's first output and `suffix`.
  void addOutput(llvm::StringRef suffix, const std::string &name);

  /// Result 0, unless it could not be made.
  template <typename T>
  mlir::LogicalResult finish(mlir::FailureOr<T> result) {
    if (mlir::failed(result))
      return mlir::failure();
    setResult(0, std::move(*result));
    return mlir::success();
  }

  /// Creates an nn op with one result of `shape` and the element type of its
  /// first operand. Sums of floats of 16 bits are made in f32, and cast behind
  /// the op. The main op of a node takes its name; the others get
  /// `suffix` behind it. Reports shapes that are empty or too large.
  template <typename Op>
  mlir::FailureOr<mlir::Value>
  create(llvm::ArrayRef<int64_t> shape, mlir::ValueRange operands,
         llvm::ArrayRef<mlir::NamedAttribute> attributes = {},
         llvm::StringRef suffix = "") {
    return createOp(Op::getOperationName(), {}, shape, operands, attributes,
                    suffix);
  }
  /// The same with another element type.
  template <typename Op>
  mlir::FailureOr<mlir::Value>
  createOf(mlir::Type element, llvm::ArrayRef<int64_t> shape,
           mlir::ValueRange operands,
           llvm::ArrayRef<mlir::NamedAttribute> attributes = {},
           llvm::StringRef suffix = "") {
    return createOp(Op::getOperationName(), element, shape, operands,
                    attributes, suffix);
  }
  /// The same with several results, by the name of the op.
  mlir::FailureOr<mlir::Operation *>
  createNamed(llvm::StringRef opName,
              llvm::ArrayRef<mlir::RankedTensorType> types,
              mlir::ValueRange operands,
              llvm::ArrayRef<mlir::NamedAttribute> attributes = {},
              llvm::StringRef suffix = "");
  /// The element type of an ONNX type (one of ElementTypes::Any).
  mlir::Type elementType(int onnxType);
  /// Creates nn.reshape, or nothing where the shape is the same.
  mlir::FailureOr<mlir::Value> reshape(mlir::Value value,
                                       llvm::ArrayRef<int64_t> shape,
                                       llvm::StringRef suffix = "");
  /// The ONNX type in which the node computes with floats: that of operand 0,
  /// or FLOAT.
  int numberType();
  /// The scalar constant `value`, of this type.
  mlir::Value scalar(double value, llvm::StringRef suffix);
  /// A constant with these elements.
  mlir::Value constantTensor(HostTensor elements, llvm::StringRef suffix);
  /// A constant of `shape`, all of whose elements are `value`.
  mlir::Value splat(llvm::ArrayRef<int64_t> shape, float value,
                    llvm::StringRef suffix);
  mlir::Value allTrue(llvm::ArrayRef<int64_t> shape, llvm::StringRef suffix);
  /// A constant of `shape` with these elements, of the type of floats `type`;
  /// by default numberType(). One value stands for all elements.
  mlir::Value numbers(llvm::ArrayRef<int64_t> shape,
                      llvm::ArrayRef<float> values, llvm::StringRef suffix,
                      int type = onnx::TensorProto::UNDEFINED);

  mlir::NamedAttribute attr(llvm::StringRef name, llvm::ArrayRef<int64_t> v);
  mlir::NamedAttribute attr(llvm::StringRef name, int64_t v);
  mlir::NamedAttribute attr(llvm::StringRef name, float v);
  mlir::NamedAttribute attr(llvm::StringRef name, mlir::Attribute v);
  mlir::NamedAttribute unitAttr(llvm::StringRef name);

  /// Shape of the broadcast of two shapes (numpy rules). Reports a mismatch.
  mlir::FailureOr<Shape> broadcast(llvm::ArrayRef<int64_t> a,
                                   llvm::ArrayRef<int64_t> b);

  const Model &model() const { return graph_.model_; }
  /// A tensor of this node's attribute `name`, by value or by reference.
  mlir::FailureOr<ImportedValue> tensorAttribute(llvm::StringRef name);

private:
  friend class Body;
  mlir::FailureOr<mlir::Value> widened(mlir::Value value, size_t i);
  mlir::Value constantOp(mlir::DenseElementsAttr value, llvm::StringRef suffix);
  mlir::FailureOr<mlir::Value>
  createOp(llvm::StringRef opName, mlir::Type element,
           llvm::ArrayRef<int64_t> shape, mlir::ValueRange operands,
           llvm::ArrayRef<mlir::NamedAttribute> attributes,
           llvm::StringRef suffix);

  GraphImporter &graph_;
};

} // namespace soap::onnx_import

#endif // SOAP_LIB_TARGET_ONNX_NODECONTEXT_H
