//===- Messages.h - Which buffers travel to which others --------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_SOAPRT_TRANSFORMS_MESSAGES_H
#define SOAP_DIALECT_SOAPRT_TRANSFORMS_MESSAGES_H

#include "soap/Dialect/SOAPRT/IR/SOAPRT.h"
#include <map>
#include <tuple>

namespace soap::soaprt {

/// One end of a message.
struct MessageEnd {
  ExchangeOp exchange;
  mlir::Value buffer;
};
/// Program, sender, receiver, tag.
using MessageKey = std::tuple<llvm::StringRef, int32_t, int32_t, int32_t>;
/// In the order of rows: the n-th send meets the n-th receive.
struct MessageEnds {
  llvm::SmallVector<MessageEnd> sends, receives;
};

/// All messages of the programs of a module. Of those to and from devices that
/// are not in it, only one end is known.
std::map<MessageKey, MessageEnds> collectMessages(mlir::ModuleOp module);

/// The rows of the members of one collective, in the order of its group; null:
/// of a device that is not in the module, or that has no such row.
using CollectiveMembers = llvm::SmallVector<CollectiveOp>;

/// All collectives of the programs of a module: of one program, tag, kind and
/// group, the n-th rows of all members belong together.
std::vector<CollectiveMembers> collectCollectives(mlir::ModuleOp module);

/// A buffer of a member of a collective.
struct CollectiveEnd {
  CollectiveOp collective;
  mlir::Value buffer;
};

/// The pieces of a collective: the buffers of each hold the same elements in
/// all members that have one, or are combined element by element. Of members
/// that are null there are none.
llvm::SmallVector<llvm::SmallVector<CollectiveEnd>>
piecesOf(llvm::ArrayRef<CollectiveOp> members);

} // namespace soap::soaprt

#endif // SOAP_DIALECT_SOAPRT_TRANSFORMS_MESSAGES_H
