//===- TaskDevices.h - The devices of the tasks of an operation -*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_SEARCH_TASKDEVICES_H
#define SOAP_SEARCH_TASKDEVICES_H

#include "llvm/ADT/ArrayRef.h"
#include <array>
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <utility>

namespace soap {

/// A list of devices, one per task. Copies share the list until one of them is
/// written to, so that searches can pass configurations for hundreds of devices
/// around. Different copies may be used by different threads.
class TaskDevices {
public:
  using value_type = int32_t;
  using const_iterator = const int32_t *;
  using iterator = const_iterator;

  TaskDevices() = default;
  TaskDevices(std::initializer_list<int32_t> devices) { *this = devices; }
  explicit TaskDevices(llvm::ArrayRef<int32_t> devices) { *this = devices; }
  TaskDevices(const TaskDevices &other) : list_(other.list_) {
    if (list_)
      list_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  TaskDevices(TaskDevices &&other) noexcept
      : list_(std::exchange(other.list_, nullptr)) {}
  ~TaskDevices() { release(); }

  TaskDevices &operator=(const TaskDevices &other) {
    return *this = TaskDevices(other);
  }
  TaskDevices &operator=(TaskDevices &&other) noexcept {
    std::swap(list_, other.list_);
    return *this;
  }
  TaskDevices &operator=(std::initializer_list<int32_t> devices) {
    return *this = llvm::ArrayRef<int32_t>(devices.begin(), devices.size());
  }
  /// `devices` is no part of this list.
  TaskDevices &operator=(llvm::ArrayRef<int32_t> devices) {
    clear();
    append(devices.begin(), devices.end());
    return *this;
  }

  size_t size() const { return list_ ? list_->size : 0; }
  bool empty() const { return size() == 0; }
  const int32_t *begin() const { return list_ ? list_->devices() : nullptr; }
  const int32_t *end() const { return begin() + size(); }
  int32_t operator[](size_t task) const { return begin()[task]; }
  int32_t front() const { return begin()[0]; }
  int32_t back() const { return end()[-1]; }
  operator llvm::ArrayRef<int32_t>() const { return {begin(), end()}; }

  /// The devices, to write to. Other copies stay what they are. Holds until
  /// this list is copied or changes its size.
  llvm::MutableArrayRef<int32_t> edit();
  void push_back(int32_t device) { append(&device, &device + 1); }
  template <typename Iterator>
  void append(Iterator first, Iterator last) {
    int32_t *place = extend(static_cast<size_t>(last - first));
    for (; first != last; ++first)
      *place++ = *first;
  }
  template <typename Iterator>
  void assign(Iterator first, Iterator last) {
    clear();
    append(first, last);
  }
  void assign(size_t count, int32_t device) {
    clear();
    std::fill_n(extend(count), count, device);
  }
  void clear();
  /// Further tasks are on device 0.
  void resize(size_t count);
  void reserve(size_t count) { own(count); }

  /// 128 bits that stand for the list: with a billion different ones, two share
  /// theirs with probability 1e-21. Found once for all copies.
  std::array<uint64_t, 2> hash() const;

  /// True if this is a copy of `other`, or the other way round. Other lists may
  /// be equal, too.
  bool isSame(const TaskDevices &other) const { return list_ == other.list_; }
  bool operator==(const TaskDevices &other) const {
    return list_ == other.list_ || *this == llvm::ArrayRef<int32_t>(other);
  }
  bool operator==(llvm::ArrayRef<int32_t> other) const {
    return llvm::ArrayRef<int32_t>(*this) == other;
  }
  template <typename List>
  bool operator!=(const List &other) const {
    return !(*this == other);
  }

private:
  /// Devices stand behind it.
  struct List {
    std::atomic<uint32_t> owners{1};
    uint32_t size = 0, capacity = 0;
    std::atomic<bool> isHashed{false};
    std::array<std::atomic<uint64_t>, 2> hash;

    int32_t *devices() { return reinterpret_cast<int32_t *>(this + 1); }
  };
  bool isShared() const {
    return list_->owners.load(std::memory_order_acquire) != 1;
  }
  void release() {
    if (list_ && list_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1)
      destroy();
  }
  void destroy();
  /// Makes the list one of its own with room for `capacity` devices.
  void own(size_t capacity);
  /// Adds so many devices, which are to be written.
  int32_t *extend(size_t count);

  List *list_ = nullptr;
};

} // namespace soap

#endif // SOAP_SEARCH_TASKDEVICES_H
