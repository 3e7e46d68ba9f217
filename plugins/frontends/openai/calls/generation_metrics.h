/// What is counted of generated texts, for each model.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "atoll/core/metrics.h"

namespace atl::frontends::openai {

/// Counts durations by size. [any]
class DurationCounts {
 public:
  /// Upper ends of the buckets, in seconds.
  static constexpr std::array<double, 20> kBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                                     0.25,  0.5,    1,     2.5,  5,     10,   25,
                                                     50,    100,    250,   500,  1000,  2500};
  /// \param times  how often
  void add(int64_t ns, uint64_t times = 1) noexcept;
  void show(MetricSink& sink, std::string_view label, std::string_view model) const noexcept;

 private:
  std::array<std::atomic<uint64_t>, kBounds.size() + 1> counts_{};
  std::atomic<uint64_t> sum_ns_{0};
};

/// Of one model. A request is one choice of one prompt.
struct TextCounts {
  DurationCounts first_token;  ///< from the call to the first piece of text
  DurationCounts between;      ///< from piece to piece, divided by the tokens of the later one
  DurationCounts request;      ///< from the call to the end, if it is none by failure
  std::atomic<uint64_t> prompt_tokens{0}, cached_tokens{0}, generated_tokens{0};
  std::atomic<int64_t> waiting{0};  ///< given to the model, and no text has come
  std::atomic<int64_t> running{0};  ///< text has come, and not the end
};

class GenerationMetrics {
 public:
  /// The counts of a model; made at its first request. [any]
  std::shared_ptr<TextCounts> of(const std::string& model);
  /// \param with_vllm_names  everything a second time, as dashboards made for vLLM ask for it
  void collect(MetricSink& sink, bool with_vllm_names) const noexcept;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<TextCounts>> by_model_;
};

}  // namespace atl::frontends::openai
