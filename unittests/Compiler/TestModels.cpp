//===- TestModels.cpp - Models for tests of the compiler ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestModels.h"
#include "soap/Target/Registration/AllTargets.h"
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <onnx/onnx-ml.pb.h>
#include <unistd.h>

using namespace soap;
using namespace soap::test;
namespace fs = std::filesystem;

/// Element (i, j) of the weights of a layer: small, of both signs.
static float weight(int layer, int i, int j) {
  return static_cast<float>((31 * layer + 7 * i + 3 * j) % 11 - 5) / 16;
}

static void declare(onnx::ValueInfoProto *value, const std::string &name,
                    int batch, int size) {
  value->set_name(name);
  auto *type = value->mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnx::TensorProto::FLOAT);
  for (int extent : {batch, size})
    type->mutable_shape()->add_dim()->set_dim_value(extent);
}

static void addWeights(onnx::GraphProto &graph, int layer, int size,
                       Weights where, std::string &external) {
  onnx::TensorProto *tensor = graph.add_initializer();
  tensor->set_name("w" + std::to_string(layer));
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  tensor->add_dims(size);
  tensor->add_dims(size);
  std::string bytes;
  for (int i = 0; i != size; ++i)
    for (int j = 0; j != size; ++j) {
      float value = weight(layer, i, j);
      bytes.append(reinterpret_cast<const char *>(&value), sizeof(value));
    }
  if (where == Weights::Inline) {
    tensor->set_raw_data(bytes);
    return;
  }
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  auto add = [&](const char *key, const std::string &value) {
    auto *entry = tensor->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  };
  add("location", "weights.bin");
  add("offset", std::to_string(external.size()));
  add("length", std::to_string(bytes.size()));
  external += bytes;
}

std::string test::makeModel(int layers, int batch, int size, Weights where,
                            std::string *external) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  auto *set = model.add_opset_import();
  set->set_version(17);
  onnx::GraphProto &graph = *model.mutable_graph();
  graph.set_name("layers");
  declare(graph.add_input(), "x", batch, size);
  std::string previous = "x", bytes;
  for (int layer = 0; layer != layers; ++layer) {
    std::string number = std::to_string(layer);
    addWeights(graph, layer, size, where, external ? *external : bytes);
    onnx::NodeProto *product = graph.add_node(), *relu = graph.add_node();
    product->set_op_type("MatMul");
    product->set_name("product" + number);
    product->add_input(previous);
    product->add_input("w" + number);
    product->add_output("p" + number);
    previous = layer + 1 == layers ? "y" : "r" + number;
    relu->set_op_type("Relu");
    relu->set_name("relu" + number);
    relu->add_input("p" + number);
    relu->add_output(previous);
  }
  declare(graph.add_output(), "y", batch, size);
  return model.SerializeAsString();
}

std::vector<float> test::evaluate(int layers, int batch, int size,
                                  std::vector<float> x) {
  for (int layer = 0; layer != layers; ++layer) {
    std::vector<float> y(x.size());
    for (int n = 0; n != batch; ++n)
      for (int j = 0; j != size; ++j) {
        double sum = 0;
        for (int i = 0; i != size; ++i)
          sum += double{x[static_cast<size_t>(n * size + i)]} *
                 weight(layer, i, j);
        y[static_cast<size_t>(n * size + j)] =
            std::max(0.0f, static_cast<float>(sum));
      }
    x = std::move(y);
  }
  return x;
}

ModelSource test::inMemory(const std::string &contents,
                           const std::string &path) {
  ModelSource source;
  source.path = path;
  source.contents = contents;
  return source;
}

CompilerOptions test::quickOptions() {
  registerAllTargets();
  CompilerOptions options;
  options.calibration = "none";
  return options;
}

Failure test::failureOf(llvm::Error error) {
  Failure failure;
  EXPECT_TRUE(static_cast<bool>(error)) << "expected a failure";
  llvm::handleAllErrors(std::move(error), [&](const CompileError &known) {
    failure.kind = known.kind;
    failure.text = known.message();
  });
  return failure;
}

Folder::Folder() {
  std::string model = testing::TempDir() + "/soap-compiler-XXXXXX";
  EXPECT_NE(mkdtemp(model.data()), nullptr);
  path = model;
}

Folder::~Folder() { fs::remove_all(path); }

std::vector<std::string> Folder::list() const {
  std::vector<std::string> names;
  for (const auto &entry : fs::directory_iterator(path))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}
