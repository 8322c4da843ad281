//===- DatasetTest.cpp - Samples in files --------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Training/Dataset.h"
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <minizip/zip.h>

using namespace soap::training;
namespace fs = std::filesystem;

namespace {
class Datasets : public testing::Test {
protected:
  void SetUp() override {
    const auto *test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = testing::TempDir() + "/soap-dataset-" + test->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string file(const std::string &name) { return folder_ + "/" + name; }

  /// Samples i with the elements 10 i, 10 i + 1, ...
  static Tensor samples(soap_element element, std::vector<int64_t> shape) {
    Tensor tensor;
    tensor.element = element;
    size_t count = 1;
    for (int64_t extent : shape)
      count *= static_cast<size_t>(extent);
    tensor.shape = shape;
    tensor.bytes.resize(count * soap_element_size(element));
    size_t each = count / static_cast<size_t>(shape[0]);
    for (size_t i = 0; i != count; ++i)
      tensor.set(i, static_cast<double>(10 * (i / each) + i % each));
    return tensor;
  }

  std::string write(const std::string &name, const Tensor &tensor) {
    writeNpy(file(name), tensor);
    return file(name);
  }

  /// A .npz file of one .npy file; as numpy.savez, or compressed.
  std::string zip(const std::string &name, const std::string &array,
                  const std::string &npy, bool compressed) {
    std::ifstream in(npy, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), {});
    zipFile out = zipOpen64(file(name).c_str(), APPEND_STATUS_CREATE);
    zip_fileinfo info = {};
    // NumPy makes room for sizes of 64 bits in all files.
    EXPECT_EQ(zipOpenNewFileInZip64(out, (array + ".npy").c_str(), &info,
                                    nullptr, 0, nullptr, 0, nullptr,
                                    compressed ? 8 : 0, compressed ? 6 : 0, 1),
              ZIP_OK);
    EXPECT_EQ(zipWriteInFileInZip(out, bytes.data(),
                                  static_cast<unsigned>(bytes.size())),
              ZIP_OK);
    EXPECT_EQ(zipCloseFileInZip(out), ZIP_OK);
    EXPECT_EQ(zipClose(out, nullptr), ZIP_OK);
    return file(name);
  }

  void refuses(const std::map<std::string, std::string> &sources,
               const std::string &reason) {
    try {
      Dataset data(ports_, sources, "--data");
      ADD_FAILURE() << "accepted; expected: " << reason;
    } catch (const UsageError &error) {
      EXPECT_NE(std::string(error.what()).find(reason), std::string::npos)
          << error.what();
    }
  }

  int64_t xShape_[3] = {4, 2, 3}, labelShape_[1] = {4}, otherShape_[1] = {5};
  std::vector<soap_port> ports_ = {{"x", SOAP_F32, 3, xShape_, 96, 0},
                                   {"label", SOAP_I64, 1, labelShape_, 32, 10},
                                   {"other", SOAP_F32, 1, otherShape_, 20, 0},
                                   {"scale", SOAP_F32, 0, nullptr, 4, 0}};
  std::string folder_;
};
} // namespace

TEST_F(Datasets, SamplesOfAllKindsOfFiles) {
  std::string npy = write("x.npy", samples(SOAP_F32, {7, 2, 3}));
  for (const std::string &source :
       {npy, zip("stored.npz", "x", npy, false),
        zip("deflated.npz", "x", npy, true),
        zip("named.npz", "images", npy, false) + ":images"}) {
    Dataset data(ports_, {{"x", source}}, "--data");
    EXPECT_EQ(data.samples(), 7u);
    EXPECT_EQ(data.batch(), 4u);
    EXPECT_TRUE(data.has("x"));
    EXPECT_FALSE(data.has("label"));
    Tensor batch(ports_[0]);
    data.read("x", {6, 0, 3, 3}, batch);
    for (size_t i = 0; i != 24; ++i) {
      size_t sample = std::vector<size_t>{6, 0, 3, 3}[i / 6];
      EXPECT_EQ(batch.at(i), static_cast<double>(10 * sample + i % 6));
    }
  }
}

TEST_F(Datasets, NarrowerTypesAreWidened) {
  std::string source = write("label.npy", samples(SOAP_U8, {3}));
  std::string told;
  Dataset data(ports_, {{"label", source}}, "--data",
               [&](const std::string &line) { told = line; });
  EXPECT_EQ(told, "input 'label' is widened from u8 to i64");
  Tensor batch(ports_[1]);
  data.read("label", {0, 0, 0, 0}, batch);
  EXPECT_EQ(batch.at(3), 0);
  // 10 and 20 are no classes.
  try {
    data.read("label", {0, 1, 2, 0}, batch);
    ADD_FAILURE();
  } catch (const UsageError &error) {
    std::string text = error.what();
    EXPECT_NE(text.find("from 0 to 9"), std::string::npos) << text;
    EXPECT_NE(text.find("10 in sample 1 of '" + source), std::string::npos)
        << text;
  }
}

TEST_F(Datasets, MistakesAreNamed) {
  std::string x = write("x.npy", samples(SOAP_F32, {7, 2, 3}));
  refuses({{"y", x}}, "got: 'y'");
  refuses({{"scale", x}}, "a scalar");
  refuses({{"x", file("missing.npy")}}, "missing.npy");
  refuses({{"x", folder_ + "/x.txt"}}, "ends in .npy or .npz");
  refuses({{"x", write("flat.npy", samples(SOAP_F32, {7, 6}))}}, "flat.npy");
  refuses({{"x", write("double.npy", samples(SOAP_F64, {7, 2, 3}))}}, "f64");
  refuses({{"x", write("none.npy", samples(SOAP_F32, {1, 2, 3}))},
           {"label", write("label.npy", samples(SOAP_I64, {7}))}},
          "as many samples");
  refuses({{"label", write("label.npy", samples(SOAP_I64, {7}))},
           {"other", write("other.npy", samples(SOAP_F32, {7}))}},
          "one batch");
  Tensor empty = samples(SOAP_F32, {1, 2, 3});
  empty.shape[0] = 0;
  empty.bytes.clear();
  refuses({{"x", write("empty.npy", empty)}}, "got: none");
}

TEST_F(Datasets, DamagedFilesAreNamed) {
  std::string x = write("x.npy", samples(SOAP_F32, {7, 2, 3}));
  refuses({{"x", zip("other.npz", "z", x, false)}}, "('z'), got: 'x'");
  std::ofstream(file("text.npz")) << "no zip file at all";
  refuses({{"x", file("text.npz")}}, "no zip file");
  fs::create_directory(file("folder.npy"));
  refuses({{"x", file("folder.npy")}}, "not a regular file");
  std::ofstream(file("zero.npy")).flush();
  refuses({{"x", file("zero.npy")}}, "another file");
  fs::resize_file(x, fs::file_size(x) - 1);
  refuses({{"x", x}}, "167 bytes of data instead of 168");

  // A changed byte of what is compressed shows in the checksum.
  std::string good = write("y.npy", samples(SOAP_F32, {700, 2, 3}));
  std::string zipped = zip("y.npz", "x", good, true);
  std::fstream bytes(zipped, std::ios::in | std::ios::out | std::ios::binary);
  auto middle = static_cast<std::streamoff>(fs::file_size(zipped) / 2);
  bytes.seekg(middle);
  char byte = static_cast<char>(bytes.get() ^ 1);
  bytes.seekp(middle);
  bytes.put(byte);
  bytes.close();
  refuses({{"x", zipped}}, "damaged");
}
