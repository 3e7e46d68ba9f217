/// Requests by the time at which their patience ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "atoll/request.h"

namespace atl::schedulers {

/// A binary heap whose requests know their place, so that one in the middle is removed in logarithmic time.
/// Uses Request::scheduler_data[kPlace]. Not thread safe: the scheduler's lock guards it.
class DeadlineHeap {
 public:
  static constexpr int kPlace = 2;
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  /// The earliest deadline; kNever if there is none.
  int64_t first_ns() const noexcept { return entries_.empty() ? kNever : entries_[0].deadline_ns; }
  Request& first() const noexcept { return *entries_[0].request; }
  size_t size() const noexcept { return entries_.size(); }

  void add(Request& request, int64_t deadline_ns) {
    entries_.push_back({deadline_ns, &request});
    rise(entries_.size() - 1);
  }
  /// One that is not in the heap is left alone.
  void remove(Request& request) noexcept {
    uint64_t place = std::exchange(request.scheduler_data[kPlace], 0);
    if (place == 0) return;
    size_t index = place - 1;
    Entry last = entries_.back();
    entries_.pop_back();
    if (index == entries_.size()) return;
    entries_[index] = last;
    rise(index);
    sink(last.request->scheduler_data[kPlace] - 1);
  }

 private:
  struct Entry {
    int64_t deadline_ns;
    Request* request;
  };
  void put(size_t index, Entry entry) noexcept {
    entries_[index] = entry;
    entry.request->scheduler_data[kPlace] = index + 1;
  }
  void rise(size_t index) noexcept {
    Entry entry = entries_[index];
    for (; index != 0 && entry.deadline_ns < entries_[(index - 1) / 2].deadline_ns; index = (index - 1) / 2) {
      put(index, entries_[(index - 1) / 2]);
    }
    put(index, entry);
  }
  void sink(size_t index) noexcept {
    Entry entry = entries_[index];
    while (true) {
      size_t child = 2 * index + 1;
      if (child >= entries_.size()) break;
      if (child + 1 < entries_.size() && entries_[child + 1].deadline_ns < entries_[child].deadline_ns) {
        ++child;
      }
      if (entries_[child].deadline_ns >= entry.deadline_ns) break;
      put(index, entries_[child]);
      index = child;
    }
    put(index, entry);
  }

  std::vector<Entry> entries_;  // capacity is kept
};

}  // namespace atl::schedulers
