//===- CorruptTest.cpp - Damaged and inconsistent tables ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelBuilder.h"
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <random>

using namespace soap;
using namespace soap::test;

/// A model with every kind of row on two devices.
static ModelBuilder everything() {
  ModelBuilder b(2);
  b.model.strategy = "{}";
  uint32_t input = b.input("x", {4, 8}), output = b.output("y", {4, 8});
  fb::SoftmaxT softmax;
  softmax.axis = 1;
  fb::KernelOpUnion op;
  op.Set(std::move(softmax));
  uint32_t kernel = b.kernel(std::move(op), {{4, 8}}, {{4, 8}});
  for (uint32_t d = 0; d != 2; ++d) {
    uint32_t x = b.buffer(d, 128), y = b.buffer(d, 128), z = b.buffer(d, 128);
    uint32_t p = b.buffer(d, 128, fb::Space::Parameters);
    b.inlineLoad(d, p, {4, 8}, Floats(32, 1));
    b.feed(d, input, x);
    fb::LaunchT launch;
    launch.kernel = kernel;
    launch.operands = {x};
    launch.results = {y};
    b.row(d, std::move(launch));
    fb::CopyT copy;
    copy.copies.push_back(denseCopy(y, z, 64, 0, 64));
    copy.copies.back()->extents = {1};
    copy.copies.back()->from_strides = {64};
    copy.copies.back()->to_strides = {64};
    b.row(d, std::move(copy));
    fb::ExchangeT exchange;
    exchange.sends.emplace_back(1 - d, 3, fb::Extent(y, 0, 64));
    exchange.receives.emplace_back(1 - d, 3, fb::Extent(z, 0, 64));
    b.row(d, std::move(exchange), fb::Stream::Communication, fb::Phase::Step,
          {1, 2});
    b.row(d, allReduce(2, d, z, 128), fb::Stream::Communication);
    if (d == 0)
      b.drain(d, output, z);
    if (d == 0)
      b.value("softmax", {4, 8});
    b.tile(d, 0, y, {fb::Range(0, 4), fb::Range(0, 8)}, 1);
  }
  return b;
}

static void expectInvalid(const ModelBuilder &b, const std::string &reason) {
  soap_status status;
  EXPECT_FALSE(b.load(&status)) << reason;
  EXPECT_EQ(status, SOAP_INVALID);
  EXPECT_NE(std::string(soap_last_error()).find(reason), std::string::npos)
      << "expected '" << reason << "' in: " << soap_last_error();
}

TEST(Corrupt, TheUnbrokenModelLoads) {
  EXPECT_TRUE(everything().load()) << soap_last_error();
}

TEST(Corrupt, Host) {
  ModelBuilder b = everything();
  b.model.abi = SOAP_ABI_VERSION + 1;
  expectInvalid(b, "expected a model of ABI");
  b = everything();
  b.model.target = "abacus";
  expectInvalid(b, "--target=cpu");
  b = everything();
  b.model.host_features = {"avx1024"};
  expectInvalid(b, "expected a processor with avx1024");
  b = everything();
  b.model.devices[0]->activation_bytes = uint64_t{1} << 60;
  expectInvalid(b, "MiB of free memory");
  b = everything();
  b.model.cores_per_device = 100000;
  expectInvalid(b, "cores per device");
}

TEST(Corrupt, Ranges) {
  using Body = std::function<void(fb::DeviceT &)>;
  auto breakDevice = [](const Body &body, const std::string &reason) {
    ModelBuilder b = everything();
    body(*b.model.devices[1]);
    expectInvalid(b, reason);
  };
  auto row = [](fb::DeviceT &d, size_t i) -> fb::RowBodyUnion & {
    return d.programs[0]->rows[i]->body;
  };
  breakDevice([](auto &d) { d.buffers[0] = fb::Buffer({}, 1 << 20, 128); },
              "outside of its arena");
  breakDevice([](auto &d) { d.buffers[0] = fb::Buffer({}, 4, 64); },
              "no multiple of 64");
  breakDevice([](auto &d) { d.loads[0]->buffer = 9; }, "buffer 9 of 4");
  breakDevice([](auto &d) { d.loads[0]->box[0] = fb::Range(0, 5); },
              "range [0:5]");
  breakDevice([](auto &d) { d.loads[0]->source.AsInline()->bytes.pop_back(); },
              "inline bytes");
  breakDevice([](auto &d) { d.programs[0]->rows[1]->waits = {1}; },
              "a wait for row 1");
  breakDevice(
      [](auto &d) { d.programs[0]->rows[3]->stream = fb::Stream::Compute; },
      "communication outside");
  for (size_t i : {1, 2, 3})
    breakDevice(
        [i](auto &d) { d.programs[0]->rows[i]->stream = fb::Stream::Priority; },
        "a row other than a collective on the priority stream");
  breakDevice(
      [](auto &d) { d.programs[0]->rows[4]->stream = fb::Stream::Priority; },
      "a collective without its member on device");
  breakDevice([](auto &d) { d.programs[0]->rows[1]->phase = fb::Phase::Drain; },
              "phases out of order");
  breakDevice([&](auto &d) { row(d, 0).AsFeed()->input = 5; }, "input 5 of 1");
  breakDevice([&](auto &d) { row(d, 0).AsFeed()->copies[0]->run = 129; },
              "a copy outside");
  breakDevice([&](auto &d) { row(d, 1).AsLaunch()->kernel = 1; }, "kernel 1");
  breakDevice([&](auto &d) { row(d, 1).AsLaunch()->operands = {0, 0}; },
              "2 operands");
  breakDevice([&](auto &d) { row(d, 1).AsLaunch()->constant_operands = {0}; },
              "outside of the parameters");
  // What a launch takes for constant, buffer 3, is written by no row.
  auto constant = [&](auto &d) {
    row(d, 1).AsLaunch()->operands = {3};
    row(d, 1).AsLaunch()->constant_operands = {0};
  };
  const char *written = "constant operand 0, which a row of the step writes";
  breakDevice(
      [&](auto &d) {
        constant(d);
        row(d, 0).AsFeed()->copies[0]->to = 3;
      },
      written);
  breakDevice(
      [&](auto &d) {
        constant(d);
        row(d, 1).AsLaunch()->results = {3};
      },
      written);
  breakDevice(
      [&](auto &d) {
        constant(d);
        row(d, 2).AsCopy()->copies[0]->to = 3;
      },
      written);
  breakDevice(
      [&](auto &d) {
        constant(d);
        row(d, 3).AsExchange()->receives[0] =
            fb::Message(0, 3, fb::Extent(3, 0, 64));
      },
      written);
  breakDevice(
      [&](auto &d) {
        constant(d);
        row(d, 4).AsCollective()->receive[0] = fb::Extent(3, 0, 128);
      },
      written);
  breakDevice([&](auto &d) { row(d, 2).AsCopy()->copies[0]->to_strides = {}; },
              "extents and 0 strides");
  breakDevice([&](auto &d) { row(d, 2).AsCopy()->copies[0]->extents = {2}; },
              "a copy outside");
  breakDevice(
      [&](auto &d) {
        row(d, 2).AsCopy()->copies[0]->extents = {int64_t{1} << 62};
        row(d, 2).AsCopy()->copies[0]->from_strides = {int64_t{1} << 62};
      },
      "a copy outside");
  // Strides of 0 stay inside; all bytes together need not.
  auto repeat = [](auto &copy) {
    copy->extents = {int64_t{1} << 32, int64_t{1} << 31};
    copy->from_strides = copy->to_strides = {0, 0};
  };
  breakDevice([&](auto &d) { repeat(row(d, 2).AsCopy()->copies[0]); },
              "a copy of more bytes than its target has (128)");
  breakDevice([&](auto &d) { repeat(row(d, 0).AsFeed()->copies[0]); },
              "a copy of more bytes than its target has (128)");
  breakDevice(
      [&](auto &d) {
        row(d, 3).AsExchange()->sends[0] =
            fb::Message(0, 3, fb::Extent(0, 128, 64));
      },
      "bytes 128 + 64 of buffer 0");
  breakDevice(
      [&](auto &d) {
        row(d, 3).AsExchange()->sends[0] =
            fb::Message(1, 3, fb::Extent(0, 0, 64));
      },
      "a transfer with device 1");
  breakDevice([&](auto &d) { row(d, 4).AsCollective()->member = 0; },
              "not member 0");
  breakDevice([&](auto &d) { row(d, 4).AsCollective()->group = {0, 0, 1}; },
              "not member 1");
  breakDevice([&](auto &d) { row(d, 4).AsCollective()->combine = {}; },
              "without a combiner");
  breakDevice([&](auto &d) { row(d, 4).AsCollective()->send.pop_back(); },
              "0 sends");
}

TEST(Corrupt, Tiles) {
  using Body = std::function<void(fb::TileT &)>;
  auto breakTile = [](const Body &body, const std::string &reason) {
    ModelBuilder b = everything();
    body(*b.model.devices[1]->programs[0]->tiles[0]);
    expectInvalid(b, reason);
  };
  breakTile([](auto &t) { t.value = 1; }, "value 1 of 1");
  breakTile([](auto &t) { t.data = nullptr; }, "no memory");
  breakTile([](auto &t) { *t.data = fb::Extent(7, 0, 128); }, "buffer 7 of 4");
  breakTile([](auto &t) { *t.data = fb::Extent(1, 64, 128); },
            "bytes 64 + 128 of buffer 1");
  breakTile([](auto &t) { *t.data = fb::Extent(1, 0, 64); },
            "64 bytes for [4x8]");
  breakTile(
      [](auto &t) {
        *t.data = fb::Extent(1, 2, 64);
        t.box[0] = fb::Range(2, 4);
      },
      "an offset of 2");
  breakTile([](auto &t) { t.box.pop_back(); }, "a box of rank 1");
  breakTile([](auto &t) { t.box[1] = fb::Range(1, 9); }, "range [1:9]");
  breakTile([](auto &t) { t.parts = {0}; }, "part 0 of 0");
  breakTile(
      [](auto &t) {
        t.parts = {1, 1};
        t.part_count = 2;
      },
      "part 1 of 2");
  breakTile([](auto &t) { t.row = 6; }, "row 6 of");
  breakTile([](auto &t) { t.row = -2; }, "row -2 of");
  breakTile([](auto &t) { t.row = -1; }, "nothing keeps");
  ModelBuilder b = everything();
  b.model.programs[0]->values[0]->shape = {-4, 8};
  expectInvalid(b, "a negative extent");
}

TEST(Corrupt, Meetings) {
  ModelBuilder b = everything();
  b.model.devices[1]->programs[0]->rows[3]->body.AsExchange()->receives.clear();
  expectInvalid(b, "what it does not receive");
  b = everything();
  b.model.devices[1]->programs[0]->rows[3]->body.AsExchange()->sends.clear();
  expectInvalid(b, "what it does not send");
  b = everything();
  b.model.devices[1]->programs[0]->rows[3]->body.AsExchange()->receives[0] =
      fb::Message(0, 3, fb::Extent(2, 0, 60));
  expectInvalid(b, "receives 60 bytes");
  b = everything();
  b.model.devices[1]->programs[0]->rows.pop_back();
  expectInvalid(b, "without its member on device 1");
  b = everything();
  b.model.devices[1]->programs[0]->rows[4]->body.AsCollective()->combine =
      fb::Combine::Max;
  expectInvalid(b, "disagree on its kind");
  // One device first reduces, the other first exchanges.
  b = everything();
  std::swap(b.model.devices[1]->programs[0]->rows[3],
            b.model.devices[1]->programs[0]->rows[4]);
  b.model.devices[1]->programs[0]->rows[3]->waits.clear();
  expectInvalid(b, "wait for each other");
}

/// Native code touches what its extents and the launch's sizes make, and that
/// is what the kernel's types say.
TEST(Corrupt, NativeLaunches) {
  ModelBuilder sound;
  fb::NativeT native;
  native.symbol = sound.native({4, 128, 4}, {1, 0, 3}, 2);
  fb::KernelOpUnion op;
  op.Set(std::move(native));
  sound.kernel(std::move(op), {{8}, {32}}, {{8, 5}});
  fb::LaunchT launch;
  launch.operands = {sound.buffer(0, 32), sound.buffer(0, 128)};
  launch.results = {sound.buffer(0, 160)};
  launch.sizes = {8, 5};
  sound.row(0, launch);
  soap_native_kernel nothing = [](void *const *, const int64_t *) {};
  auto load = [&](const std::function<void(fb::ModelT &)> &body) {
    ModelBuilder b = ModelBuilder();
    fb::GetModel(sound.finish().data())->UnPackTo(&b.model);
    body(b.model);
    return b.load(nullptr, {nothing}) ? "" : std::string(soap_last_error());
  };
  auto refused = [&](const std::function<void(fb::ModelT &)> &body,
                     const std::string &reason) {
    std::string error = load(body);
    EXPECT_NE(error.find(reason), std::string::npos)
        << "expected '" << reason << "' in: '" << error << "'";
  };
  auto launched = [](fb::ModelT &m) -> fb::LaunchT & {
    return *m.devices[0]->programs[0]->rows[0]->body.AsLaunch();
  };
  EXPECT_EQ(load([](auto &) {}), "");
  refused([&](auto &m) { launched(m).sizes = {8}; },
          "1 sizes for native code that reads 2");
  refused([&](auto &m) { launched(m).sizes = {8, 6}; },
          "touches 192 bytes of a buffer of 160");
  refused([&](auto &m) { launched(m).sizes = {-8, -5}; }, "expected");
  refused([&](auto &m) { launched(m).sizes = {int64_t(1) << 62, 5}; },
          "expected a size below 2^63");
  refused([&](auto &m) { m.natives[0]->bytes[1] = 64; },
          "touches 64 bytes of a buffer of 128");
  refused([&](auto &m) { m.natives[0]->extents[0] = 3; },
          "touches 160 bytes of a buffer of 32");
  refused([&](auto &m) { m.natives[0]->extents[0] = 5; },
          "an extent beyond its 2 sizes");
  refused([&](auto &m) { m.natives[0]->bytes.pop_back(); },
          "2 buffers and 3 lists of extents");
  refused([&](auto &m) { m.natives[0]->scratch_bytes = 64; },
          "launches without device code");
  refused([&](auto &m) { m.kernels[0]->operands[1]->shape = {16}; },
          "touches 128 bytes of a buffer of 64");
  refused(
      [&](auto &m) {
        m.kernels[0]->operands.pop_back();
        launched(m).operands.pop_back();
      },
      "1 operands and 1 results for native code of 3 buffers");
}

/// A library computes with windows as it is told.
TEST(Corrupt, Windows) {
  auto make = [](int64_t stride, int64_t dilation, int64_t lo, int64_t hi) {
    ModelBuilder b;
    fb::ConvT conv;
    conv.strides = {1, stride};
    conv.dilations = {1, dilation};
    conv.pads_lo = {0, lo};
    conv.pads_hi = {0, hi};
    fb::KernelOpUnion op;
    op.Set(std::move(conv));
    b.kernel(std::move(op), {{1, 1, 4, 8}, {1, 1, 2, 3}}, {{1, 1, 3, 4}});
    return b;
  };
  EXPECT_TRUE(make(2, 1, 1, 0).load()) << soap_last_error();
  for (const ModelBuilder &b :
       {make(0, 1, 1, 0), make(2, 0, 1, 0), make(2, 1, -1, 2),
        make(2, 1, 1, -2), make(3, 1, 1, 0), make(2, 2, 1, 0)})
    expectInvalid(b, "do not lead from [1x1x4x8] to [1x1x3x4]");
  expectInvalid(make(2, 1, int64_t(1) << 62, -(int64_t(1) << 62)),
                "a window with 4611686018427387904");
}

/// Feeds and drains move boxes of their ports; drains write all of an output.
TEST(Corrupt, PortsAgainstTheirRows) {
  auto make = [](Shape in, Shape out, uint64_t run, Shape extents,
                 Shape strides) {
    ModelBuilder b;
    uint32_t x = b.buffer(0, 256);
    uint32_t input = b.input("x", in), output = b.output("y", out);
    b.feed(0, input, x);
    b.drain(0, output, x);
    fb::DeviceT &device = *b.model.devices[0];
    auto &feed = *device.programs[0]->rows[0]->body.AsFeed()->copies[0];
    feed.run = run;
    feed.extents = extents;
    feed.from_strides = strides;
    feed.to_strides = strides;
    device.programs[0]->rows[1]->body.AsDrain()->copies[0]->run = 96;
    return b;
  };
  // Rows of columns 0 to 2 of [3, 8]; single elements of every second column.
  for (auto [run, extents, strides] :
       {std::tuple(uint64_t(12), Shape{3}, Shape{32}),
        {uint64_t(4), Shape{3, 4}, Shape{32, 8}},
        {uint64_t(64), Shape{}, Shape{}},
        {uint64_t(4), Shape{1, 3}, Shape{7, 32}}})
    EXPECT_TRUE(make({3, 8}, {24}, run, extents, strides).load())
        << soap_last_error();
  EXPECT_TRUE(make({}, {24}, 4, {}, {}).load()) << soap_last_error();
  auto noBox = [&](const Shape &in, uint64_t run, const Shape &extents,
                   const Shape &strides) {
    expectInvalid(make(in, {24}, run, extents, strides), "no box of 'x'");
  };
  noBox({8, 3}, 12, {3}, {32}); // Rows have another length.
  noBox({3, 8}, 12, {3}, {28});
  noBox({3, 8}, 40, {}, {}); // One row and a part of another.
  noBox({3, 8}, 6, {3}, {32});
  noBox({3, 8}, 8, {2}, {28}); // Beyond the end of a row.
  expectInvalid(make({3, 8}, {25}, 32, {}, {}), "drains of 96 bytes for 100");
}

TEST(Corrupt, NativeKernelsMustExist) {
  ModelBuilder b;
  fb::NativeT native;
  native.symbol = 2;
  fb::KernelOpUnion op;
  op.Set(std::move(native));
  b.kernel(std::move(op), {}, {});
  expectInvalid(b, "native kernel 2 of 0");
  for (int i = 0; i != 3; ++i)
    b.native();
  expectInvalid(b, "expected 3 native kernels, got: 0");
}

/// Random bytes change: every table either fails to load with a reason, or it
/// runs.
TEST(Corrupt, MutatedTablesNeverCrash) {
  std::vector<uint8_t> original = everything().finish();
  std::mt19937 random(1);
  int loaded = 0, refused = 0;
  Floats x(1 << 16, 1), y(1 << 16);
  for (int round = 0; round != 3000; ++round) {
    std::vector<uint8_t> data = original;
    int changes = 1 + static_cast<int>(random() % 3);
    for (int i = 0; i != changes; ++i)
      data[random() % data.size()] = static_cast<uint8_t>(random());
    if (round % 10 == 0)
      data.resize(random() % data.size());
    soap_load_options options = {};
    options.size = sizeof(options);
    options.warning = [](const char *, void *) {};
    soap_model *model = nullptr;
    soap_status status = soap_model_load_from_memory(
        data.data(), data.size(), nullptr, 0, nullptr, &options, &model);
    if (status != SOAP_OK) {
      EXPECT_STRNE(soap_last_error(), "");
      ++refused;
      continue;
    }
    ++loaded;
    size_t bytes = 0;
    for (size_t i = 0; i != soap_model_input_count(model); ++i) {
      soap_port port;
      soap_model_input(model, i, &port);
      bytes = std::max(bytes, port.bytes);
    }
    for (size_t i = 0; i != soap_model_output_count(model); ++i) {
      soap_port port;
      soap_model_output(model, i, &port);
      bytes = std::max(bytes, port.bytes);
    }
    if (bytes <= x.size() * 4 && soap_model_input_count(model) <= 1 &&
        soap_model_output_count(model) <= 1) {
      const void *in = x.data();
      void *out = y.data();
      (void)soap_model_run(model, &in, &out);
      (void)soap_model_info(model);
    }
    soap_model_release(model);
  }
  EXPECT_GT(loaded, 100);
  EXPECT_GT(refused, 100);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

TEST(Corrupt, ForeignFiles) {
  auto refuse = [](const std::string &path, const std::string &reason) {
    soap_model *model = nullptr;
    EXPECT_EQ(soap_model_load(path.c_str(), nullptr, &model), SOAP_INVALID);
    EXPECT_EQ(model, nullptr);
    EXPECT_NE(std::string(soap_last_error()).find(reason), std::string::npos)
        << soap_last_error();
  };
  refuse("no-such-model.so", "No such file");
  refuse("/", "not a regular file");
  refuse("/proc/self/exe", "without soap_model_data");
  std::string name = ownFile("corrupt-test.so");
  std::ifstream self("/proc/self/exe", std::ios::binary);
  std::string bytes(5000, '\0');
  self.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  std::ofstream(name, std::ios::binary) << bytes;
  refuse(name, "a truncated file");
  std::ofstream(name, std::ios::binary) << "hello";
  refuse(name, "no shared library");
  std::ofstream(name, std::ios::binary) << "";
  refuse(name, "no shared library");
  std::remove(name.c_str());
}
