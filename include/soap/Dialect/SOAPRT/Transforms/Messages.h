//===- Messages.h - Which sends meet which receives -------------*- C++ -*-===//
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

} // namespace soap::soaprt

#endif // SOAP_DIALECT_SOAPRT_TRANSFORMS_MESSAGES_H
