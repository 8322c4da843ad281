//===- ModelExport.cpp - Trained weights back in the model ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Training/ModelExport.h"
#include "soap/Tensors/Files.h"
#include "soap/Tensors/TensorProto.h"
#include <algorithm>
#include <filesystem>
#include <functional>
#include <onnx/onnx-ml.pb.h>

using namespace soap;
using namespace soap::training;
namespace fs = std::filesystem;

static UsageError wrongModel(const std::string &model,
                             const std::string &what) {
  return UsageError("expected the model that was trained in '" + model +
                    "', got: " + what +
                    "; --onnx-model is the file that soap-compile has read");
}

//===----------------------------------------------------------------------===//
// Data in other files
//===----------------------------------------------------------------------===//

/// All tensors that a graph holds, in nodes and their bodies, too.
static void
forEachTensor(onnx::GraphProto &graph,
              const std::function<void(onnx::TensorProto &)> &body) {
  for (onnx::TensorProto &tensor : *graph.mutable_initializer())
    body(tensor);
  for (onnx::NodeProto &node : *graph.mutable_node())
    for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
      if (attribute.has_t())
        body(*attribute.mutable_t());
      for (onnx::TensorProto &tensor : *attribute.mutable_tensors())
        body(tensor);
      if (attribute.has_g())
        forEachTensor(*attribute.mutable_g(), body);
      for (onnx::GraphProto &inner : *attribute.mutable_graphs())
        forEachTensor(inner, body);
    }
}

static fs::path externalFile(const onnx::TensorProto &tensor,
                             const fs::path &folder) {
  for (const onnx::StringStringEntryProto &entry : tensor.external_data())
    if (entry.key() == "location")
      return folder / entry.value();
  return {};
}

/// Takes the bytes of a tensor out of the file that it names.
static void takeIn(onnx::TensorProto &tensor, const fs::path &folder) {
  fs::path file = externalFile(tensor, folder);
  uint64_t offset = 0, length = UINT64_MAX;
  try {
    for (const onnx::StringStringEntryProto &entry : tensor.external_data())
      if (entry.key() == "offset")
        offset = std::stoull(entry.value());
      else if (entry.key() == "length")
        length = std::stoull(entry.value());
  } catch (const std::logic_error &) {
    throw UsageError("expected the place of '" + tensor.name() + "' in '" +
                     file.string() + "', got: no number");
  }
  std::ifstream stream = openFile(file.string());
  uint64_t size = fs::file_size(file);
  length = std::min(length, size - std::min(offset, size));
  std::string bytes(length, '\0');
  stream.seekg(static_cast<std::streamoff>(offset));
  stream.read(bytes.data(), static_cast<std::streamsize>(length));
  if (!stream)
    throw UsageError("expected " + std::to_string(length) + " bytes of '" +
                     tensor.name() + "' in '" + file.string() +
                     "', got: less; is the file whole?");
  tensor.set_raw_data(std::move(bytes));
  tensor.clear_external_data();
  tensor.clear_data_location();
}

/// Writes the data of large initializers to `path`.data, where they are read
/// from then on.
static void putOut(onnx::GraphProto &graph, const std::string &path) {
  constexpr size_t least = 1024, alignment = 64;
  std::string location = fs::path(path).filename().string() + ".data";
  std::vector<onnx::TensorProto *> moved;
  for (onnx::TensorProto &tensor : *graph.mutable_initializer())
    if (tensor.raw_data().size() >= least)
      moved.push_back(&tensor);
  std::vector<uint64_t> offsets;
  writeFile(path + ".data", [&](std::ostream &file) {
    uint64_t end = 0;
    for (const onnx::TensorProto *tensor : moved) {
      std::string pad((alignment - end % alignment) % alignment, '\0');
      file << pad << tensor->raw_data();
      offsets.push_back(end + pad.size());
      end += pad.size() + tensor->raw_data().size();
    }
  });
  for (size_t i = 0; i != moved.size(); ++i) {
    onnx::TensorProto &tensor = *moved[i];
    auto say = [&](const char *key, const std::string &value) {
      onnx::StringStringEntryProto *entry = tensor.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    };
    say("location", location);
    say("offset", std::to_string(offsets[i]));
    say("length", std::to_string(tensor.raw_data().size()));
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    tensor.clear_raw_data();
  }
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// True for `W.velocity` and the like where there is a W, and for the number of
/// steps, unless the model has a tensor of this name.
static bool isOptimizers(const onnx::GraphProto &graph, const std::string &name,
                         const std::map<std::string, Tensor> &state) {
  for (const onnx::TensorProto &tensor : graph.initializer())
    if (tensor.name() == name)
      return false;
  if (name == "schedule")
    return true;
  size_t at = name.rfind('.');
  if (at == std::string::npos || state.count(name.substr(0, at)) == 0)
    return false;
  std::string kind = name.substr(at + 1);
  return kind == "velocity" || kind == "mean" || kind == "variance";
}

/// Gives a tensor of the model other elements.
static void setElements(onnx::TensorProto &proto, const Tensor &tensor) {
  proto.clear_float_data();
  proto.clear_double_data();
  proto.clear_int32_data();
  proto.clear_int64_data();
  proto.clear_uint64_data();
  proto.clear_external_data();
  proto.clear_data_location();
  proto.set_raw_data(tensor.bytes.data(), tensor.bytes.size());
}

static void setWeight(onnx::GraphProto &graph, const std::string &model,
                      const std::string &name, const Tensor &tensor) {
  int type = onnxType(tensor.element);
  for (onnx::TensorProto &weight : *graph.mutable_initializer()) {
    if (weight.name() != name)
      continue;
    std::vector<int64_t> shape(weight.dims().begin(), weight.dims().end());
    uint64_t count = 1;
    for (int64_t extent : shape)
      count *= static_cast<uint64_t>(extent);
    if (weight.data_type() != type || count != tensor.count())
      throw wrongModel(model, "an initializer '" + name +
                                  "' of another type or size than " +
                                  typeOf(tensor));
    setElements(weight, tensor);
    return;
  }
  // Made by a node: a constant, or a tensor of equal elements.
  auto *nodes = graph.mutable_node();
  for (int i = 0; i != nodes->size(); ++i) {
    const onnx::NodeProto &node = nodes->Get(i);
    if (node.output_size() != 1 || node.output(0) != name)
      continue;
    onnx::TensorProto *weight = graph.add_initializer();
    weight->set_name(name);
    weight->set_data_type(type);
    for (int64_t extent : tensor.shape)
      weight->add_dims(extent);
    setElements(*weight, tensor);
    nodes->DeleteSubrange(i, 1);
    return;
  }
  throw wrongModel(model, "no tensor '" + name + "'");
}

void training::exportModel(const std::string &model,
                           const std::map<std::string, Tensor> &state,
                           const std::string &path, uint64_t inlineBytes) {
  onnx::ModelProto proto;
  std::ifstream file = openFile(model);
  if (!proto.ParseFromIstream(&file) || !proto.has_graph())
    throw wrongModel(model, "another or a damaged file");
  onnx::GraphProto &graph = *proto.mutable_graph();
  for (const auto &[name, tensor] : state)
    if (!isOptimizers(graph, name, state))
      setWeight(graph, model, name, tensor);
  fs::path folder = fs::path(model).parent_path();
  std::error_code missing;
  uint64_t bytes = 0;
  forEachTensor(graph, [&](onnx::TensorProto &tensor) {
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
      if (fs::equivalent(externalFile(tensor, folder), path + ".data", missing))
        throw UsageError("expected --export-onnx beside no file of the model, "
                         "got: '" +
                         path + "', whose data is '" + path +
                         ".data'; choose another one");
      takeIn(tensor, folder);
    }
    bytes += tensor.raw_data().size();
  });
  if (bytes > inlineBytes)
    putOut(graph, path);
  bool fits = true;
  writeFile(path, [&](std::ostream &out) {
    fits = proto.SerializeToOstream(&out);
    if (!fits)
      out.setstate(std::ios::failbit);
  });
}
