#include "frontends/common/http/server_thread.h"

#include <utility>

namespace atl::frontends::http {

thread_local const ServerThread* ServerThread::current_ = nullptr;

BodyBuffer BufferPool::take() noexcept {
  if (kept_.empty()) return {};
  BodyBuffer buffer = std::move(kept_.back());
  kept_.pop_back();
  kept_bytes_ -= buffer.capacity();
  return buffer;
}

void BufferPool::give(BodyBuffer buffer) noexcept {
  const size_t bytes = buffer.capacity();
  if (bytes == 0 || bytes > kLargestKept || kept_.size() >= kMostKept ||
      kept_bytes_ + bytes > kMostKeptBytes) {
    return;
  }
  buffer.clear();
  kept_bytes_ += bytes;
  kept_.push_back(std::move(buffer));
}

ServerThread::~ServerThread() = default;

void ServerThread::post(Posted& item) noexcept {
  posting_.fetch_add(1, std::memory_order_relaxed);
  Posted* newest = posted_.load(std::memory_order_relaxed);
  do item.next_posted = newest;
  while (!posted_.compare_exchange_weak(newest, &item, std::memory_order_acq_rel));
  // One wake for each time the list was empty, so an item is only taken by the wake that was asked for it.
  if (newest == nullptr) wake();
  posting_.fetch_sub(1, std::memory_order_release);
}

void ServerThread::run_posted() noexcept {
  Posted* newest = posted_.exchange(nullptr, std::memory_order_acq_rel);
  Posted* oldest = nullptr;
  while (newest != nullptr) {
    Posted* next = newest->next_posted;
    newest->next_posted = oldest;
    oldest = newest;
    newest = next;
  }
  while (oldest != nullptr) {
    Posted* item = oldest;
    oldest = item->next_posted;
    item->on_posted();
  }
}

}  // namespace atl::frontends::http
