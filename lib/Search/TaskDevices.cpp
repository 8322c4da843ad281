//===- TaskDevices.cpp - The devices of the tasks of an operation ---------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/TaskDevices.h"
#include "llvm/Support/xxhash.h"
#include <algorithm>
#include <new>

using namespace soap;

void TaskDevices::destroy() {
  list_->~List();
  ::operator delete(list_);
}

void TaskDevices::own(size_t capacity) {
  if (list_ && !isShared() && capacity <= list_->capacity) {
    list_->isHashed.store(false, std::memory_order_relaxed);
    return;
  }
  // Lists that grow one by one are not copied every time.
  if (list_ && capacity > list_->capacity)
    capacity = std::max<size_t>(capacity, 2 * size_t(list_->capacity));
  capacity = std::max<size_t>(capacity, 6);
  void *memory = ::operator new(sizeof(List) + capacity * sizeof(int32_t));
  List *list = new (memory) List();
  list->capacity = static_cast<uint32_t>(capacity);
  list->size = static_cast<uint32_t>(size());
  std::copy(begin(), end(), list->devices());
  release();
  list_ = list;
}

llvm::MutableArrayRef<int32_t> TaskDevices::edit() {
  if (empty())
    return {};
  own(size());
  return {list_->devices(), list_->size};
}

int32_t *TaskDevices::extend(size_t count) {
  size_t before = size();
  own(before + count);
  list_->size += static_cast<uint32_t>(count);
  return list_->devices() + before;
}

void TaskDevices::clear() {
  if (!list_)
    return;
  if (isShared()) {
    release();
    list_ = nullptr;
    return;
  }
  list_->size = 0;
  list_->isHashed.store(false, std::memory_order_relaxed);
}

void TaskDevices::resize(size_t count) {
  size_t before = size();
  if (count > before) {
    std::fill_n(extend(count - before), count - before, 0);
  } else if (count < before) {
    own(before);
    list_->size = static_cast<uint32_t>(count);
  }
}

std::array<uint64_t, 2> TaskDevices::hash() const {
  auto find = [](llvm::ArrayRef<int32_t> devices) {
    return llvm::xxh3_128bits(
        {reinterpret_cast<const uint8_t *>(devices.data()),
         devices.size() * sizeof(int32_t)});
  };
  if (!list_) {
    static const llvm::XXH128_hash_t none = find({});
    return {none.low64, none.high64};
  }
  // Who finds it at the same time finds the same.
  if (!list_->isHashed.load(std::memory_order_acquire)) {
    llvm::XXH128_hash_t hash = find(*this);
    list_->hash[0].store(hash.low64, std::memory_order_relaxed);
    list_->hash[1].store(hash.high64, std::memory_order_relaxed);
    list_->isHashed.store(true, std::memory_order_release);
  }
  return {list_->hash[0].load(std::memory_order_relaxed),
          list_->hash[1].load(std::memory_order_relaxed)};
}
