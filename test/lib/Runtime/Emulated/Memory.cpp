//===- Memory.cpp - Device memory that the host cannot touch --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory.h"
#include "Error.h"
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

using namespace soap;
using namespace soap::emulated;
using runtime::DevicePointer;

namespace {
struct Block {
  uint32_t device;
  uint64_t bytes;
  char *view; ///< That of commands.
};

/// All blocks of the process, by their device address.
struct Blocks {
  std::mutex mutex;
  std::map<uintptr_t, Block> all;
  static Blocks &get() {
    static auto *blocks = new Blocks;
    return *blocks;
  }
};
} // namespace

DevicePointer emulated::allocateBlock(uint32_t device, uint64_t bytes) {
  int file = memfd_create("emulated device", MFD_CLOEXEC);
  void *view = MAP_FAILED, *address = MAP_FAILED;
  if (file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) == 0)
    view = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (view != MAP_FAILED)
    address = mmap(nullptr, bytes, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  int error = errno;
  if (file >= 0)
    close(file);
  if (address == MAP_FAILED) {
    if (view != MAP_FAILED)
      munmap(view, bytes);
    runtime::invalid("expected ", bytes, " bytes of memory of emulated device ",
                     device, ", got: ", std::strerror(error),
                     "; use more devices or a smaller batch");
  }
  std::memset(view, 0xff, bytes);
  Blocks &blocks = Blocks::get();
  std::lock_guard<std::mutex> lock(blocks.mutex);
  blocks.all[reinterpret_cast<uintptr_t>(address)] = {
      device, bytes, static_cast<char *>(view)};
  return DevicePointer(address);
}

void emulated::freeBlock(DevicePointer pointer) {
  Blocks &blocks = Blocks::get();
  std::lock_guard<std::mutex> lock(blocks.mutex);
  auto it = blocks.all.find(pointer.value());
  munmap(it->second.view, it->second.bytes);
  munmap(reinterpret_cast<void *>(pointer.value()), it->second.bytes);
  blocks.all.erase(it);
}

char *emulated::privateAddress(DevicePointer pointer, uint32_t *device) {
  if (pointer == DevicePointer())
    return nullptr;
  Blocks &blocks = Blocks::get();
  std::lock_guard<std::mutex> lock(blocks.mutex);
  auto it = blocks.all.upper_bound(pointer.value());
  if (it != blocks.all.begin())
    --it;
  if (it != blocks.all.end() && pointer.value() >= it->first &&
      pointer.value() <= it->first + it->second.bytes) {
    if (device)
      *device = it->second.device;
    return it->second.view + (pointer.value() - it->first);
  }
  runtime::failed("expected an address in the memory of an emulated device, "
                  "got: one of the host, or of a block that has been freed");
}

char *emulated::privateAddress(uint32_t device, DevicePointer pointer) {
  uint32_t owner = device;
  char *address = privateAddress(pointer, &owner);
  if (owner != device)
    runtime::failed("expected an address in the memory of emulated device ",
                    device, ", got: one of device ", owner);
  return address;
}
