/// A queue of requests linked through the requests themselves: no allocation, removal from the middle in
/// constant time.
#pragma once

#include <cstdint>

#include "atoll/request/request.h"

namespace atl::schedulers {

/// First in, first out. Uses Request::next and the links `previous` and `queue`; a request is in at most one
/// queue. Not thread safe: the scheduler's lock guards it.
class RequestQueue {
 public:
  RequestQueue() noexcept = default;
  RequestQueue(const RequestQueue&) = delete;
  RequestQueue& operator=(const RequestQueue&) = delete;

  bool empty() const noexcept { return head_ == nullptr; }
  uint64_t size() const noexcept { return size_; }
  Request* front() const noexcept { return head_; }
  /// Whether the request is in this queue and not in another.
  bool contains(const Request& request) const noexcept { return request.links.queue == this; }

  void push_back(Request& request) noexcept {
    request.links.queue = this;
    request.links.previous = tail_;
    request.next = nullptr;
    if (tail_ == nullptr) {
      head_ = &request;
    } else {
      tail_->next = &request;
    }
    tail_ = &request;
    ++size_;
  }
  void push_front(Request& request) noexcept {
    request.links.queue = this;
    request.links.previous = nullptr;
    request.next = head_;
    if (head_ == nullptr) {
      tail_ = &request;
    } else {
      head_->links.previous = &request;
    }
    head_ = &request;
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
    Request* previous = request.links.previous;
    if (previous == nullptr) {
      head_ = request.next;
    } else {
      previous->next = request.next;
    }
    if (request.next == nullptr) {
      tail_ = previous;
    } else {
      request.next->links.previous = previous;
    }
    request.next = nullptr;
    request.links.queue = nullptr;
    --size_;
  }

 private:
  Request* head_ = nullptr;
  Request* tail_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace atl::schedulers
