//===- Services.h - What kernels call of the runtime ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TARGET_CPU_SERVICES_H
#define SOAP_LIB_TARGET_CPU_SERVICES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "soap/Runtime/NativeKernel.h"

namespace soap {

/// The argument of a kernel that points to a soap_native_services, its last
/// one: added if there is none yet.
inline mlir::Value getServices(mlir::func::FuncOp kernel) {
  auto pointer = mlir::LLVM::LLVMPointerType::get(kernel.getContext());
  unsigned count = kernel.getNumArguments();
  if (count == 0 || kernel.getArgumentTypes().back() != pointer)
    kernel.insertArgument(count++, pointer, {}, kernel.getLoc());
  return kernel.getArgument(count - 1);
}

/// The function that `services` has for `member`, an LLVM pointer. All members
/// are pointers.
template <typename Member>
mlir::Value loadService(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value services,
                        Member soap_native_services::*member) {
  constexpr soap_native_services none = {};
  auto number =
      static_cast<int32_t>((reinterpret_cast<const char *>(&(none.*member)) -
                            reinterpret_cast<const char *>(&none)) /
                           sizeof(void *));
  mlir::Type pointer = services.getType();
  if (number != 0)
    services = builder.create<mlir::LLVM::GEPOp>(
        loc, pointer, pointer, services,
        llvm::ArrayRef<mlir::LLVM::GEPArg>{number});
  return builder.create<mlir::LLVM::LoadOp>(loc, pointer, services);
}

/// Calls the function that `services` has for `member`.
template <typename Member>
mlir::LLVM::CallOp callService(mlir::OpBuilder &builder, mlir::Location loc,
                               mlir::Value services,
                               Member soap_native_services::*member,
                               mlir::Type result, mlir::ValueRange operands) {
  llvm::SmallVector<mlir::Value> all = {
      loadService(builder, loc, services, member)};
  llvm::append_range(all, operands);
  return builder.create<mlir::LLVM::CallOp>(
      loc,
      mlir::LLVM::LLVMFunctionType::get(result,
                                        llvm::to_vector(operands.getTypes())),
      all);
}

} // namespace soap

#endif // SOAP_LIB_TARGET_CPU_SERVICES_H
