//===- Gradients.h - Gradients of nn operations -----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reverse-mode differentiation of nn operations: the interface by which an
// operation says what its gradients are, and the builder that makes them. A
// gradient is made of nn operations, which join the group of the operation that
// they belong to, so that one configuration places all of them.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_GRADIENTS_GRADIENTS_H
#define SOAP_DIALECT_NN_GRADIENTS_GRADIENTS_H

#include "soap/Dialect/NN/IR/NN.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <string>

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace soap::nn {

/// For loops of a gradient operation, by name, the loops of the operation it
/// belongs to along which they run.
using LoopNames = llvm::SmallVector<std::pair<std::string, std::string>, 6>;

/// Builds the operations of which the gradients of one operation, the leader,
/// consist: names them as `name` says, with a number where there are several,
/// and makes them members of its group, or, if it is a member of one itself, of
/// that. Element types are those of the operands.
class GradientBuilder {
public:
  /// Inserts where `builder` does. `unique` makes a name unique in the block.
  /// A null leader: operations are in groups of their own and called after
  /// `name`.
  GradientBuilder(mlir::OpBuilder &builder, mlir::Operation *leader,
                  llvm::StringRef name,
                  llvm::function_ref<std::string(llvm::StringRef)> unique);

  /// @{ Names an operation and makes it a member of the leader's group: along
  /// `loops`; or by names of dimensions (d0, d1, ...), where dimension i of a
  /// value of the leader's, read or written by `access`, is loop d<i>.
  template <typename Op>
  Op join(Op op, const LoopNames &loops) {
    joinAlong(op.getOperation(), loops);
    return op;
  }
  template <typename Op>
  Op join(Op op, const ValueAccess &access) {
    joinAlong(op.getOperation(), dimLoops(access));
    return op;
  }
  /// @}
  /// Creates an operation that is not yet a member of the group.
  template <typename Op, typename... Args>
  Op create(Args &&...args) {
    return builder_.create<Op>(loc_, std::forward<Args>(args)...);
  }

  /// @{ How the leader touches an operand or result.
  const ValueAccess &operandAccess(unsigned operand) const {
    return spec_.operands[operand];
  }
  const ValueAccess &resultAccess(unsigned result = 0) const {
    return spec_.results[result];
  }
  /// @}
  /// The operation that the gradients belong to, or null.
  mlir::Operation *leader() const { return leader_; }
  const PartitionSpec &spec() const { return spec_; }
  mlir::Type getI64Type() { return builder_.getI64Type(); }
  mlir::Type getI1Type() { return builder_.getI1Type(); }
  /// Loops of the leader's under their own names: for operations that declare
  /// loops of the same roles.
  LoopNames sameLoops() const;

  /// @{ Operations per element on values whose dimensions are, aligned on the
  /// right, those of the frame: by default, of the leader's first result.
  /// Operands broadcast.
  void setFrame(ValueAccess access) { frame_ = std::move(access); }
  mlir::Value add(mlir::Value a, mlir::Value b);
  /// The sum of two gradients by one value, which follows the maker of
  /// `gradient`, else that of `sum`, if it can; else as add() does.
  mlir::Value addInPlace(mlir::Value sum, mlir::Value gradient);
  /// The sum of two gradients by one value, if each is zeros around another
  /// value, along one dimension, and these values lie side by side: their
  /// concatenation, with the zeros around both. Else null, and nothing happens.
  /// With `followsMaker`, in the group that addInPlace() would choose. Erases
  /// what is not needed any more.
  mlir::Value addBeside(mlir::Value sum, mlir::Value gradient,
                        bool followsMaker);
  /// Moves an operation to the group in which an operand is made (the last
  /// operand that will do), if it can take parts of it there that are not
  /// reduced yet. False, and nothing happens, if not.
  bool followMaker(mlir::Operation *op);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value pow(mlir::Value a, mlir::Value b);
  mlir::Value min(mlir::Value a, mlir::Value b);
  mlir::Value max(mlir::Value a, mlir::Value b);
  mlir::Value where(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value compare(Predicate predicate, mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, double factor);
  mlir::Value add(mlir::Value a, double addend);
  mlir::Value pow(mlir::Value a, double exponent);
  template <typename Op>
  mlir::Value unary(mlir::Value x) {
    return inFrame(create<Op>(x.getType(), x));
  }
  mlir::Value expand(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  /// The sum over `axes`, of which dimensions of size 1 stay.
  mlir::Value sum(mlir::Value x, llvm::ArrayRef<int64_t> axes);
  /// @}

  /// The sum of `gradient` over the dimensions along which a value of type
  /// `type` was broadcast to its shape, in that type.
  mlir::Value sumToShape(mlir::Value gradient, mlir::Type type);

  /// `x` in another shape, with dimensions of size 1 more or less; `x` itself
  /// if it has that shape. Dimensions of x are those of the frame, aligned on
  /// the right.
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  /// `x` in another shape whose dimensions run along `loops`; `x` itself if it
  /// has that shape.
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape,
                      const LoopNames &loops);
  /// Its loops run along those of the frame, which is that of `x`.
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> permutation);
  mlir::Value convert(mlir::Value x, mlir::Type element);

  /// @{ A scalar, or a value of `type` with equal elements: in no group.
  mlir::Value scalar(mlir::Type element, double number);
  mlir::Value splat(mlir::Type type, double number);
  mlir::Value splatInteger(mlir::RankedTensorType type, int64_t number);
  /// These elements in row-major order.
  mlir::Value numbers(llvm::ArrayRef<int64_t> shape, mlir::Type element,
                      llvm::ArrayRef<double> list);
  /// @}

private:
  void joinAlong(mlir::Operation *op, const LoopNames &loops);
  /// Lets a member of a group take parts of an operand that another member
  /// makes in the same tiles, by loops of parts (nn.parts); false if there is
  /// none.
  bool takeParts(mlir::Operation *op); // Parts.cpp
  LoopNames dimLoops(const ValueAccess &access, unsigned rank) const;
  LoopNames dimLoops(const ValueAccess &access) const {
    return dimLoops(access, access.dims.size());
  }
  mlir::Value inFrame(mlir::Operation *op);
  template <typename Op>
  mlir::Value binary(mlir::Value a, mlir::Value b);

  mlir::OpBuilder &builder_;
  mlir::Operation *leader_;
  mlir::Location loc_;
  std::string name_;
  llvm::function_ref<std::string(llvm::StringRef)> unique_;
  PartitionSpec spec_;
  /// Per loop of `spec_`, the loop of the leader of the group; empty: none.
  llvm::SmallVector<llvm::StringRef, 6> leaderLoops_;
  ValueAccess frame_;
};

/// Makes the operations of the dialect that have gradients implement
/// DifferentiableOpInterface, in all contexts that use the registry.
void registerGradients(mlir::DialectRegistry &registry);

} // namespace soap::nn

#include "soap/Dialect/NN/Gradients/DifferentiableInterface.h.inc"

#endif // SOAP_DIALECT_NN_GRADIENTS_GRADIENTS_H
