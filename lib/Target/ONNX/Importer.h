//===- Importer.h - From an ONNX graph to nn ops ----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TARGET_ONNX_IMPORTER_H
#define SOAP_LIB_TARGET_ONNX_IMPORTER_H

#include "Model.h"
#include "mlir/IR/Builders.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Target/ONNX/Import.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace soap::onnx_import {

struct OperatorEntry;

/// The name that --dim gives to dimension `k` of an input without a size.
std::string keyOfDim(const onnx::ValueInfoProto &input, int k);

/// What a name of the ONNX graph stands for. Constants become ops only when an
/// op reads them.
struct ImportedValue {
  enum class Kind : uint8_t {
    Failed, ///< Could not be imported; reported where it was made.
    Tensor, ///< The result of an nn op.
    Host,   ///< A small constant, known by value.
    Stored, ///< A float tensor of rank >= 1, known by reference.
    List,   ///< A sequence: names of tensors.
    Nothing ///< An optional without an element.
  };
  Kind kind = Kind::Failed;
  int elementType = onnx::TensorProto::UNDEFINED;
  Shape shape;
  mlir::Value value;      ///< Tensor; of the others once they are read.
  HostTensor host;        ///< Host.
  mlir::Attribute source; ///< Stored: #nn.file or #nn.splat.
  std::string origin;     ///< Stored: the ONNX tensor it is (a view of).
  std::string problem;    ///< Failed: what to report if it is read.
  std::vector<std::string> elements; ///< List.
};

/// Nodes that take the place of a call: their operator sets, and what an error
/// says of them.
struct NodeScope {
  OperatorSets sets;
  std::string note; ///< " (in Foo 'call')", or empty in the main graph.
  unsigned depth = 0;
};

/// The reduction of no elements to a tensor of `shape`: ReduceSum and so on.
HostTensor reducedNothing(llvm::StringRef op, int elementType,
                          llvm::ArrayRef<int64_t> shape);

/// Imports one graph.
class GraphImporter {
public:
  GraphImporter(const Model &model, const ONNXImportOptions &options,
                mlir::ModuleOp module);

  /// Fills the module. The error lists every problem.
  llvm::Error run();

private:
  friend class NodeContext;
  friend class Body;

  llvm::Error importInitializers();
  llvm::Error importInputs();
  llvm::Error importInput(const onnx::ValueInfoProto &input);
  /// The sizes of an input, and which dimensions are the batch. Dimensions
  /// without a size go to `missingDims`.
  llvm::Error resolveShape(const onnx::ValueInfoProto &input, Shape &shape,
                           llvm::SmallVectorImpl<int64_t> &sampleDims);
  llvm::Error bindInput(const std::string &name, llvm::StringRef file);
  llvm::Error checkOptions() const;
  /// Checks names: what a node reads was defined before it, and nothing is
  /// defined twice.
  llvm::Error checkNames() const;
  /// Marks the nodes that outputs depend on, and what they read.
  void findNeededNodes();
  /// Reports what the table of operators does not have.
  bool checkNode(const onnx::NodeProto &node);
  /// `index` is the node's place in the main graph, or -1.
  void importNode(const onnx::NodeProto &node, int index);
  /// True if every operand was imported; reports once why not. Says in
  /// `allHost` if all are known by value.
  bool checkOperands(const onnx::NodeProto &node, bool &allHost);

  // Functions.cpp: nodes in place of a call.
  /// Imports the body of the function that `node` calls: one of the model, or
  /// one of ONNX for operators without an importer. False if it is no call.
  bool importCall(const onnx::NodeProto &node);
  void importFunction(const onnx::NodeProto &call,
                      onnx::FunctionProto function);
  /// Imports those of `nodes` that tensors in `read` depend on.
  void importBody(std::vector<onnx::NodeProto> nodes, NodeScope scope);
  /// Imports a subgraph of `node`, whose inputs are the tensors `operands`.
  /// Returns the tensors that its outputs are, or none if it reported a
  /// problem.
  std::optional<std::vector<std::string>>
  importSubgraph(const onnx::NodeProto &node, const onnx::GraphProto &graph,
                 llvm::ArrayRef<std::string> operands,
                 const std::vector<bool> &isRead);
  /// A tensor of a body, which is in no place of the file that is known.
  void storeInline(const std::string &name, const onnx::TensorProto &proto,
                   ImportedValue &result);
  /// Reports that the bodies of calls nest too deeply or are too many nodes.
  bool countInlined(const onnx::NodeProto &call, int nodes);
  NodeScope scopeOf(const onnx::NodeProto &call, OperatorSets sets) const;
  /// A name for a tensor of a body of `call`, which no other tensor has.
  std::string uniqueTensorName(const onnx::NodeProto &call,
                               llvm::StringRef name);
  /// Marks what a needed node reads.
  void markReads(const onnx::NodeProto &node);
  /// Gives tensor `name` the value of tensor `from`.
  void alias(const std::string &name, const std::string &from);
  int64_t opset() const {
    auto it = scope->sets.find("");
    return it == scope->sets.end() ? 0 : it->second;
  }

  /// Operators that operator set 6 defines otherwise (OldForms.cpp). False if
  /// `node` is none.
  bool importOldForm(const onnx::NodeProto &node);

  // ControlFlow.cpp: If with a known condition, Loop and Scan with a known trip
  // count.
  /// False if `node` has results with elements (Empty.cpp).
  bool importEmpty(const onnx::NodeProto &node);
  /// False if `node` is no operator on sequences or optionals (Sequences.cpp).
  bool importSequence(const onnx::NodeProto &node);
  void importList(const onnx::NodeProto &node);
  void importListReader(const onnx::NodeProto &node);
  void importSplitList(const onnx::NodeProto &node);
  void importJoinedList(const onnx::NodeProto &node);
  void importOptional(const onnx::NodeProto &node);
  void setList(const std::string &name, std::vector<std::string> elements);
  /// The elements of the sequence that is operand 0; reports a tensor.
  std::optional<std::vector<std::string>>
  elementsOf(const onnx::NodeProto &node);
  /// An operand as a position from 0 to `length`; reports others.
  std::optional<int64_t> placeIn(const onnx::NodeProto &node, int input,
                                 int64_t length);
  /// False if `node` is none of these.
  bool importControlFlow(const onnx::NodeProto &node);
  void importIf(const onnx::NodeProto &node);
  void importLoop(const onnx::NodeProto &node);
  void importScan(const onnx::NodeProto &node);
  /// Of one sequence, as operator set 9 defines it.
  void scanSample(const onnx::NodeProto &node);
  /// Tensor `name` is the tensors `parts`, one behind the other along a new
  /// dimension.
  void stack(const onnx::NodeProto &node, const std::string &name,
             llvm::ArrayRef<std::string> parts, int64_t axis);
  /// Row `index` of a tensor along `axis`, without this dimension.
  std::string rowOf(const onnx::NodeProto &node, const std::string &tensor,
                    int64_t axis, int64_t index);
  /// True if the value is known, or becomes known by computing what it follows
  /// from (Evaluation.cpp): constants alone.
  bool evaluate(ImportedValue &value);
  /// The one element of a tensor that is known by value.
  std::optional<int64_t> knownInteger(const std::string &name);
  void define(const std::string &name, int elementType, int64_t value);

  llvm::Error importOutputs();
  llvm::Error importOutput(const std::string &name, const std::string &tensor);
  /// A copy that an operation makes: what an output reads has to be on a
  /// device.
  mlir::Value copyOf(mlir::Value value, llvm::StringRef name);

  /// The op that holds a value; makes nn.parameter or nn.constant on first use.
  mlir::Value materialize(ImportedValue &value, llvm::StringRef name);
  llvm::Error storeTensor(const std::string &name, const TensorRecord &record,
                          ImportedValue &result);
  mlir::RankedTensorType tensorType(llvm::ArrayRef<int64_t> shape,
                                    int elementType);
  /// `base`, with a number behind it if it is taken.
  std::string uniqueName(llvm::StringRef base);
  void addProblem(const onnx::NodeProto &node, const llvm::Twine &message);
  /// Erases what normal forms left behind.
  void eraseUnread();

  const Model &model;
  const ONNXImportOptions &options;
  mlir::ModuleOp module;
  mlir::OpBuilder builder;
  llvm::StringMap<ImportedValue> values;
  llvm::StringSet<> names;            ///< Taken.
  llvm::StringMap<unsigned> suffixes; ///< The last one, per name without it.
  llvm::StringSet<> initializerNames;
  /// Elements of all constants that are known by value; bounded, so that a
  /// small file cannot ask for much memory.
  int64_t hostElements = 0;
  llvm::StringSet<> reserved;        ///< Of inputs and outputs.
  llvm::StringSet<> read;            ///< By needed nodes, or outputs.
  llvm::StringMap<unsigned> readers; ///< How many nodes and outputs read it.
  llvm::StringSet<> tensorNames;     ///< Of all tensors, also of bodies.
  NodeScope mainScope;
  const NodeScope *scope = &mainScope;
  int64_t inlinedNodes = 0;
  unsigned lastTensorName = 0;
  std::vector<bool> needed;
  /// What cannot be imported of a node.
  struct NodeProblem {
    std::string type, name, message;
    std::string where; ///< The operator set, and the function it is in.
  };
  /// A line per operator and message, with the first node and how many more.
  std::vector<std::string> problemLines() const;
  std::vector<NodeProblem> problems;
  std::vector<std::string> missingDims;
  /// Outputs that the model does not have: their names, and the tensors.
  std::vector<std::pair<std::string, std::string>> addedOutputs;
  /// Ops whose readers may have been imported in another form, in order.
  llvm::SmallVector<mlir::Operation *> replaced;
  /// The size of the batch in the file, if `--batch` replaces it.
  std::optional<int64_t> oldBatch;
};

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
  int64_t opset() const { return graph.opset(); }
  mlir::OpBuilder &builder() { return graph.builder; }
  const nn::Files &files() const { return graph.options.files; }
  /// `--batch`, and the size that it replaces.
  std::optional<int64_t> newBatch() const { return graph.options.batch; }
  std::optional<int64_t> oldBatch() const { return graph.oldBatch; }

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
  /// `op` goes at the end if nobody reads it then.
  void mayGo(mlir::Operation *op) { graph.replaced.push_back(op); }

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
  /// `--pad-selections`.
  bool padsSelections() const { return graph.options.padSelections; }
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

  const Model &model() const { return graph.model; }
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

  GraphImporter &graph;
};

} // namespace soap::onnx_import

#endif // SOAP_LIB_TARGET_ONNX_IMPORTER_H
