//===- JSONTest.cpp - JSON that people write ------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/CostModel/JSON.h"
#include "soap/CostModel/Topology.h"
#include "gtest/gtest.h"

using namespace soap;

static std::string errorOf(llvm::StringRef text) {
  auto value = parseJSON(text, "a test");
  return value ? "" : llvm::toString(value.takeError());
}

TEST(JSON, KeysStandOnceInAnObject) {
  // The same key in different objects, as a value, and with an escaped quote.
  EXPECT_EQ(errorOf(R"({"a": {"a": 1, "b": "a"}, "b": [{"a": 1}, {"a": 2}],
                        "c": "\"a\": {", "a\"": "a"})"),
            "");
  EXPECT_EQ(errorOf("{\"a\": 1,\n \"b\": [{}, 2],\n \"a\" : 3}"),
            "expected a test in JSON, got: the key 'a' twice in one object, "
            "again in line 3; remove one of them");
  EXPECT_NE(errorOf(R"([{"x": [1, {"n": 2, "n": 2}]}])").find("the key 'n'"),
            std::string::npos);
  auto topology = Topology::parse(R"({"devices": [], "devices": []})");
  ASSERT_FALSE(bool(topology));
  EXPECT_NE(llvm::toString(topology.takeError())
                .find("expected a topology in JSON, got: the key 'devices'"),
            std::string::npos);
}

TEST(JSON, NestingEnds) {
  auto nested = [](size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  EXPECT_EQ(errorOf(nested(64)), "");
  EXPECT_EQ(errorOf(nested(65)),
            "expected a test in JSON, got: more than 64 levels of nesting");
  EXPECT_NE(errorOf(std::string(1000000, '[')), "");
  EXPECT_EQ(errorOf("\"" + std::string(100, '[') + "\""), "");
}

TEST(JSON, WhatIsNoJSON) {
  for (llvm::StringRef text : {"", "{", "}", "\"", "\"\\", "{\"a\": 1,}", "]]",
                               "{\"a\": \"", "}{", "{\"a\":1}}"})
    EXPECT_NE(errorOf(text).find("expected a test in JSON, got: ["),
              std::string::npos)
        << text.str() << ": " << errorOf(text);
}
