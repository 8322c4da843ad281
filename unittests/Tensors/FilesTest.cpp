//===- FilesTest.cpp - Files of tensors -----------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Tensors/Files.h"
#include "TestTensors.h"
#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <onnx/onnx-ml.pb.h>
#include <sys/stat.h>

using namespace soap::tensors;
namespace fs = std::filesystem;

namespace {
class Files : public testing::Test {
protected:
  void SetUp() override {
    const auto *test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = testing::TempDir() + "/soap-tensors-" + test->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string file(const std::string &name) { return folder_ + "/" + name; }

  std::string writeText(const std::string &name, const std::string &text) {
    writeFile(file(name), [&](std::ostream &out) { out << text; });
    return file(name);
  }
  std::string folder_;
};
} // namespace

/// A .npy file of version 1 with this header and data.
static std::string npy(const std::string &header, const std::string &data) {
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size() & 255);
  text += static_cast<char>(header.size() >> 8);
  return text + header + data;
}

TEST_F(Files, NpyOfEveryTypeAndRankComesBack) {
  for (soap_element element : allElements) {
    Tensor tensor;
    tensor.element = element;
    for (std::vector<int64_t> shape :
         {std::vector<int64_t>{}, {5}, {2, 3}, {0}, {3, 0, 2}, {1, 2, 1, 4}}) {
      size_t bytes = soap_element_size(element);
      for (int64_t extent : shape)
        bytes *= static_cast<size_t>(extent);
      tensor.shape = shape;
      tensor.bytes.resize(bytes);
      for (size_t i = 0; i != bytes; ++i)
        tensor.bytes[i] = static_cast<unsigned char>(37 * i + 11);
      writeNpy(file("x.npy"), tensor);
      // NumPy does not have all types: what a file says is not enough.
      Tensor read = readTensor(file("x.npy"), element);
      EXPECT_EQ(typeOf(read), typeOf(tensor));
      EXPECT_EQ(read.bytes, tensor.bytes) << typeOf(tensor);
    }
  }
}

TEST_F(Files, NpyHeadersThatAreRefused) {
  std::string four(4, '\0'), good = "{'descr': '<f4', 'fortran_order': False, "
                                    "'shape': (1, ), }";
  EXPECT_EQ(readNpy(writeText("x.npy", npy(good, four))).at(0), 0);
  auto refuses = [&](const std::string &text, const std::string &reason) {
    try {
      readNpy(writeText("x.npy", text));
      ADD_FAILURE() << "accepted: " << text;
    } catch (const UsageError &error) {
      EXPECT_NE(std::string(error.what()).find(reason), std::string::npos)
          << error.what();
    }
  };
  auto with = [&](const std::string &from, const std::string &to) {
    std::string header = good;
    header.replace(header.find(from), from.size(), to);
    return npy(header, four);
  };
  refuses("something else, of some length", "another file");
  refuses(npy(good, four).substr(0, 30), "a truncated header");
  refuses(npy(good, four + four), "8 bytes of data instead of 4");
  refuses(npy(good, ""), "0 bytes of data instead of 4");
  refuses(with("<f4", ">f4"), "type '>f4'");
  refuses(with("'<f4'", "[('a', '<f4')]"), "type");
  refuses(with("False", "True"), "Fortran order");
  refuses(with("(1, )", "1"), "no shape");
  refuses(with("(1, )", "(-1, )"), "shape (-1, )");
  refuses(with("(1, )", "(x, )"), "shape (x, )");
  refuses(with("(1, )", "(4611686018427387904, 4)"), "shape");
  refuses(with("(1, )", "(1, ), 'shape': (1, )"), "two 'shape'");
}

TEST_F(Files, TensorProtoWithRawAndTypedData) {
  using Proto = onnx::TensorProto;
  auto write = [&](const Proto &proto) {
    writeFile(file("x.pb"),
              [&](std::ostream &out) { proto.SerializeToOstream(&out); });
    return readTensor(file("x.pb"));
  };
  Proto floats;
  floats.set_data_type(Proto::FLOAT);
  floats.add_dims(2);
  floats.add_float_data(1.5f);
  floats.add_float_data(-2);
  Tensor read = write(floats);
  EXPECT_EQ(typeOf(read), "f32 [2]");
  EXPECT_EQ(read.at(0), 1.5);
  EXPECT_EQ(read.at(1), -2);

  // Small types are in wider fields.
  for (auto [type, element] : {std::pair(Proto::INT8, SOAP_I8),
                               {Proto::INT16, SOAP_I16},
                               {Proto::INT32, SOAP_I32}}) {
    Proto small;
    small.set_data_type(type);
    small.add_dims(2);
    small.add_int32_data(-3);
    small.add_int32_data(100);
    read = write(small);
    EXPECT_EQ(read.element, element);
    EXPECT_EQ(read.at(0), -3);
    EXPECT_EQ(read.at(1), 100);
  }
  Proto wide;
  wide.set_data_type(Proto::UINT32);
  wide.add_dims(1);
  wide.add_uint64_data(4000000000);
  EXPECT_EQ(write(wide).at(0), 4000000000.);

  Proto raw;
  raw.set_data_type(Proto::FLOAT16);
  raw.add_dims(1);
  raw.set_raw_data(std::string("\x00\x3c", 2));
  EXPECT_EQ(write(raw).at(0), 1);

  raw.add_dims(2);
  EXPECT_THROW(write(raw), UsageError);
  raw.set_dims(0, -1);
  EXPECT_THROW(write(raw), UsageError);
  raw.clear_dims();
  raw.set_data_type(Proto::STRING);
  EXPECT_THROW(write(raw), UsageError);
  raw.set_data_type(Proto::FLOAT16);
  raw.set_data_location(Proto::EXTERNAL);
  EXPECT_THROW(write(raw), UsageError);
  EXPECT_THROW(readTensor(writeText("y.pb", "no message")), UsageError);
}

TEST_F(Files, OnlyRegularFilesAreRead) {
  EXPECT_THROW(openFile(file("missing")), UsageError);
  EXPECT_THROW(openFile(folder_), UsageError);
  ASSERT_EQ(mkfifo(file("fifo").c_str(), 0600), 0);
  EXPECT_THROW(openFile(file("fifo")), UsageError);
}

TEST_F(Files, AFailedWriteLeavesWhatWasThere) {
  std::string path = writeText("x", "old");
  auto fail = [](std::ostream &out) {
    out << "new";
    out.setstate(std::ios::failbit);
  };
  EXPECT_THROW(writeFile(path, fail), RunError);
  std::string text;
  openFile(path) >> text;
  EXPECT_EQ(text, "old");
  EXPECT_THROW(writeFile(file("y"), fail), RunError);
  EXPECT_THROW(writeFile(file("no/folder"), [](std::ostream &) {}), RunError);
  // Nothing else is left behind.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}
