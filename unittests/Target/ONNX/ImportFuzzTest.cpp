//===- ImportFuzzTest.cpp - Mutated models never crash ----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Mutates the light models, byte by byte and field by field, and imports them.
// Every import must end in a module or in an error with a message. Environment:
//   SOAP_FUZZ_CASES  number of mutated models, 2000 if not set
//   SOAP_FUZZ_FIRST  number of the first case, 0 if not set
// A case depends on its number alone. A crash leaves the mutated model in the
// temporary folder as soap-import-fuzz.onnx.
//
//===----------------------------------------------------------------------===//

#include "../../FromEnvironment.h"
#include "mlir/IR/MLIRContext.h"
#include "onnx/onnx-ml.pb.h"
#include "soap/Target/ONNX/Import.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <gtest/gtest.h>
#include <random>

using namespace soap;

namespace {

using Random = std::mt19937_64;

uint64_t below(Random &random, uint64_t bound) {
  return bound ? random() % bound : 0;
}

/// A number that is likely to break something.
int64_t nastyNumber(Random &random) {
  static constexpr int64_t numbers[] = {
      0,         1,         -1,        2,           3,         7,
      255,       65536,     INT32_MAX, INT32_MIN,   INT64_MAX, INT64_MIN,
      1ll << 31, 1ll << 40, 1ll << 62, -(1ll << 31)};
  return numbers[below(random, std::size(numbers))];
}

void mutateBytes(std::string &bytes, Random &random) {
  uint64_t count = 1 + below(random, 4);
  for (uint64_t i = 0; i != count && !bytes.empty(); ++i) {
    size_t at = below(random, bytes.size());
    size_t length = 1 + below(random, std::min<size_t>(16, bytes.size() - at));
    switch (below(random, 6)) {
    case 0:
      bytes[at] ^= static_cast<char>(1u << below(random, 8));
      break;
    case 1:
      bytes[at] = static_cast<char>(random());
      break;
    case 2:
      bytes.resize(at);
      break;
    case 3:
      bytes.erase(at, length);
      break;
    case 4:
      bytes.insert(at, bytes.substr(at, length));
      break;
    default:
      bytes.insert(at, length, static_cast<char>(0xff));
    }
  }
}

/// Changes one thing in a well-formed model.
void mutateField(onnx::ModelProto &model, Random &random) {
  onnx::GraphProto &graph = *model.mutable_graph();
  auto any = [&](int size) {
    return static_cast<int>(below(random, static_cast<uint64_t>(size)));
  };
  onnx::NodeProto &node = *graph.mutable_node(any(graph.node_size()));
  const onnx::NodeProto &other = graph.node(any(graph.node_size()));
  switch (below(random, 12)) {
  case 0: // Another operator.
    node.set_op_type(other.op_type());
    return;
  case 1: // Operands exchanged, or a cycle.
    if (node.input_size() && other.output_size())
      node.set_input(any(node.input_size()), other.output(0));
    return;
  case 2: // An operand more or less.
    if (below(random, 2) && node.input_size())
      node.mutable_input()->RemoveLast();
    else
      node.add_input(other.input_size() ? other.input(0) : "");
    return;
  case 3: // A result twice.
    if (node.output_size() && other.output_size())
      node.set_output(0, other.output(0));
    return;
  case 4:
  case 5: // An attribute's value.
    if (node.attribute_size()) {
      auto &attribute = *node.mutable_attribute(any(node.attribute_size()));
      if (attribute.ints_size() && below(random, 4))
        attribute.set_ints(any(attribute.ints_size()), nastyNumber(random));
      else if (attribute.ints_size())
        attribute.add_ints(nastyNumber(random));
      else if (attribute.has_i())
        attribute.set_i(nastyNumber(random));
      else if (attribute.has_f())
        attribute.set_f(static_cast<float>(nastyNumber(random)));
      else if (attribute.has_t())
        attribute.mutable_t()->add_dims(nastyNumber(random));
    }
    return;
  case 6: { // An attribute of another node.
    if (other.attribute_size()) {
      onnx::AttributeProto copy = other.attribute(any(other.attribute_size()));
      *node.add_attribute() = copy;
    }
    return;
  }
  case 7: // An initializer's shape or type.
    if (graph.initializer_size()) {
      auto &tensor = *graph.mutable_initializer(any(graph.initializer_size()));
      if (tensor.dims_size() && below(random, 2))
        tensor.set_dims(any(tensor.dims_size()), nastyNumber(random));
      else if (below(random, 2))
        tensor.add_dims(nastyNumber(random));
      else
        tensor.set_data_type(any(30));
    }
    return;
  case 8: // A shape that the graph computes with.
    if (graph.initializer_size()) {
      auto &tensor = *graph.mutable_initializer(any(graph.initializer_size()));
      std::string &raw = *tensor.mutable_raw_data();
      int64_t number = nastyNumber(random);
      if (raw.size() >= 8)
        raw.replace(8 * below(random, raw.size() / 8), 8,
                    reinterpret_cast<const char *>(&number), 8);
    }
    return;
  case 9: // An input's shape.
    for (auto &input : *graph.mutable_input()) {
      auto &shape =
          *input.mutable_type()->mutable_tensor_type()->mutable_shape();
      if (shape.dim_size() && below(random, 4) == 0)
        shape.mutable_dim(any(shape.dim_size()))
            ->set_dim_value(nastyNumber(random));
    }
    return;
  case 10: // External data somewhere.
    if (graph.initializer_size()) {
      auto &tensor = *graph.mutable_initializer(any(graph.initializer_size()));
      tensor.set_data_location(onnx::TensorProto::EXTERNAL);
      auto &entry = *tensor.add_external_data();
      entry.set_key(below(random, 2) ? "location" : "offset");
      entry.set_value(below(random, 2) ? "soap-import-fuzz.onnx" : "-1");
    }
    return;
  default: // Another operator set.
    for (auto &set : *model.mutable_opset_import())
      set.set_version(5 + any(22));
  }
}

std::vector<std::string> lightModels() {
  std::vector<std::string> paths;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator it(ONNX_LIGHT_MODEL_DIR, code), end;
       it != end && !code; it.increment(code))
    if (llvm::sys::path::extension(it->path()) == ".onnx")
      paths.push_back(it->path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST(ImportFuzz, MutatedModelsNeverCrash) {
  std::vector<std::string> small, large;
  for (const std::string &path : lightModels()) {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    ASSERT_TRUE(static_cast<bool>(buffer)) << path;
    std::string bytes = (*buffer)->getBuffer().str();
    (bytes.size() < 20000 ? small : large).push_back(std::move(bytes));
  }
  ASSERT_FALSE(small.empty());
  ASSERT_FALSE(large.empty());

  uint64_t cases = soap::test::fromEnvironment("SOAP_FUZZ_CASES", 2000);
  uint64_t first = soap::test::fromEnvironment("SOAP_FUZZ_FIRST", 0);
  llvm::SmallString<128> path(::testing::TempDir());
  llvm::sys::path::append(path, "soap-import-fuzz.onnx");
  uint64_t imported = 0, refused = 0;
  std::unique_ptr<mlir::MLIRContext> context;
  for (uint64_t i = first; i != first + cases; ++i) {
    // Attributes are never freed: a new context now and then.
    if (!context || i % 64 == 0)
      context = std::make_unique<mlir::MLIRContext>(
          mlir::MLIRContext::Threading::DISABLED);
    Random random(i);
    const auto &models = below(random, 10) ? small : large;
    std::string bytes = models[below(random, models.size())];
    if (below(random, 3) == 0) {
      mutateBytes(bytes, random);
    } else {
      onnx::ModelProto model;
      ASSERT_TRUE(model.ParseFromString(bytes));
      uint64_t changes = 1 + below(random, 3);
      for (uint64_t k = 0; k != changes; ++k)
        mutateField(model, random);
      bytes = model.SerializeAsString();
    }
    {
      std::error_code code;
      llvm::raw_fd_ostream file(path, code);
      ASSERT_FALSE(code) << code.message();
      file << bytes;
    }
    ONNXImportOptions options;
    if (below(random, 2))
      options.batch = 1 + static_cast<int64_t>(below(random, 4));
    if (below(random, 2))
      options.initWeightsSeed = i;
    auto module = importONNX(path, options, *context);
    if (module) {
      ++imported;
      continue;
    }
    ++refused;
    std::string message = llvm::toString(module.takeError());
    EXPECT_NE(message.find("expected"), std::string::npos)
        << "case " << i << ": " << message;
  }
  std::printf("cases %llu to %llu: %llu imported, %llu refused\n",
              static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(first + cases - 1),
              static_cast<unsigned long long>(imported),
              static_cast<unsigned long long>(refused));
  // Mutations that are all refused, or all harmless, would test nothing.
  if (cases >= 100) {
    EXPECT_GT(imported, cases / 50);
    EXPECT_GT(refused, cases / 50);
  }
  llvm::sys::fs::remove(path);
}

} // namespace
