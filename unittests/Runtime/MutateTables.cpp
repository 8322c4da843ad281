//===- MutateTables.cpp - Runs damaged tables of compiled models ----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   soap-mutate-tables [--tables=N] [--seed=S] MODEL.so ...
//
// Changes one to four bytes of a model's table, N times for each model. What
// the runtime does not refuse takes a step, between guard pages: an access
// outside of the arenas, of the inputs or of the outputs, any signal, and a
// table that takes longer than 20 s, is an error that names the change. Tables
// come without the file's hash, which would refuse every change.
//
//===----------------------------------------------------------------------===//

#include "GuardedMemory.h"
#include "soap/Runtime/Runtime.h"
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <link.h>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

using namespace soap::test;

namespace {
/// A model's table and code.
struct Model {
  std::string path, folder;
  std::vector<uint8_t> table;
  const soap_native_kernel *natives = nullptr;
  size_t nativeCount = 0;
};
} // namespace

/// What is being tried, for the handler of signals.
static char current[512] = "nothing";

static void onSignal(int signal) {
  char text[600];
  int length =
      std::snprintf(text, sizeof(text), "error: signal %d (%s) of %s\n", signal,
                    signal == SIGALRM ? "too long" : "crash", current);
  (void)!write(STDERR_FILENO, text, static_cast<size_t>(length));
  _exit(1);
}

static const void *findSymbol(void *library, const char *name, size_t &size) {
  const void *data = dlsym(library, name);
  Dl_info info;
  ElfW(Sym) *symbol = nullptr;
  if (!data ||
      !dladdr1(data, &info, reinterpret_cast<void **>(&symbol), RTLD_DL_SYMENT))
    return nullptr;
  size = symbol->st_size;
  return data;
}

static Model open(const std::string &path) {
  Model model;
  model.path = path;
  size_t slash = path.rfind('/');
  model.folder = slash == std::string::npos ? "." : path.substr(0, slash);
  std::string full = slash == std::string::npos ? "./" + path : path;
  void *library = dlopen(full.c_str(), RTLD_NOW);
  size_t size = 0;
  const void *table =
      library ? findSymbol(library, "soap_model_data", size) : nullptr;
  if (!table) {
    std::fprintf(stderr, "error: expected a compiled model, got: '%s'\n",
                 path.c_str());
    std::exit(2);
  }
  const auto *bytes = static_cast<const uint8_t *>(table);
  model.table.assign(bytes, bytes + size);
  if (const void *natives = findSymbol(library, "soap_native_kernels", size)) {
    model.natives = static_cast<const soap_native_kernel *>(natives);
    model.nativeCount = size / sizeof(soap_native_kernel);
  }
  return model;
}

/// Reads all of a tile.
static void touch(const soap_tile *tile, void *) {
  size_t bytes = soap_element_size(tile->element);
  for (size_t d = 0; d != tile->rank; ++d)
    bytes *= static_cast<size_t>(tile->box[2 * d + 1] - tile->box[2 * d]);
  const auto *data = static_cast<const volatile unsigned char *>(tile->data);
  for (size_t i = 0; i < bytes; ++i)
    (void)data[i];
}

/// Runs a loaded model once; its tensors lie between guard pages, too. False if
/// something was written beside them.
static bool takeStep(soap_model *model, bool atEnd) {
  std::deque<GuardedBlock> blocks;
  std::vector<const void *> inputs;
  std::vector<void *> outputs;
  size_t total = 0;
  auto add =
      [&](soap_status (*describe)(const soap_model *, size_t, soap_port *),
          size_t count, auto &list) {
        for (size_t i = 0; i != count; ++i) {
          soap_port port;
          (void)describe(model, i, &port);
          if (__builtin_add_overflow(total, port.bytes, &total) ||
              total > size_t{1} << 32)
            return false;
          blocks.emplace_back(port.bytes, atEnd);
          list.push_back(blocks.back().data());
        }
        return true;
      };
  if (!add(soap_model_input, soap_model_input_count(model), inputs) ||
      !add(soap_model_output, soap_model_output_count(model), outputs))
    return true;
  (void)soap_model_run(model, inputs.data(), outputs.data());
  (void)soap_model_info(model);
  bool intact = true;
  for (const GuardedBlock &block : blocks)
    intact &= block.isIntact();
  return intact;
}

/// Changes one to four bytes; says which.
static std::string mutate(std::vector<uint8_t> &table,
                          std::mt19937_64 &random) {
  std::string text;
  for (uint64_t change = random() % 4 + 1; change != 0; --change) {
    size_t at = random() % table.size();
    uint8_t old = table[at], kind = random() % 4;
    table[at] = kind == 0   ? static_cast<uint8_t>(random())
                : kind == 1 ? old ^ static_cast<uint8_t>(1u << random() % 8)
                : kind == 2 ? old + (random() % 2 ? 1 : -1)
                            : (random() % 2 ? 0 : 255);
    text += " " + std::to_string(at) + ":" + std::to_string(old) + "->" +
            std::to_string(table[at]);
  }
  return text;
}

static bool run(const Model &original, uint64_t tables, uint64_t seed) {
  size_t refused = 0, ran = 0;
  for (uint64_t i = 0; i != tables; ++i) {
    std::mt19937_64 random(seed * 1000003 + i);
    std::vector<uint8_t> table = original.table;
    std::string changes = i ? mutate(table, random) : " nothing";
    std::snprintf(current, sizeof(current), "'%s', table %llu, seed %llu:%s",
                  original.path.c_str(), static_cast<unsigned long long>(i),
                  static_cast<unsigned long long>(seed), changes.c_str());
    bool atEnd = random() % 2;
    guardEnds(atEnd);
    alarm(20);
    size_t broken = brokenArenas();
    soap_load_options options = {};
    options.size = sizeof(options);
    options.transport = SOAP_TRANSPORT_LOCAL;
    options.cores_per_device = 1;
    options.warning = [](const char *, void *) {};
    options.observe = touch;
    soap_model *model = nullptr;
    soap_status status = soap_model_load_from_memory(
        table.data(), table.size(), original.natives, original.nativeCount,
        original.folder.c_str(), &options, &model);
    bool intact = true;
    if (status == SOAP_OK) {
      ++ran;
      intact = takeStep(model, atEnd);
      soap_model_release(model);
    } else {
      ++refused;
      if (i == 0 || !*soap_last_error()) {
        std::fprintf(stderr, "error: expected %s, got: '%s' (%s)\n",
                     i ? "a reason" : "the unchanged table to run",
                     soap_last_error(), current);
        return false;
      }
    }
    alarm(0);
    if (!intact || broken != brokenArenas()) {
      std::fprintf(stderr, "error: bytes beside a block were written by %s\n",
                   current);
      return false;
    }
  }
  std::printf("%s: %zu tables refused, %zu ran inside of their arenas\n",
              original.path.c_str(), refused, ran);
  return true;
}

int main(int argc, char **argv) {
  uint64_t tables = 10000, seed = 1;
  std::vector<std::string> paths;
  for (int i = 1; i != argc; ++i) {
    std::string text = argv[i];
    if (text.rfind("--tables=", 0) == 0)
      tables = std::strtoull(text.c_str() + 9, nullptr, 10);
    else if (text.rfind("--seed=", 0) == 0)
      seed = std::strtoull(text.c_str() + 7, nullptr, 10);
    else
      paths.push_back(text);
  }
  if (paths.empty() || tables == 0) {
    std::fprintf(stderr, "usage: soap-mutate-tables [--tables=N] [--seed=S] "
                         "MODEL.so ...\n");
    return 2;
  }
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM})
    std::signal(signal, onSignal);
  for (const std::string &path : paths)
    if (!run(open(path), tables, seed))
      return 1;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  if (guardedArenas() < tables / 10) {
    std::fprintf(stderr,
                 "error: expected arenas between guard pages, got: %zu "
                 "of them; see how the runtime maps arenas\n",
                 guardedArenas());
    return 1;
  }
#endif
  return 0;
}
