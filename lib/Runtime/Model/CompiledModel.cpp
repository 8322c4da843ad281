//===- CompiledModel.cpp - A compiled model's table and code --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model/CompiledModel.h"
#include "Model/Check.h"
#include "Model/ElfFile.h"
#include "soap/Runtime/ModelHash.h"
#include <climits>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

using namespace soap;
using namespace soap::runtime;

CompiledModel::CompiledModel(const void *data, size_t size)
    : storage_(size / sizeof(uint64_t) + 1) {
  if (size)
    std::memcpy(storage_.data(), data, size);
  table_ = checkedModel(storage_.data(), size);
  checkTable(*table_);
}

CompiledModel::~CompiledModel() {
  if (library_)
    dlclose(library_);
}

std::string CompiledModel::weightsPath() const {
  std::string name = toString(table_->weights_file());
  if (name.empty())
    return "";
  if (name.find('/') != std::string::npos)
    invalid("expected the name of a weights file beside the model, got: '",
            name, "'; compile the model again");
  return directory_ + "/" + name;
}

void CompiledModel::checkWeights(bool all) const {
  std::string path = weightsPath();
  if (path.empty())
    return;
  auto file = MappedFile::open(path, "the weights of the model");
  const fb::WeightsDigest &wanted = *table_->weights_digest();
  auto differ = [&](const std::string &what) {
    invalid("expected the weights that were written with the model in '", path,
            "', got: ", what,
            "; keep both files of one compilation, or compile the model again");
  };
  if (file->size() != wanted.bytes())
    differ(text(file->size(), " bytes instead of ", wanted.bytes()));
  fb::WeightsDigest found = digestOfWeights(file->data(), file->size(), all);
  if (found.header() != wanted.header())
    differ("another header");
  if (found.samples() != wanted.samples() ||
      (all && found.data() != wanted.data()))
    differ("other data");
}

/// Throws unless a model is, byte by byte, what was written.
static void requireSeal(const MappedFile &file) {
  Seal seal = checkSeal(file.data(), file.size());
  if (seal != Seal::Fine)
    invalid("expected a model as soap-compile wrote it in '", file.path(),
            "', got: ",
            seal == Seal::Missing ? "a file without its hash at the end"
                                  : "a file with another hash",
            "; compile the model again");
}

std::shared_ptr<const CompiledModel>
CompiledModel::open(const std::string &path, soap_build build) {
  auto file = MappedFile::open(path, "a model");
  ElfFile elf(*file);
  auto data = elf.find("soap_model_data");
  auto reference = elf.find("soap_reference_data");
  if (!data)
    invalid("expected a model made by soap-compile, got: '", path,
            "', a library without soap_model_data");
  requireSeal(*file);
  if (build == SOAP_BUILD_REFERENCE && !reference) {
    CompiledModel model(file->data() + data->offset, data->size);
    if (items(model.table().devices()).size() == 1)
      invalid("expected a model of several devices, got: '", path,
              "', of one device, which has nothing to be verified against; "
              "compare its outputs with --compare=OTHER.so");
    invalid("expected a model with a build for one device inside, got: '", path,
            "', which has none; compile it without --no-reference, and not "
            "from tasks");
  }
  if (build == SOAP_BUILD_REFERENCE)
    data = reference;
  std::shared_ptr<CompiledModel> result(
      new CompiledModel(file->data() + data->offset, data->size));
  char resolved[PATH_MAX];
  if (!realpath(path.c_str(), resolved))
    invalid("cannot resolve '", path, "', got: ", std::strerror(errno));
  result->directory_ = resolved;
  result->directory_.resize(result->directory_.rfind('/'));
  result->hasReference_ = reference.has_value();

  uint32_t count = items(result->table_->natives()).size();
  if (count == 0 || result->table_->device_code())
    return result;
  auto table = elf.find("soap_native_kernels");
  if (!table || table->size / sizeof(soap_native_kernel) < count)
    invalid("expected ", count, " native kernels in '", path,
            "', got: ", table ? table->size / sizeof(soap_native_kernel) : 0,
            "; compile the model again");
  result->library_ = dlopen(resolved, RTLD_NOW | RTLD_LOCAL);
  if (!result->library_)
    invalid("expected a loadable model, got: ", dlerror(),
            "; compile the model again");
  const auto *natives = static_cast<const soap_native_kernel *>(
      dlsym(result->library_, "soap_native_kernels"));
  if (!natives)
    invalid("expected native kernels in '", path, "', got: ", dlerror(),
            "; compile the model again");
  result->natives_.assign(natives, natives + count);
  for (soap_native_kernel kernel : result->natives_)
    if (!kernel)
      invalid("expected native kernels in '", path,
              "', got: an empty entry; compile the model again");
  return result;
}

std::shared_ptr<const CompiledModel>
CompiledModel::fromMemory(const void *data, size_t size,
                          const soap_native_kernel *natives, size_t nativeCount,
                          const std::string &directory) {
  std::shared_ptr<CompiledModel> result(new CompiledModel(data, size));
  size_t count = result->table_->device_code()
                     ? 0
                     : items(result->table_->natives()).size();
  if (nativeCount < count)
    invalid("expected ", count, " native kernels, got: ", nativeCount,
            "; pass all that the table names");
  for (size_t i = 0; i != count; ++i) {
    if (!natives || !natives[i])
      invalid("expected native kernel ", i, ", got: null");
    result->natives_.push_back(natives[i]);
  }
  result->directory_ = directory;
  return result;
}
