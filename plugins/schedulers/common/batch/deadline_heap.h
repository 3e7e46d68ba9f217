/// Requests by the time at which their patience ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "atoll/request/request.h"

namespace atl::schedulers {

/// A binary heap whose requests know their place, so that one in the middle is removed in logarithmic time.
/// Of equal deadlines the one that was added first is the earlier one.
/// Uses the link `deadline_place`. Not thread safe: the scheduler's lock guards it.
class DeadlineHeap {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  /// The earliest deadline; kNever if there is none.
  int64_t first_ns() const noexcept { return entries_.empty() ? kNever : entries_[0].deadline_ns; }
  Request& first() const noexcept { return *entries_[0].request; }
  size_t size() const noexcept { return entries_.size(); }

  void add(Request& request, int64_t deadline_ns) {
    entries_.push_back({deadline_ns, next_order_++, &request});
    rise(entries_.size() - 1);
  }
  /// One that is not in the heap is left alone.
  void remove(Request& request) noexcept {
    uint64_t place = std::exchange(request.links.deadline_place, 0);
    if (place == 0) return;
    size_t index = place - 1;
    Entry last = entries_.back();
    entries_.pop_back();
    if (index == entries_.size()) return;
    entries_[index] = last;
    rise(index);
    sink(last.request->links.deadline_place - 1);
  }

 private:
  struct Entry {
    int64_t deadline_ns;
    uint64_t order;
    Request* request;

    bool operator<(const Entry& other) const noexcept {
      return deadline_ns != other.deadline_ns ? deadline_ns < other.deadline_ns : order < other.order;
    }
  };
  void put(size_t index, Entry entry) noexcept {
    entries_[index] = entry;
    entry.request->links.deadline_place = index + 1;
  }
  void rise(size_t index) noexcept {
    Entry entry = entries_[index];
    for (; index != 0 && entry < entries_[(index - 1) / 2]; index = (index - 1) / 2) {
      put(index, entries_[(index - 1) / 2]);
    }
    put(index, entry);
  }
  void sink(size_t index) noexcept {
    Entry entry = entries_[index];
    while (true) {
      size_t child = 2 * index + 1;
      if (child >= entries_.size()) break;
      if (child + 1 < entries_.size() && entries_[child + 1] < entries_[child]) ++child;
      if (entry < entries_[child]) break;
      put(index, entries_[child]);
      index = child;
    }
    put(index, entry);
  }

  std::vector<Entry> entries_;  // capacity is kept
  uint64_t next_order_ = 0;
};

}  // namespace atl::schedulers
