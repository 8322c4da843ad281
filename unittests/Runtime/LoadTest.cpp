//===- LoadTest.cpp - Parameters: recipes, boxes, files -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelBuilder.h"
#include "soap/Runtime/ModelHash.h"
#include "soap/Runtime/RandomRecipe.h"
#include <cmath>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <pthread.h>

using namespace soap;
using namespace soap::test;

/// Loads one box on one device and reads it back.
static Floats loadBox(ModelBuilder &b, std::unique_ptr<fb::LoadT> load,
                      soap_status *status = nullptr) {
  int64_t size = 1;
  for (const fb::Range &range : load->box)
    size *= range.hi() - range.lo();
  load->name = "p";
  load->buffer = b.buffer(0, size * 4, fb::Space::Parameters);
  uint32_t buffer = load->buffer;
  b.model.devices[0]->loads.push_back(std::move(load));
  b.drain(0, b.output("y", {size}), buffer);
  ModelPtr model = b.load(status);
  if (!model)
    return {};
  Floats result(static_cast<size_t>(size), NAN);
  void *out = result.data();
  EXPECT_EQ(soap_model_run(model.get(), nullptr, &out), SOAP_OK)
      << soap_last_error();
  return result;
}

static std::unique_ptr<fb::LoadT> randomLoad(const Shape &shape,
                                             const std::vector<fb::Range> &box,
                                             fb::Distribution distribution,
                                             double a, double b) {
  auto load = std::make_unique<fb::LoadT>();
  load->shape = shape;
  load->box = box;
  fb::RandomT random;
  random.seed = 7;
  random.name_hash = recipe::hashName("conv1.weight", 12);
  random.distribution = distribution;
  random.a = a;
  random.b = b;
  load->source.Set(std::move(random));
  return load;
}

/// The definition, once and for all: these values never change.
TEST(Recipe, GoldenValues) {
  EXPECT_EQ(recipe::hashName("", 0), 0xcbf29ce484222325ull);
  EXPECT_EQ(recipe::hashName("a", 1), 0xaf63dc4c8601ec8cull);
  // splitmix64 seeded with 0: its first two outputs.
  EXPECT_EQ(recipe::mix(recipe::golden), 0xe220a8397b1dcdafull);
  EXPECT_EQ(recipe::mix(2 * recipe::golden), 0x6e789e6aa1b965f4ull);
  // Made by scripts/random_recipe.py: seed 7, "conv1.weight".
  uint64_t key = recipe::keyOf(7, recipe::hashName("conv1.weight", 12));
  Floats normal{-0x1.d791f4p-1f, -0x1.d153fap+1f, -0x1.00c5d4p+1f,
                -0x1.448db2p-1f, 0x1.83b2dp+1f};
  for (uint64_t i = 0; i != normal.size(); ++i)
    EXPECT_EQ(static_cast<float>(recipe::normal(key, i, -1, 2)), normal[i]);
  Floats uniform{0x1.d6bb9ep-1f, 0x1.41387p+0f, 0x1.5dd45ep+0f};
  for (uint64_t i = 0; i != uniform.size(); ++i)
    EXPECT_EQ(static_cast<float>(recipe::uniform(key, i, 0.5, 1.5)),
              uniform[i]);
}

TEST(Recipe, Statistics) {
  ModelBuilder b;
  int64_t n = 200000;
  Floats x = loadBox(
      b, randomLoad({n}, {fb::Range(0, n)}, fb::Distribution::Normal, 3, 0.5));
  double mean = 0, variance = 0, lag = 0;
  for (float v : x)
    mean += v / n;
  for (int64_t i = 0; i != n; ++i) {
    variance += (x[i] - mean) * (x[i] - mean) / n;
    if (i)
      lag += (x[i] - mean) * (x[i - 1] - mean) / n;
  }
  EXPECT_NEAR(mean, 3, 0.005);
  EXPECT_NEAR(std::sqrt(variance), 0.5, 0.005);
  EXPECT_NEAR(lag / variance, 0, 0.01);

  ModelBuilder uniform;
  Floats u = loadBox(uniform, randomLoad({n}, {fb::Range(0, n)},
                                         fb::Distribution::Uniform, 0.5, 1.5));
  mean = 0;
  for (float v : u) {
    ASSERT_GE(v, 0.5f);
    ASSERT_LE(v, 1.5f);
    mean += v / n;
  }
  EXPECT_NEAR(mean, 1, 0.005);
}

/// The vectorised values are the definition's, up to the rounding of a float.
TEST(Recipe, ValuesAreTheDefinitions) {
  uint64_t key = recipe::keyOf(7, recipe::hashName("conv1.weight", 12));
  int64_t n = 300001;
  ModelBuilder b;
  Floats x = loadBox(
      b, randomLoad({n}, {fb::Range(0, n)}, fb::Distribution::Normal, -1, 2));
  int different = 0;
  for (int64_t i = 0; i != n; ++i) {
    double expected = recipe::normal(key, i, -1, 2);
    ASSERT_NEAR(x[i], expected, 2e-6) << i;
    different += x[i] != static_cast<float>(expected);
  }
  EXPECT_LE(different, 3);
}

TEST(Recipe, EveryBoxHasTheWholeTensorsValues) {
  Shape shape{5, 7, 9};
  uint64_t key = recipe::keyOf(7, recipe::hashName("conv1.weight", 12));
  for (fb::Distribution distribution :
       {fb::Distribution::Normal, fb::Distribution::Uniform})
    for (auto box : std::vector<std::vector<fb::Range>>{
             {fb::Range(0, 5), fb::Range(0, 7), fb::Range(0, 9)},
             {fb::Range(1, 3), fb::Range(0, 7), fb::Range(0, 9)},
             {fb::Range(1, 4), fb::Range(3, 4), fb::Range(2, 9)},
             {fb::Range(4, 5), fb::Range(2, 6), fb::Range(1, 2)}}) {
      ModelBuilder b;
      Floats x = loadBox(b, randomLoad(shape, box, distribution, 0.25, 2));
      size_t at = 0;
      for (int64_t i = box[0].lo(); i != box[0].hi(); ++i)
        for (int64_t j = box[1].lo(); j != box[1].hi(); ++j)
          for (int64_t k = box[2].lo(); k != box[2].hi(); ++k) {
            uint64_t element = (i * 7 + j) * 9 + k;
            double expected = distribution == fb::Distribution::Normal
                                  ? recipe::normal(key, element, 0.25, 2)
                                  : recipe::uniform(key, element, 0.25, 2);
            ASSERT_EQ(x.at(at++), static_cast<float>(expected));
          }
    }
}

TEST(Load, SplatAndInline) {
  ModelBuilder b;
  auto load = std::make_unique<fb::LoadT>();
  load->shape = {4, 3};
  load->box = {fb::Range(1, 4), fb::Range(0, 2)};
  float value = 2.5f;
  fb::SplatT splat;
  splat.value.resize(4);
  std::memcpy(splat.value.data(), &value, 4);
  load->source.Set(std::move(splat));
  EXPECT_EQ(loadBox(b, std::move(load)), Floats(6, 2.5f));

  ModelBuilder c;
  load = std::make_unique<fb::LoadT>();
  load->shape = {4, 3};
  load->box = {fb::Range(1, 4), fb::Range(1, 3)};
  Floats all{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  fb::InlineT bytes;
  bytes.bytes.resize(48);
  std::memcpy(bytes.bytes.data(), all.data(), 48);
  load->source.Set(std::move(bytes));
  EXPECT_EQ(loadBox(c, std::move(load)), (Floats{4, 5, 7, 8, 10, 11}));
}

//===----------------------------------------------------------------------===//
// Safetensors
//===----------------------------------------------------------------------===//

static void writeFile(const std::string &name, const std::string &header,
                      const Floats &data, uint64_t length) {
  std::ofstream file(name, std::ios::binary);
  file.write(reinterpret_cast<const char *>(&length), 8);
  file << header;
  file.write(reinterpret_cast<const char *>(data.data()), data.size() * 4);
}

static std::string readFile(const std::string &name) {
  std::ifstream file(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

static Floats loadStored(const std::string &file, const std::string &tensor,
                         soap_status *status = nullptr) {
  ModelBuilder b;
  b.model.weights_file = file;
  std::string contents = readFile(file);
  b.model.weights_digest = std::make_unique<fb::WeightsDigest>(
      digestOfWeights(contents.data(), contents.size(), /*all=*/true));
  auto load = std::make_unique<fb::LoadT>();
  load->shape = {2, 3};
  load->box = {fb::Range(0, 2), fb::Range(1, 3)};
  fb::StoredT stored;
  stored.tensor = tensor;
  load->source.Set(std::move(stored));
  return loadBox(b, std::move(load), status);
}

TEST(Load, Safetensors) {
  Floats data{9, 9, 1, 2, 3, 4, 5, 6};
  std::string header =
      R"({"__metadata__":{"a":"b"},)"
      R"("w":{"dtype":"F32","shape":[2,3],"data_offsets":[8,32]},)"
      R"("none":{"dtype":"F32","shape":[0],"data_offsets":[8,8]},)"
      R"("i":{"dtype":"I32","shape":[2],"data_offsets":[0,8]}})";
  std::string name = ownFile("load-test.safetensors");
  writeFile(name, header, data, header.size());
  EXPECT_EQ(loadStored(name, "w"), (Floats{2, 3, 5, 6}));

  auto fails = [&](const std::string &tensor, const char *reason) {
    soap_status status;
    EXPECT_TRUE(loadStored(name, tensor, &status).empty());
    EXPECT_EQ(status, SOAP_INVALID);
    EXPECT_NE(std::string(soap_last_error()).find(reason), std::string::npos)
        << soap_last_error();
  };
  fails("v", "expected a tensor 'v'");
  fails("i", "got: I32 [2]");
  writeFile(name, header, {9, 9, 1}, header.size());
  fails("w", "beyond the end of the file");
  writeFile(name, header, data, header.size() + 1000);
  fails("w", "a header beyond the end");
  writeFile(name, "{]" + header, data, header.size());
  fails("w", "no JSON object");
  std::remove(name.c_str());
  fails("w", "No such file");
}

/// Tests that tensors cover the data of a safetensors file, each with the bytes
/// of its shape, and that names are unique.
TEST(Load, SafetensorsThatDoNotCoverTheirData) {
  std::string name = ownFile("cover-test.safetensors");
  auto fails = [&](const std::string &header, const char *reason) {
    writeFile(name, header, Floats(8, 1), header.size());
    soap_status status;
    EXPECT_TRUE(loadStored(name, "w", &status).empty()) << header;
    EXPECT_NE(std::string(soap_last_error()).find(reason), std::string::npos)
        << soap_last_error();
  };
  fails(R"({"w":{"dtype":"F32","shape":[2,3],"data_offsets":[8,32]}})",
        "a hole of 8 bytes before tensor 'w'");
  fails(R"({"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})",
        "8 bytes behind the last tensor");
  fails(R"({"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
        R"("v":{"dtype":"F32","shape":[4],"data_offsets":[16,32]}})",
        "tensors 'w' and 'v' that overlap");
  fails(R"({"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
        R"("v":{"dtype":"F32","shape":[3],"data_offsets":[24,32]}})",
        "tensor 'v' of 8 bytes for F32 [3]");
  fails(R"({"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
        R"("v":{"dtype":"F32","shape":[-2],"data_offsets":[24,32]}})",
        "tensor 'v' with a negative extent");
  fails(R"({"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
        R"("v":{"dtype":"F32","shape":[2],"data_offsets":[24,32,40]}})",
        "data_offsets of 'v'");
  fails(R"({"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
        R"("w":{"dtype":"F32","shape":[2],"data_offsets":[24,32]}})",
        "two tensors 'w'");
  fails(R"({"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0.5,24.5]}})",
        "data_offsets of 'w'");
  std::remove(name.c_str());
}

/// Tests that a model takes no weights but its own.
TEST(Load, WeightsOfAnotherModel) {
  std::string name = ownFile("other-test.safetensors");
  // More data than the sampled blocks hold.
  int64_t count = 1 << 20;
  auto write = [&](int64_t changed, bool other = false) {
    std::string header =
        R"({"w":{"dtype":"F32","shape":[1048576],"data_offsets":[0,4194304]}})";
    Floats data = randomFloats(count, 1);
    if (changed >= 0)
      data[static_cast<size_t>(changed)] += 1;
    writeFile(name, header + (other ? " " : ""), data,
              header.size() + (other ? 1 : 0));
  };
  write(-1);
  std::string contents = readFile(name);
  ModelBuilder b;
  b.model.weights_file = name;
  b.model.weights_digest = std::make_unique<fb::WeightsDigest>(
      digestOfWeights(contents.data(), contents.size(), /*all=*/true));
  auto load = [&](bool all) -> std::string {
    std::vector<uint8_t> table = b.finish();
    soap_load_options options = {};
    options.size = sizeof(options);
    options.check_weights = all;
    soap_model *model = nullptr;
    soap_status status = soap_model_load_from_memory(
        table.data(), table.size(), nullptr, 0, nullptr, &options, &model);
    soap_model_release(model);
    return status == SOAP_OK ? "" : soap_last_error();
  };
  auto has = [](const std::string &text, const char *part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_EQ(load(false), "");
  EXPECT_EQ(load(true), "");
  write(0); // In the first block.
  EXPECT_TRUE(has(load(false), "got: other data"));
  write(count - 1); // In the last one.
  EXPECT_TRUE(has(load(false), "got: other data"));
  write(5000); // Between blocks.
  EXPECT_EQ(load(false), "");
  EXPECT_TRUE(has(load(true), "got: other data; keep both files"));
  write(-1, /*other=*/true);
  EXPECT_TRUE(has(load(false), "bytes instead of"));
  b.model.weights_digest.reset();
  EXPECT_TRUE(has(load(false), "a weights file without a digest"));
  std::remove(name.c_str());
}

/// No thread has a stack as large as the address space.
TEST(Load, ThreadsThatCannotStart) {
  pthread_attr_t kept, huge;
  ASSERT_EQ(pthread_getattr_default_np(&kept), 0);
  ASSERT_EQ(pthread_attr_init(&huge), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&huge, size_t(1) << 47), 0);
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  auto load = [](soap_status *status) {
    ModelBuilder b;
    return loadBox(
        b, randomLoad({3}, {fb::Range(0, 3)}, fb::Distribution::Uniform, 0, 1),
        status);
  };
  soap_status status = SOAP_OK;
  EXPECT_TRUE(load(&status).empty());
  EXPECT_EQ(status, SOAP_FAILED);
  std::string reason = soap_last_error();
  EXPECT_EQ(reason.find("expected to start 1 threads, got: 0 ("), 0u) << reason;
  EXPECT_NE(reason.find("; use more processes"), std::string::npos) << reason;
  ASSERT_EQ(pthread_setattr_default_np(&kept), 0);
  EXPECT_EQ(load(&status).size(), 3u);
}
