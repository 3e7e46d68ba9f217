#include "models/catalog/states/memory_return.h"

#include <malloc.h>

#include <algorithm>
#include <utility>

#include "atoll/lib/resident_memory.h"

namespace atl::models {
namespace {

constexpr int32_t kNice = 10;
constexpr int64_t kQuietNs = 200 * kNsPerMs;
constexpr int64_t kLongNs = 5 * kNsPerSecond;

}  // namespace

MemoryCalls system_memory() noexcept {
  return {[]() noexcept { return resident_bytes(); },
          []() noexcept {
#ifdef __GLIBC__
            malloc_trim(0);
#endif
          }};
}

void MemoryReturn::version_ends() noexcept {
  std::scoped_lock lock(mutex_);
  begin();
}

void MemoryReturn::begin() noexcept {
  if (began_ns_ != 0 || no_thread_ || host_.gate().closed()) return;
  began_ns_ = std::max<int64_t>(host_.clock().now_ns(), 1);
  before_bytes_ = calls_.resident();
}

void MemoryReturn::version_ended() noexcept {
  std::scoped_lock lock(mutex_);
  begin();  // its burst may be over: destroying takes as long as it takes
  if (began_ns_ == 0) return;
  last_ns_ = host_.clock().now_ns();
  if (versions_++ != 0) return;
  if (executor_ == nullptr) {
    ThreadPlacement placement;
    placement.nice = kNice;
    auto executor = host_.executors().create("memory", placement);
    if (!executor.ok()) {
      host_.log().warning("memory of unloaded models is not given back: ", executor.status().text());
      no_thread_ = true;
      return;
    }
    executor_ = std::move(executor).value();
  }
  executor_->post_at(last_ns_ + kQuietNs, make_task([this] { check(); }));
}

void MemoryReturn::check() {
  uint64_t versions = 0;
  uint64_t before_bytes = 0;
  {
    std::scoped_lock lock(mutex_);
    const int64_t now_ns = host_.clock().now_ns();
    const int64_t due_ns = std::min(last_ns_ + kQuietNs, began_ns_ + kLongNs);
    if (now_ns < due_ns) {
      executor_->post_at(due_ns, make_task([this] { check(); }));
      return;
    }
    versions = std::exchange(versions_, 0);
    before_bytes = before_bytes_;
    began_ns_ = 0;
  }
  give_back(versions, before_bytes);
}

void MemoryReturn::give_back(uint64_t versions, uint64_t before_bytes) {
  calls_.give_back();
  const uint64_t after_bytes = calls_.resident();
  const uint64_t returned_bytes = before_bytes > after_bytes ? before_bytes - after_bytes : 0;
  host_.log().info("unloading ", versions, versions == 1 ? " version" : " versions", " gave back ",
                   returned_bytes == 0     ? "no memory"
                   : returned_bytes < 1024 ? cat(returned_bytes, " bytes")
                                           : cat(returned_bytes, " bytes (", size_text(returned_bytes), ")"),
                   ": the process had ", size_text(before_bytes), " resident, and has ",
                   size_text(after_bytes));
}

}  // namespace atl::models
