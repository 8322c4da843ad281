//===- JSON.cpp - JSON that people write ----------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Support/JSON.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <vector>

using namespace soap;
namespace json = llvm::json;

static constexpr int maxDepth = 64;

/// The end of the string whose quote is at `begin`: its closing quote.
static size_t endOfString(llvm::StringRef text, size_t begin) {
  size_t end = begin + 1;
  while (end < text.size() && text[end] != '"')
    end += text[end] == '\\' ? 2 : 1;
  return end;
}

namespace {
/// What is wrong with a text although it may be JSON; empty if nothing is.
struct Problem {
  std::string text;
  bool tooDeep = false; ///< A recursive parser must not see it.
};
} // namespace

static Problem findProblem(llvm::StringRef text) {
  std::vector<llvm::StringSet<>> objects; // The keys of those that are open.
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '{')
      objects.emplace_back();
    else if (c == '}' && !objects.empty())
      objects.pop_back();
    if (c == '{' || c == '[') {
      if (++depth > maxDepth)
        return {"more than " + std::to_string(maxDepth) + " levels of nesting",
                /*tooDeep=*/true};
    } else if (c == '}' || c == ']') {
      --depth;
    } else if (c == '"') {
      size_t end = endOfString(text, i);
      llvm::StringRef name = text.slice(i + 1, end);
      // Only keys stand before colons.
      bool isKey = text.drop_front(std::min(end + 1, text.size()))
                       .ltrim(" \t\r\n")
                       .starts_with(":");
      if (isKey && !objects.empty() && !objects.back().insert(name).second)
        return {"the key '" + name.str() + "' twice in one object, again in " +
                "line " + std::to_string(text.take_front(i).count('\n') + 1) +
                "; remove one of them"};
      i = end;
    }
  }
  return {};
}

llvm::Expected<json::Value> soap::parseJSON(llvm::StringRef text,
                                            llvm::StringRef what) {
  auto error = [&](const llvm::Twine &got) {
    return llvm::createStringError("expected " + what +
                                   " in JSON, got: " + got);
  };
  Problem problem = findProblem(text);
  if (problem.tooDeep)
    return error(problem.text);
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value)
    return error(llvm::toString(value.takeError()));
  if (!problem.text.empty())
    return error(problem.text);
  return value;
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
soap::readRegularFile(llvm::StringRef path) {
  bool other = false;
  if (!llvm::sys::fs::is_other(path, other) && other)
    return llvm::createStringError("not a regular file");
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError(buffer.getError().message());
  return std::move(*buffer);
}

/// Writes into an open file. (llvm::writeToOutput and the destructor of a
/// stream end the program when the disk is full.)
static std::error_code writeTo(int descriptor, llvm::StringRef text) {
  llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/true);
  os << text;
  os.close();
  std::error_code code = os.error();
  os.clear_error();
  return code;
}

static std::error_code writeWhole(llvm::StringRef path, llvm::StringRef text) {
  namespace fs = llvm::sys::fs;
  int descriptor = -1;
  fs::file_status status;
  if (!fs::status(path, status) && !fs::is_regular_file(status)) {
    if (std::error_code code = fs::openFileForWrite(
            path, descriptor, fs::CD_OpenExisting, fs::OF_Append))
      return code;
    return writeTo(descriptor, text);
  }
  llvm::SmallString<128> temporary;
  if (std::error_code code =
          fs::createUniqueFile(path + ".tmp%%%%%%", descriptor, temporary,
                               fs::OF_None, fs::all_read | fs::all_write))
    return code;
  std::error_code code = writeTo(descriptor, text);
  if (!code)
    code = fs::rename(temporary, path);
  if (code)
    (void)fs::remove(temporary);
  return code;
}

llvm::Error soap::writeWholeFile(llvm::StringRef path, llvm::StringRef text) {
  if (std::error_code code = writeWhole(path, text))
    return llvm::createStringError("expected to write '" + path +
                                   "', got: " + code.message());
  return llvm::Error::success();
}
