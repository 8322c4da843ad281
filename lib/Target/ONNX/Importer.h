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
  /// Whether --batch gives a size to the symbol of an input: sizes that are
  /// fixed beside it are not batches, unless --batch-dim says so.
  bool hasBatchSymbol() const;
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
  /// Adds a problem, and returns false, if the node is not valid ONNX.
  bool checkValid(const onnx::NodeProto &node);
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
    auto it = scope_->sets.find("");
    return it == scope_->sets.end() ? 0 : it->second;
  }

  /// Operators that operator set 6 defines otherwise, and Upsample before set 9
  /// (OldForms.cpp). False if `node` is none.
  bool importOldForm(const onnx::NodeProto &node);
  /// An Upsample of operator set 7 or 8.
  void importOldUpsample(onnx::NodeProto node);

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

  // ControlFlow.cpp, Scan.cpp: If with a known condition, Loop and Scan with a
  // known trip count.
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

  const Model &model_;
  const ONNXImportOptions &options_;
  mlir::ModuleOp module_;
  mlir::OpBuilder builder_;
  llvm::StringMap<ImportedValue> values_;
  llvm::StringSet<> names_;            ///< Taken.
  llvm::StringMap<unsigned> suffixes_; ///< The last one, per name without it.
  llvm::StringSet<> initializerNames_;
  /// Elements of all constants that are known by value; bounded, so that a
  /// small file cannot ask for much memory.
  int64_t hostElements_ = 0;
  llvm::StringSet<> reserved_;        ///< Of inputs and outputs.
  llvm::StringSet<> read_;            ///< By needed nodes, or outputs.
  llvm::StringMap<unsigned> readers_; ///< How many nodes and outputs read it.
  llvm::StringSet<> tensorNames_;     ///< Of all tensors, also of bodies.
  NodeScope mainScope_;
  const NodeScope *scope_ = &mainScope_;
  int64_t inlinedNodes_ = 0;
  unsigned lastTensorName_ = 0;
  std::vector<bool> needed_;
  /// What cannot be imported of a node.
  struct NodeProblem {
    std::string type, name, message;
    std::string where; ///< The operator set, and the function it is in.
  };
  /// A line per operator and message, with the first node and how many more.
  std::vector<std::string> problemLines() const;
  std::vector<NodeProblem> problems_;
  std::vector<std::string> missingDims_;
  /// Outputs that the model does not have: their names, and the tensors.
  std::vector<std::pair<std::string, std::string>> addedOutputs_;
  /// Ops whose readers may have been imported in another form, in order.
  llvm::SmallVector<mlir::Operation *> replaced_;
  /// The size of the batch in the file, if `--batch` replaces it.
  std::optional<int64_t> oldBatch_;
};

} // namespace soap::onnx_import

#endif // SOAP_LIB_TARGET_ONNX_IMPORTER_H
