//===- Unread.cpp - Operations that nobody reads --------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Unread.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

void soap::nn::eraseUnread(Operation *op) {
  llvm::SmallSetVector<Operation *, 8> unread;
  unread.insert(op);
  while (!unread.empty()) {
    Operation *next = unread.pop_back_val();
    if (!isOpTriviallyDead(next))
      continue;
    for (Value operand : next->getOperands())
      if (Operation *read = operand.getDefiningOp())
        unread.insert(read);
    next->erase();
  }
}

void soap::nn::eraseUnread(func::FuncOp function, NodeNames &names) {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(function.front())))
    if (isOpTriviallyDead(&op)) {
      names.release(getName(&op));
      op.erase();
    }
}
