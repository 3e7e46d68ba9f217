/// What is counted of the requests of one version of a model, for the page of metrics.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace atl::llamacpp {

/// A histogram of seconds with the buckets that dashboards of language models expect.
class SecondsHistogram {
 public:
  static constexpr std::array<double, 16> kBounds = {0.001, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25,
                                                     0.5,   0.75,  1,    2.5,   5,    10,    30,  60};
  struct Snapshot {
    std::array<uint64_t, kBounds.size() + 1> counts{};
    double sum = 0;
  };

  /// [any]
  void add(double seconds) noexcept {
    std::lock_guard lock(mutex_);
    size_t bucket = 0;
    while (bucket < kBounds.size() && seconds > kBounds[bucket]) ++bucket;
    ++data_.counts[bucket];
    data_.sum += seconds;
  }
  Snapshot snapshot() const noexcept {
    std::lock_guard lock(mutex_);
    return data_;
  }

 private:
  mutable std::mutex mutex_;
  Snapshot data_;
};

/// Counters only grow; the last four are what is true now, of all instances together. [any]
struct LlamaCounts {
  std::atomic<uint64_t> prompt_tokens{0}, generated_tokens{0}, cached_prompt_tokens{0}, preemptions{0};
  SecondsHistogram first_token, between_tokens;
  std::atomic<uint64_t> running{0}, waiting{0}, memory_tokens_used{0}, memory_tokens{0};
};

}  // namespace atl::llamacpp
