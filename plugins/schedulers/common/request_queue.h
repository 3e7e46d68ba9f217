/// A queue of requests linked through the requests themselves: no allocation, removal from the middle in
/// constant time.
#pragma once

#include <cstdint>

#include "atoll/request.h"

namespace atl::schedulers {

/// First in, first out. Uses Request::next and, of scheduler_data, the words below; a request is in at most
/// one queue. Not thread safe: the scheduler's lock guards it.
class RequestQueue {
 public:
  RequestQueue() noexcept = default;
  RequestQueue(const RequestQueue&) = delete;
  RequestQueue& operator=(const RequestQueue&) = delete;

  bool empty() const noexcept { return head_ == nullptr; }
  uint64_t size() const noexcept { return size_; }
  Request* front() const noexcept { return head_; }
  /// Whether the request is in this queue and not in another.
  bool contains(const Request& request) const noexcept {
    return request.scheduler_data[kOwner] == own_mark();
  }

  void push_back(Request& request) noexcept {
    request.scheduler_data[kOwner] = own_mark();
    request.scheduler_data[kPrevious] = reinterpret_cast<uintptr_t>(tail_);
    request.next = nullptr;
    (tail_ == nullptr ? head_ : tail_->next) = &request;
    tail_ = &request;
    ++size_;
  }
  /// Null if there is none.
  Request* pop_front() noexcept {
    Request* first = head_;
    if (first != nullptr) remove(*first);
    return first;
  }
  /// The request must be in this queue.
  void remove(Request& request) noexcept {
    auto* previous = reinterpret_cast<Request*>(request.scheduler_data[kPrevious]);
    (previous == nullptr ? head_ : previous->next) = request.next;
    if (request.next == nullptr) {
      tail_ = previous;
    } else {
      request.next->scheduler_data[kPrevious] = reinterpret_cast<uintptr_t>(previous);
    }
    request.next = nullptr;
    request.scheduler_data[kOwner] = 0;
    --size_;
  }

  /// Words of Request::scheduler_data that a queued request needs; the others are the scheduler's.
  static constexpr int kPrevious = 0, kOwner = 1;

 private:
  uintptr_t own_mark() const noexcept { return reinterpret_cast<uintptr_t>(this); }

  Request* head_ = nullptr;
  Request* tail_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace atl::schedulers
