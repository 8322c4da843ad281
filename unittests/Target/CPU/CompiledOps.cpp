//===- CompiledOps.cpp - Native kernels, loaded and callable --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompiledOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "soap/Conversion/NNToLinalg/NNToLinalg.h"
#include "soap/Target/CPU/EmitKernels.h"
#include "soap/Target/CPU/Passes.h"
#include "soap/Target/Model/SharedObject.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <random>

using namespace mlir;
using namespace soap;
using namespace soap::test;

CompiledOps::CompiledOps(const std::string &text, bool channelsLast) {
  compile(text, channelsLast);
}

void CompiledOps::compile(const std::string &text, bool channelsLast) {
  DialectRegistry registry;
  registerNativeDialects(registry);
  context_.appendDialectRegistry(registry);
  context_.loadAllAvailableDialects();
  module_ = parseSourceString<ModuleOp>(text, &context_);
  if (!module_) {
    ADD_FAILURE() << "cannot parse " << text;
    return;
  }
  module_->walk([&](Operation *op) {
    if (NativeKernels::supports(op))
      ops.push_back(op);
  });
  NativeKernels kernels(*module_);
  for (Operation *op : ops) {
    FailureOr<NativeKernelCall> call = kernels.getOrCreate(
        op, channelsLast && channelsLastValues(op).has_value());
    ASSERT_TRUE(succeeded(call));
    calls.push_back(*call);
  }
  ASSERT_TRUE(succeeded(verify(*module_)));
  HostProcessor target = HostProcessor::host();
  // All loops that threads may share are split, however short they are.
  FailureOr<std::string> object =
      emitNativeObject(kernels.getModule(), target, /*leastWork=*/1);
  ASSERT_TRUE(succeeded(object));

  llvm::SmallString<128> path;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("soap-native", "so", path));
  llvm::Error error = linkSharedObject({*object}, {"table", ""}, path);
  ASSERT_FALSE(error) << llvm::toString(std::move(error));
  library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  llvm::sys::fs::remove(path);
  ASSERT_NE(library_, nullptr) << dlerror();
  table_ = reinterpret_cast<const soap_native_kernel *>(
      dlsym(library_, "soap_native_kernels"));
  ASSERT_NE(table_, nullptr);
  tableSize = kernels.size();
}

CompiledOps::~CompiledOps() {
  if (library_)
    dlclose(library_);
}

void CompiledOps::call(size_t index, const std::vector<void *> &buffers,
                       bool inParts) const {
  ASSERT_NE(table_, nullptr);
  ASSERT_LT(index, calls.size());
  const NativeKernelCall &call = calls[index];
  soap_native_services services = soap_plain_services();
  if (!inParts)
    services.parallel = [](int64_t count, int64_t, soap_native_body body,
                           void *data) { body(data, 0, count); };
  std::vector<void *> all = buffers;
  all.push_back(&services);
  table_[call.index](all.data(), call.sizes.data());
}

std::vector<float>
CompiledOps::run(size_t index,
                 const std::vector<std::vector<float>> &operands) const {
  Operation *op = ops.at(index);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  // Guards behind the result notice writes past its end.
  std::vector<float> result(type.getNumElements() + 16, -12345.0f);
  std::vector<void *> buffers;
  for (auto [value, operand] : llvm::zip(op->getOperands(), operands)) {
    EXPECT_EQ(cast<RankedTensorType>(value.getType()).getNumElements(),
              static_cast<int64_t>(operand.size()));
    buffers.push_back(const_cast<float *>(operand.data()));
  }
  std::vector<float> whole = result;
  buffers.push_back(whole.data());
  call(index, buffers, /*inParts=*/false);
  buffers.back() = result.data();
  call(index, buffers);
  // On any number of threads results are the same.
  EXPECT_EQ(
      std::memcmp(result.data(), whole.data(), result.size() * sizeof(float)),
      0);
  for (size_t i = type.getNumElements(); i < result.size(); ++i)
    EXPECT_EQ(result[i], -12345.0f) << "written past the end";
  result.resize(type.getNumElements());
  return result;
}

std::vector<float> test::randomFloats(size_t count, uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<float> distribution(0.0f, 2.0f);
  std::vector<float> values(count);
  for (float &value : values)
    value = distribution(engine);
  return values;
}

void test::expectClose(const std::vector<float> &actual,
                       const std::vector<float> &expected, double relative,
                       double absolute) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    double a = actual[i], b = expected[i];
    bool close = std::isnan(b) ? std::isnan(a)
                 : std::isinf(b)
                     ? a == b
                     : std::abs(a - b) <= absolute + relative * std::abs(b);
    ASSERT_TRUE(close) << "element " << i << ": " << a << ", expected " << b;
  }
}
