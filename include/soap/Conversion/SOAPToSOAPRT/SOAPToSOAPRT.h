//===- SOAPToSOAPRT.h - soap to soaprt --------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_CONVERSION_SOAPTOSOAPRT_SOAPTOSOAPRT_H
#define SOAP_CONVERSION_SOAPTOSOAPRT_SOAPTOSOAPRT_H

#include "mlir/Pass/Pass.h"
#include "soap/Dialect/SOAPRT/IR/SOAPRT.h"

namespace soap {

class Target;

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "soap/Conversion/SOAPToSOAPRT/Passes.h.inc"

/// convert-soap-to-soaprt for `target`, which outlives the pass.
std::unique_ptr<mlir::Pass> createConvertSOAPToSOAPRTPass(const Target &target);

/// soaprt-assign-layouts for `target`, which outlives the pass.
std::unique_ptr<mlir::Pass> createAssignLayoutsPass(const Target &target);

/// soaprt-fuse-followers for `target`, which outlives the pass.
std::unique_ptr<mlir::Pass> createFuseFollowersPass(const Target &target,
                                                    bool keepNaN);

/// soaprt-join-kernels for `target`, which outlives the pass.
std::unique_ptr<mlir::Pass> createJoinKernelsPass(const Target &target);

} // namespace soap

#endif // SOAP_CONVERSION_SOAPTOSOAPRT_SOAPTOSOAPRT_H
