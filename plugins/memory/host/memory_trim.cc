#include "memory/host/memory_trim.h"

#include <malloc.h>
#include <time.h>

#include <algorithm>

#include "atoll/lib/resident_memory.h"

namespace atl::memory {
namespace {

constexpr int32_t kNice = 10;
constexpr int64_t kIntervalNs = 5 * kNsPerSecond;
/// Of one CPU: below it the process has nothing to do that would take the memory again at once.
constexpr int64_t kQuietPercent = 10;

int64_t used_cpu_ns() noexcept {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return used.tv_sec * kNsPerSecond + used.tv_nsec;
}

void give_back() noexcept {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace

bool TrimRule::is_quiet(const MemorySample& sample) const noexcept {
  return (sample.cpu_ns - last_.cpu_ns) * 100 < (sample.now_ns - last_.now_ns) * kQuietPercent;
}

bool TrimRule::is_due(const MemorySample& sample) noexcept {
  const bool is_first = last_.now_ns == 0;
  const bool grows = sample.resident_bytes > last_.resident_bytes + kNoiseBytes;
  const bool quiet = is_quiet(sample) && !is_first;
  const bool may_now = sample.now_ns >= not_before_ns_ || quiet;
  last_ = sample;
  least_bytes_ = is_first ? sample.resident_bytes : std::min(least_bytes_, sample.resident_bytes);
  floor_bytes_ = is_first ? sample.resident_bytes : std::min(floor_bytes_, sample.resident_bytes);
  if (is_first || grows) return false;
  if (may_now && sample.resident_bytes >= least_bytes_ + kWorthBytes) {
    retry_pause_ns_ = kShortestPauseNs;
    return true;
  }
  // What was in use at the last time may have been freed since, and the resident memory does not tell.
  return quiet && sample.now_ns >= retry_ns_ && sample.resident_bytes >= floor_bytes_ + kWorthBytes;
}

void TrimRule::done(uint64_t before, uint64_t after, int64_t now_ns) noexcept {
  const bool came_back = before_bytes_ != 0 && before + kWorthBytes >= before_bytes_;
  const bool was_worth_it = before >= after + kWorthBytes;
  pause_ns_ = came_back || !was_worth_it ? std::min(2 * pause_ns_, kLongestPauseNs) : kShortestPauseNs;
  before_bytes_ = before;
  not_before_ns_ = now_ns + pause_ns_;
  least_bytes_ = last_.resident_bytes = after;  // what is left is in use
  retry_ns_ = now_ns + retry_pause_ns_;
  retry_pause_ns_ = std::min(2 * retry_pause_ns_, kLongestPauseNs);
}

Status MemoryTrim::start() noexcept {
  ThreadPlacement placement;
  placement.nice = kNice;
  Result<SerialExecutorPtr> made = host_.executors().create("memory-trim", placement);
  if (!made.ok()) return std::move(made).status();
  executor_ = std::move(made).value();
  (void)rule_.is_due(look_at_process());  // what there is at first
  look_later();
  return {};
}

MemorySample MemoryTrim::look_at_process() const noexcept {
  return {host_.clock().now_ns(), resident_bytes(), used_cpu_ns()};
}

void MemoryTrim::look_later() {
  executor_->post_at(host_.clock().now_ns() + kIntervalNs, make_task([this] { look(); }));
}

void MemoryTrim::look() {
  if (host_.gate().closed()) return;
  const MemorySample sample = look_at_process();
  if (rule_.is_due(sample)) {
    give_back();
    const uint64_t after = resident_bytes();
    rule_.done(sample.resident_bytes, after, host_.clock().now_ns());
    host_.log().debug("memory that was not used was given back: the process had ",
                      size_text(sample.resident_bytes), " resident, and has ", size_text(after));
  }
  look_later();
}

}  // namespace atl::memory
