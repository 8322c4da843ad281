//===- LinkTest.cpp - Code generation targets and linking -----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Target/Host/HostProcessor.h"
#include "soap/Target/Model/SharedObject.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

using namespace llvm;
using namespace soap;

namespace {
class Link : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(sys::fs::createUniqueDirectory("soap-link", directory_));
  }
  void TearDown() override { sys::fs::remove_directories(directory_); }

  std::string path(StringRef name) const {
    SmallString<128> joined(directory_);
    sys::path::append(joined, name);
    return std::string(joined);
  }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    std::error_code error;
    for (sys::fs::directory_iterator it(directory_, error), end;
         it != end && !error; it.increment(error))
      names.push_back(sys::path::filename(it->path()).str());
    return names;
  }

  SmallString<128> directory_;
};
} // namespace

TEST_F(Link, TableIsExportedAlignedAndSized) {
  std::string table = "\x20";
  for (int i = 0; i < 5000; ++i)
    table += static_cast<char>(i * 7);
  Error error = linkSharedObject({}, {table, "one"}, path("model.so"));
  ASSERT_FALSE(error) << toString(std::move(error));
  EXPECT_EQ(files(), std::vector<std::string>{"model.so"});

  void *library = dlopen(path("model.so").c_str(), RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  void *data = dlsym(library, "soap_model_data");
  ASSERT_NE(data, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 16, 0u);
  EXPECT_EQ(std::memcmp(data, table.data(), table.size()), 0);
  Dl_info info;
  const ElfW(Sym) *symbol = nullptr;
  ASSERT_TRUE(dladdr1(data, &info, (void **)&symbol, RTLD_DL_SYMENT));
  EXPECT_EQ(symbol->st_size, table.size());
  void *reference = dlsym(library, "soap_reference_data");
  ASSERT_NE(reference, nullptr);
  EXPECT_EQ(std::memcmp(reference, "one", 3), 0);
  EXPECT_EQ(dlsym(library, "soap_native_kernels"), nullptr);
  dlclose(library);
}

TEST_F(Link, ReplacesAnOldFile) {
  for (const char *table : {"first", "second"}) {
    Error error = linkSharedObject({}, {table, ""}, path("model.so"));
    ASSERT_FALSE(error) << toString(std::move(error));
  }
  auto contents = MemoryBuffer::getFile(path("model.so"));
  ASSERT_TRUE(bool(contents));
  EXPECT_TRUE((*contents)->getBuffer().contains("second"));
  EXPECT_FALSE((*contents)->getBuffer().contains("soap_reference_data"));
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(Link, FailsWithoutLeftovers) {
  // Not an object file: the linker's words, no output, no temporary file.
  Error error =
      linkSharedObject({"this is no object"}, {"t", ""}, path("model.so"));
  ASSERT_TRUE(bool(error));
  EXPECT_NE(toString(std::move(error)).find("linker"), std::string::npos);
  EXPECT_TRUE(files().empty());

  error = linkSharedObject({}, {"t", ""}, path("no-such-folder/model.so"));
  ASSERT_TRUE(bool(error));
  EXPECT_NE(toString(std::move(error)).find("cannot write"), std::string::npos);
  EXPECT_TRUE(files().empty());
}

TEST(HostProcessor, KnowsProcessors) {
  Expected<HostProcessor> target = HostProcessor::find("native");
  ASSERT_TRUE(bool(target));
  EXPECT_EQ(target->name, HostProcessor::host().name);
  Expected<HostProcessor> unknown = HostProcessor::find("pentium9000");
  ASSERT_FALSE(bool(unknown));
  EXPECT_NE(toString(unknown.takeError()).find("got: pentium9000"),
            std::string::npos);
}

#if defined(__x86_64__)
TEST(HostProcessor, FeaturesAreNamedAsInCpuinfo) {
  auto v1 =
      cantFail(cantFail(HostProcessor::find("x86-64")).requiredFeatures());
  EXPECT_FALSE(is_contained(v1, "avx"));
  auto v3 =
      cantFail(cantFail(HostProcessor::find("x86-64-v3")).requiredFeatures());
  for (const char *flag : {"avx2", "fma", "sse4_2", "abm", "pni", "bmi1"})
    EXPECT_TRUE(is_contained(v3, flag)) << flag;
  EXPECT_FALSE(is_contained(v3, "avx512f"));

  // This machine has whatever code for this machine needs.
  auto cpuinfo = MemoryBuffer::getFileAsStream("/proc/cpuinfo");
  if (!cpuinfo)
    GTEST_SKIP() << "no /proc/cpuinfo";
  StringRef text = (*cpuinfo)->getBuffer();
  StringRef flags = text.substr(text.find("flags")).split('\n').first;
  SmallVector<StringRef> present;
  flags.split(present, ' ');
  for (const std::string &flag :
       cantFail(HostProcessor::host().requiredFeatures()))
    EXPECT_TRUE(is_contained(present, flag)) << flag;
}
#endif
