/// Bringing work to a thread from others.
#pragma once

#include <atomic>
#include <cstdint>

namespace atl::frontends {

/// Something to be done on a thread. It is not to be posted again before on_posted() was called.
class Posted {
 public:
  virtual void on_posted() noexcept = 0;

  Posted* next_posted = nullptr;  ///< link of the thread's list

 protected:
  ~Posted() = default;
};

/// What waits for one thread: a list without locks that is taken whole, with one wake-up for each time it was
/// empty. A thread that answers requests derives from it.
class PostList {
 public:
  PostList() noexcept = default;
  PostList(const PostList&) = delete;
  PostList& operator=(const PostList&) = delete;

  /// [any] Runs item.on_posted() on the thread, in the order posted.
  void post(Posted& item) noexcept {
    posting_.fetch_add(1, std::memory_order_relaxed);
    Posted* newest = posted_.load(std::memory_order_relaxed);
    do item.next_posted = newest;
    while (!posted_.compare_exchange_weak(newest, &item, std::memory_order_acq_rel));
    // An item is only taken by the wake that was asked for it.
    if (newest == nullptr) wake();
    posting_.fetch_sub(1, std::memory_order_release);
  }
  /// [any] No thread is inside post() any more.
  bool nobody_posts() const noexcept { return posting_.load(std::memory_order_acquire) == 0; }

 protected:
  ~PostList() = default;
  /// [any] Has run_posted() called once on the thread, soon.
  virtual void wake() noexcept = 0;
  void run_posted() noexcept;

 private:
  std::atomic<Posted*> posted_{nullptr};  ///< the newest first
  std::atomic<uint32_t> posting_{0};
};

}  // namespace atl::frontends
