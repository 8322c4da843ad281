//===- ModelExportTest.cpp - Trained weights back in the model ------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Training/ModelExport.h"
#include "soap/Tensors/Files.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <onnx/onnx-ml.pb.h>

using namespace soap::training;
namespace fs = std::filesystem;

namespace {
class ModelExport : public testing::Test {
protected:
  void SetUp() override {
    const auto *test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = testing::TempDir() + "/soap-export-" + test->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_ + "/out");
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string file(const std::string &name) { return folder_ + "/" + name; }

  static onnx::TensorProto *add(onnx::GraphProto &graph, const char *name,
                                std::vector<int64_t> dims) {
    onnx::TensorProto *tensor = graph.add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(onnx::TensorProto::FLOAT);
    for (int64_t extent : dims)
      tensor->add_dims(extent);
    return tensor;
  }

  /// Lets `tensor` have the bytes [offset, offset + length) of a file.
  static void placeIn(onnx::TensorProto &tensor, const char *location,
                      const char *offset, const char *length) {
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    for (auto [key, value] : {std::pair("location", location),
                              {"offset", offset},
                              {"length", length}}) {
      onnx::StringStringEntryProto *entry = tensor.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
  }

  std::string write(const onnx::ModelProto &proto) {
    writeFile(file("m.onnx"),
              [&](std::ostream &out) { proto.SerializeToOstream(&out); });
    return file("m.onnx");
  }

  static onnx::ModelProto read(const std::string &path) {
    onnx::ModelProto proto;
    std::ifstream in(path, std::ios::binary);
    EXPECT_TRUE(proto.ParseFromIstream(&in));
    return proto;
  }

  static Tensor floats(std::vector<int64_t> shape, std::vector<float> values) {
    Tensor tensor;
    tensor.shape = std::move(shape);
    tensor.bytes.resize(4 * values.size());
    for (size_t i = 0; i != values.size(); ++i)
      tensor.set(i, static_cast<double>(values[i]));
    return tensor;
  }

  static std::string bytesOf(const Tensor &tensor) {
    return {tensor.bytes.begin(), tensor.bytes.end()};
  }

  /// The bytes of an initializer, wherever they are.
  std::string data(const onnx::TensorProto &tensor, const std::string &folder) {
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL)
      return tensor.raw_data();
    std::map<std::string, std::string> place;
    for (const auto &entry : tensor.external_data())
      place[entry.key()] = entry.value();
    std::ifstream in(folder + "/" + place["location"], std::ios::binary);
    in.seekg(std::stoll(place["offset"]));
    std::string bytes(std::stoul(place["length"]), '\0');
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    EXPECT_TRUE(in);
    return bytes;
  }

  std::string folder_;
};
} // namespace

TEST_F(ModelExport, WeightsByNameWhereverTheModelHasThem) {
  onnx::ModelProto proto;
  onnx::GraphProto &graph = *proto.mutable_graph();
  onnx::TensorProto *typed = add(graph, "typed", {2, 2});
  for (float value : {1.f, 2.f, 3.f, 4.f})
    typed->add_float_data(value);
  // A name that only looks like the optimizer's.
  add(graph, "typed.mean", {1})->set_raw_data(std::string(4, '\0'));
  std::string frozen = "frozenfrozen";
  std::ofstream(file("weights.bin")) << "12345678" << frozen << "1234";
  placeIn(*add(graph, "frozen", {3}), "weights.bin", "8", "12");
  placeIn(*add(graph, "outside", {1}), "weights.bin", "20", "4");
  onnx::NodeProto *node = graph.add_node();
  node->set_op_type("ConstantOfShape");
  node->add_output("made");
  node = graph.add_node();
  node->set_op_type("Relu");
  node->add_output("y");

  std::map<std::string, Tensor> state = {
      {"typed", floats({4}, {5, 6, 7, 8})},
      {"typed.mean", floats({1}, {9})},
      {"typed.velocity", floats({4}, {0, 0, 0, 0})},
      {"outside", floats({1}, {10})},
      {"made", floats({1, 2}, {11, 12})},
      {"schedule", floats({}, {3})}};
  exportModel(write(proto), state, file("out/trained.onnx"));
  onnx::ModelProto result = read(file("out/trained.onnx"));
  ASSERT_EQ(result.graph().initializer_size(), 5);
  for (const onnx::TensorProto &tensor : result.graph().initializer()) {
    EXPECT_EQ(tensor.raw_data(), tensor.name() == "frozen"
                                     ? frozen
                                     : bytesOf(state.at(tensor.name())));
    EXPECT_EQ(tensor.float_data_size(), 0);
    EXPECT_EQ(tensor.external_data_size(), 0);
  }
  EXPECT_EQ(result.graph().initializer(0).dims_size(), 2);
  EXPECT_EQ(result.graph().initializer(4).dims_size(), 2);
  ASSERT_EQ(result.graph().node_size(), 1);
  EXPECT_EQ(result.graph().node(0).op_type(), "Relu");
  EXPECT_FALSE(fs::exists(file("out/trained.onnx.data")));
}

TEST_F(ModelExport, LargeModelsGetAFileForTheirData) {
  onnx::ModelProto proto;
  std::map<std::string, Tensor> state;
  for (const char *name : {"a", "b"}) {
    add(*proto.mutable_graph(), name, {300})
        ->set_raw_data(std::string(1200, 'x'));
    state[name] = floats({300}, std::vector<float>(300, name[0]));
  }
  add(*proto.mutable_graph(), "small", {1})->set_raw_data("four");
  exportModel(write(proto), state, file("out/trained.onnx"), 2000);
  onnx::ModelProto result = read(file("out/trained.onnx"));
  for (const onnx::TensorProto &tensor : result.graph().initializer())
    EXPECT_EQ(data(tensor, folder_ + "/out"),
              tensor.name() == "small" ? "four"
                                       : bytesOf(state.at(tensor.name())));
  EXPECT_EQ(result.graph().initializer(1).data_location(),
            onnx::TensorProto::EXTERNAL);
  // In place of the data that the model reads, nothing is written.
  fs::rename(file("out/trained.onnx"), file("out/m.onnx"));
  fs::rename(file("out/trained.onnx.data"), file("out/n.onnx.data"));
  for (onnx::TensorProto &tensor :
       *result.mutable_graph()->mutable_initializer())
    if (tensor.external_data_size())
      tensor.mutable_external_data(0)->set_value("n.onnx.data");
  writeFile(file("out/m.onnx"),
            [&](std::ostream &out) { result.SerializeToOstream(&out); });
  EXPECT_THROW(exportModel(file("out/m.onnx"), {}, file("out/n.onnx"), 2000),
               UsageError);
}

TEST_F(ModelExport, OtherModelsAreRefused) {
  onnx::ModelProto proto;
  add(*proto.mutable_graph(), "w", {3})->set_raw_data(std::string(12, 'x'));
  std::string model = write(proto);
  auto refuses = [&](const std::map<std::string, Tensor> &state,
                     const std::string &path, const std::string &reason) {
    try {
      exportModel(path, state, file("out/t.onnx"));
      ADD_FAILURE() << "accepted; expected: " << reason;
    } catch (const UsageError &error) {
      EXPECT_NE(std::string(error.what()).find(reason), std::string::npos)
          << error.what();
      EXPECT_NE(std::string(error.what()).find(path), std::string::npos)
          << error.what();
    }
    EXPECT_FALSE(fs::exists(file("out/t.onnx")));
  };
  refuses({{"w", floats({4}, {1, 2, 3, 4})}}, model, "another type or size");
  Tensor wide = floats({3}, {1, 2, 3});
  wide.element = SOAP_F64;
  wide.bytes.resize(24);
  refuses({{"w", wide}}, model, "another type or size");
  refuses({{"v", floats({1}, {1})}}, model, "no tensor 'v'");
  refuses({}, file("none.onnx"), "readable file");
  std::ofstream(file("text.onnx")) << "no model";
  refuses({}, file("text.onnx"), "damaged file");
}
