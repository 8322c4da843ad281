//===- MappedArray.cpp - Arrays of NumPy's files, in place ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Tensors/MappedArray.h"
#include "MappedFile.h"
#include "NpyHeader.h"
#include <minizip/unzip.h>

using namespace soap;
using namespace soap::tensors;

namespace {
/// The members of a .npz file, which is a zip file of .npy files.
class Zip {
public:
  explicit Zip(const std::string &path)
      : path_(path), file_(unzOpen64(path.c_str())) {
    if (!file_)
      damaged("no zip file");
  }
  Zip(const Zip &) = delete;
  Zip &operator=(const Zip &) = delete;
  ~Zip() { unzClose(file_); }

  /// The bytes of an array, in `mapped` if they are stored there as they are.
  Bytes find(const std::string &array, const Bytes &mapped) {
    if (unzLocateFile(file_, (array + ".npy").c_str(), /*caseSensitive*/ 1) !=
        UNZ_OK)
      throw UsageError("expected an array of '" + path_ + "' (" + names() +
                       "), got: '" + array +
                       "'; name one as in FILE.npz:ARRAY");
    unz_file_info64 info = {};
    if (unzGetCurrentFileInfo64(file_, &info, nullptr, 0, nullptr, 0, nullptr,
                                0) != UNZ_OK)
      damaged("a damaged entry of '" + array + "'");
    if ((info.flag & 1) != 0)
      damaged("'" + array + "' encrypted");
    if (info.compression_method == 0)
      return stored(array, info.uncompressed_size, mapped);
    return inflated(array, info.uncompressed_size);
  }

private:
  [[noreturn]] void damaged(const std::string &what) const {
    throw UsageError("expected a whole file of numpy.savez in '" + path_ +
                     "', got: " + what + "; write it again");
  }

  std::string names() {
    std::string result;
    for (int status = unzGoToFirstFile(file_); status == UNZ_OK;
         status = unzGoToNextFile(file_)) {
      char name[256] = {};
      if (unzGetCurrentFileInfo64(file_, nullptr, name, sizeof(name) - 1,
                                  nullptr, 0, nullptr, 0) != UNZ_OK)
        break;
      std::string text = name;
      if (text.size() > 4 && text.compare(text.size() - 4, 4, ".npy") == 0)
        text.resize(text.size() - 4);
      result += (result.empty() ? "'" : ", '") + text + "'";
    }
    return result.empty() ? "which has none" : result;
  }

  Bytes stored(const std::string &array, uint64_t size, const Bytes &mapped) {
    int method = 0, level = 0;
    if (unzOpenCurrentFile2(file_, &method, &level, /*raw=*/1) != UNZ_OK)
      damaged("a damaged entry of '" + array + "'");
    uint64_t offset = unzGetCurrentFileZStreamPos64(file_);
    unzCloseCurrentFile(file_);
    if (offset > mapped.size || size > mapped.size - offset)
      damaged("'" + array + "' truncated");
    return {mapped.owner, offset, size};
  }

  Bytes inflated(const std::string &array, uint64_t size) {
    if (unzOpenCurrentFile(file_) != UNZ_OK)
      damaged("'" + array + "' in a compression that is not known");
    // The size that the file claims is not trusted with memory.
    auto memory = std::make_shared<std::vector<unsigned char>>();
    constexpr size_t piece = size_t{16} << 20;
    int read = 1;
    while (read > 0 && memory->size() <= size) {
      size_t begin = memory->size();
      memory->resize(begin + std::min<uint64_t>(piece, size - begin + 1));
      read = unzReadCurrentFile(file_, memory->data() + begin,
                                static_cast<unsigned>(memory->size() - begin));
      memory->resize(begin + static_cast<size_t>(std::max(read, 0)));
    }
    // Closing compares the checksum.
    if (unzCloseCurrentFile(file_) != UNZ_OK || read < 0 ||
        memory->size() != size)
      damaged("'" + array + "' damaged");
    return {std::shared_ptr<const unsigned char>(memory, memory->data()), 0,
            memory->size()};
  }

  std::string path_;
  unzFile file_;
};
} // namespace

/// The file and the array that FILE.npz:ARRAY names; the latter may be empty.
static std::pair<std::string, std::string> splitArray(const std::string &text) {
  size_t at = text.rfind(".npz:");
  if (at == std::string::npos)
    return {text, ""};
  return {text.substr(0, at + 4), text.substr(at + 5)};
}

static bool endsWith(const std::string &text, const std::string &ending) {
  return text.size() >= ending.size() &&
         text.compare(text.size() - ending.size(), ending.size(), ending) == 0;
}

MappedArray::MappedArray(const std::string &source, const std::string &name,
                         std::optional<soap_element> wanted) {
  std::string array;
  std::tie(path_, array) = splitArray(source);
  bool isZip = endsWith(path_, ".npz");
  if (!isZip && !endsWith(path_, ".npy"))
    throw UsageError("expected a file of NumPy that ends in .npy or .npz, got: "
                     "'" +
                     source + "'; write it with numpy.save or numpy.savez");
  place_ = "'" + path_ + "'";
  Bytes bytes = mapFile(path_);
  if (isZip) {
    array = array.empty() ? name : array;
    place_ = "array '" + array + "' of " + place_;
    bytes = Zip(path_).find(array, bytes);
  }
  NpyHeader header = readNpyHeader(bytes.view(), place_, wanted);
  element_ = header.element;
  shape_ = std::move(header.shape);
  owner_ = std::move(bytes.owner);
  data_ = owner_.get() + bytes.offset + header.begin;
}
