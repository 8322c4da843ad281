//===- ProgramsTest.cpp - Several programs over one set of parameters -----===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelBuilder.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace soap;
using namespace soap::test;

namespace {
constexpr uint64_t bytes = 8 * sizeof(float);

/// Two devices. "train" keeps its input x as the parameter w of device 0;
/// "eval" gives out w, which device 0 sends to device 1, as the output y.
/// Beside it, the parameter of device 0 as it is: z.
ModelBuilder keepsAndGives() {
  ModelBuilder b(2);
  b.model.programs[0]->name = "train";
  uint32_t x = b.input("x", {8});
  uint32_t fed = b.buffer(0, bytes);
  uint32_t w = b.buffer(0, bytes, fb::Space::Parameters);
  b.inlineLoad(0, w, {8}, Floats(8, 3));
  b.model.devices[0]->loads.back()->name = "w";
  b.feed(0, x, fed);
  fb::CopyT keep;
  keep.copies.push_back(denseCopy(fed, w, bytes));
  b.row(0, std::move(keep));

  b.addProgram("eval");
  uint32_t y = b.output("y", {8}), z = b.output("z", {8});
  uint32_t received = b.buffer(1, bytes);
  fb::ExchangeT send, receive;
  send.sends.emplace_back(1, 0, fb::Extent(w, 0, bytes));
  receive.receives.emplace_back(0, 0, fb::Extent(received, 0, bytes));
  b.row(0, std::move(send), fb::Stream::Communication);
  b.row(1, std::move(receive), fb::Stream::Communication);
  b.drain(0, z, w);
  b.drain(1, y, received);
  return b;
}

void expectInvalid(const ModelBuilder &b, const std::string &reason) {
  soap_status status = SOAP_OK;
  EXPECT_FALSE(b.load(&status)) << reason;
  EXPECT_EQ(status, SOAP_INVALID);
  EXPECT_NE(std::strstr(soap_last_error(), reason.c_str()), nullptr)
      << soap_last_error();
}
} // namespace

TEST(Programs, AreNamedAndHavePortsOfTheirOwn) {
  ModelPtr model = keepsAndGives().load();
  ASSERT_TRUE(model) << soap_last_error();
  soap_model *m = model.get();
  ASSERT_EQ(soap_model_program_count(m), 2u);
  EXPECT_STREQ(soap_model_program_name(m, 0), "train");
  EXPECT_STREQ(soap_model_program_name(m, 1), "eval");
  EXPECT_EQ(soap_model_program_name(m, 2), nullptr);
  EXPECT_EQ(soap_model_input_count(m), 1u);
  EXPECT_EQ(soap_model_output_count(m), 0u);
  EXPECT_EQ(soap_program_input_count(m, 1), 0u);
  EXPECT_EQ(soap_program_output_count(m, 1), 2u);
  EXPECT_EQ(soap_program_input_count(m, 2), 0u);
  EXPECT_EQ(soap_program_output_count(m, 2), 0u);
  soap_port port = {};
  ASSERT_EQ(soap_program_output(m, 1, 0, &port), SOAP_OK);
  EXPECT_STREQ(port.name, "y");
  EXPECT_EQ(port.bytes, bytes);
  EXPECT_EQ(soap_program_output(m, 1, 2, &port), SOAP_INVALID);
  EXPECT_EQ(soap_program_input(m, 2, 0, &port), SOAP_INVALID);
  EXPECT_NE(
      std::strstr(soap_last_error(), "expected a program below 2, got: 2"),
      nullptr);
  EXPECT_EQ(soap_program_run(m, 2, nullptr, nullptr), SOAP_INVALID);
  EXPECT_EQ(soap_program_run_async(m, 2, nullptr, nullptr), SOAP_INVALID);
}

TEST(Programs, ReadWhatTheLastOneHasLeft) {
  ModelPtr model = keepsAndGives().load();
  ASSERT_TRUE(model) << soap_last_error();
  Floats y(8, -1), z(8, -1);
  void *outputs[] = {y.data(), z.data()};
  auto evaluate = [&](const Floats &expected) {
    ASSERT_EQ(soap_program_run(model.get(), 1, nullptr, outputs), SOAP_OK)
        << soap_last_error();
    EXPECT_EQ(y, expected);
    EXPECT_EQ(z, expected);
  };
  evaluate(Floats(8, 3));
  for (uint32_t step = 0; step != 3; ++step) {
    Floats x = randomFloats(8, step);
    const void *in = x.data();
    ASSERT_EQ(soap_model_run(model.get(), &in, nullptr), SOAP_OK)
        << soap_last_error();
    evaluate(x);
    evaluate(x);
  }
  Floats given = randomFloats(8, 9);
  ASSERT_EQ(soap_model_state_count(model.get()), 1u);
  ASSERT_EQ(soap_model_write_state(model.get(), 0, given.data()), SOAP_OK);
  evaluate(given);
}

TEST(Programs, AreCountedAndTracedByThemselves) {
  ModelPtr model = keepsAndGives().load();
  ASSERT_TRUE(model) << soap_last_error();
  auto moved = [&](uint32_t program) {
    Floats x(8), y(8), z(8);
    const void *in = x.data();
    void *out[] = {y.data(), z.data()};
    EXPECT_EQ(soap_model_set_tracing(model.get(), 1), SOAP_OK);
    EXPECT_EQ(soap_program_run(model.get(), program, &in, out), SOAP_OK);
    const soap_movement *movements = nullptr;
    const soap_event *events = nullptr;
    size_t count = 0, rows = 0;
    EXPECT_EQ(soap_model_movements(model.get(), &movements, &count), SOAP_OK);
    EXPECT_EQ(soap_model_events(model.get(), &events, &rows), SOAP_OK);
    return std::pair(count, rows);
  };
  EXPECT_EQ(moved(0), std::pair(size_t{1}, size_t{2})); // A feed; and a copy.
  EXPECT_EQ(moved(1),
            std::pair(size_t{3}, size_t{4})); // A transfer, two drains.
  EXPECT_EQ(moved(0), std::pair(size_t{1}, size_t{2}));
}

TEST(Programs, DoNotMeet) {
  // What "eval" sends is received by "train" instead.
  ModelBuilder b = keepsAndGives();
  auto &rows = b.model.devices[1]->programs[1]->rows;
  b.model.devices[1]->programs[0]->rows.push_back(std::move(rows[0]));
  rows.erase(rows.begin());
  expectInvalid(b, "what it does not send");
}

TEST(Programs, AreChecked) {
  ModelBuilder b = keepsAndGives();
  b.model.programs[1]->name = "train";
  expectInvalid(b, "a name that is empty or taken");
  b = keepsAndGives();
  b.model.programs[1]->name = "";
  expectInvalid(b, "a name that is empty or taken");
  b = keepsAndGives();
  b.model.programs.clear();
  expectInvalid(b, "0 programs");
  b = keepsAndGives();
  b.model.devices[1]->programs.pop_back();
  expectInvalid(b, "1 programs of 2");
  b = keepsAndGives();
  b.model.devices[1]->programs[1]->rows[1]->body.AsDrain()->output = 2;
  expectInvalid(b, "device 1, eval, row 1 ('row1'): output 2 of 2");
  b = keepsAndGives();
  b.model.devices[0]->programs[1]->rows.pop_back();
  expectInvalid(b, "drains of 0 bytes for 32");
}

TEST(Programs, TakeNothingForConstantThatAnotherOneWrites) {
  ModelBuilder b = keepsAndGives();
  fb::SoftmaxT softmax;
  fb::KernelOpUnion op;
  op.Set(std::move(softmax));
  uint32_t kernel = b.kernel(std::move(op), {{8}}, {{8}});
  fb::LaunchT launch;
  launch.kernel = kernel;
  launch.operands = {1};
  launch.results = {0};
  launch.constant_operands = {0};
  auto &rows = b.model.devices[0]->programs[1]->rows;
  b.program = 1;
  b.row(0, std::move(launch));
  std::rotate(rows.begin(), rows.end() - 1, rows.end());
  expectInvalid(b, "constant operand 0, which a row of the step writes");
}

TEST(Programs, KeepNoCopiesOfWhatOthersWrite) {
  // Device 1 would evaluate the first value of w for ever.
  ModelBuilder b = keepsAndGives();
  uint32_t copy = b.buffer(1, bytes, fb::Space::Parameters);
  b.inlineLoad(1, copy, {8}, Floats(8, 3));
  b.model.devices[1]->loads.back()->name = "w";
  EXPECT_TRUE(b.load()) << soap_last_error(); // Nobody reads it.
  b.model.devices[1]->programs[1]->rows[1]->body.AsDrain()->copies[0]->from =
      copy;
  expectInvalid(b, "a copy of 'w' that keeps its first value");
  // Other elements of the tensor may be read only.
  b.model.devices[0]->loads[0]->shape = {16};
  b.model.devices[0]->loads[0]->source.AsInline()->bytes.resize(64);
  b.model.devices[1]->loads[0]->shape = {16};
  b.model.devices[1]->loads[0]->box = {fb::Range(8, 16)};
  b.model.devices[1]->loads[0]->source.AsInline()->bytes.resize(64);
  EXPECT_TRUE(b.load()) << soap_last_error();
}
