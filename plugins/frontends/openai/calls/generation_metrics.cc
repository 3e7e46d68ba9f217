#include "frontends/openai/calls/generation_metrics.h"

#include <algorithm>

namespace atl::frontends::openai {
namespace {

struct Histogram {
  const char* name;
  const char* vllm_name;
  const char* help;
  DurationCounts TextCounts::*counts;
};
constexpr Histogram kHistograms[] = {
    {"atoll_openai_time_to_first_token_seconds", "vllm:time_to_first_token_seconds",
     "Time from a call to the first piece of its text.", &TextCounts::first_token},
    {"atoll_openai_inter_token_latency_seconds", "vllm:inter_token_latency_seconds",
     "Time from one token of a text to the next.", &TextCounts::between},
    {"atoll_openai_request_duration_seconds", "vllm:e2e_request_latency_seconds",
     "Time from a call to the end of its text.", &TextCounts::request},
};

struct Counter {
  const char* name;
  const char* vllm_name;
  const char* help;
  std::atomic<uint64_t> TextCounts::*count;
};
constexpr Counter kCounters[] = {
    {"atoll_openai_prompt_tokens_total", "vllm:prompt_tokens_total",
     "Tokens of prompts, as the model says how many there are.", &TextCounts::prompt_tokens},
    {"atoll_openai_cached_prompt_tokens_total", "vllm:prefix_cache_hits_total",
     "Tokens of prompts that the model took from its prefix cache.", &TextCounts::cached_tokens},
    {"atoll_openai_generated_tokens_total", "vllm:generation_tokens_total",
     "Tokens of generated texts, as the model says how many there are.", &TextCounts::generated_tokens},
    {nullptr, "vllm:prefix_cache_queries_total",
     "Tokens of prompts that were looked for in the prefix cache.", &TextCounts::prompt_tokens},
};

struct Gauge {
  const char* name;
  const char* vllm_name;
  const char* help;
  std::atomic<int64_t> TextCounts::*count;
};
constexpr Gauge kGauges[] = {
    {"atoll_openai_requests_waiting", "vllm:num_requests_waiting", "Requests whose text has not begun.",
     &TextCounts::waiting},
    {"atoll_openai_requests_running", "vllm:num_requests_running",
     "Requests whose text has begun and not ended.", &TextCounts::running},
};

}  // namespace

void DurationCounts::add(int64_t ns, uint64_t times) noexcept {
  const double seconds = static_cast<double>(ns) / static_cast<double>(times) / 1e9;
  const auto bucket = std::lower_bound(kBounds.begin(), kBounds.end(), seconds) - kBounds.begin();
  counts_[static_cast<size_t>(bucket)].fetch_add(times, std::memory_order_relaxed);
  sum_ns_.fetch_add(static_cast<uint64_t>(std::max<int64_t>(ns, 0)), std::memory_order_relaxed);
}

void DurationCounts::show(MetricSink& sink, std::string_view label, std::string_view model) const noexcept {
  std::array<uint64_t, kBounds.size() + 1> counts;
  for (size_t i = 0; i < counts.size(); ++i) counts[i] = counts_[i].load(std::memory_order_relaxed);
  const MetricLabel of_model{label, model};
  sink.histogram({&of_model, 1},
                 {kBounds, counts, static_cast<double>(sum_ns_.load(std::memory_order_relaxed)) / 1e9});
}

std::shared_ptr<TextCounts> GenerationMetrics::of(const std::string& model) {
  std::lock_guard lock(mutex_);
  std::shared_ptr<TextCounts>& counts = by_model_[model];
  if (counts == nullptr) counts = std::make_shared<TextCounts>();
  return counts;
}

void GenerationMetrics::collect(MetricSink& sink, bool with_vllm_names) const noexcept {
  std::lock_guard lock(mutex_);
  if (by_model_.empty()) return;
  for (const bool is_vllm : {false, true}) {
    if (is_vllm && !with_vllm_names) return;
    const std::string_view label = is_vllm ? "model_name" : "model";
    const auto begin = [&](const auto& one, MetricKind kind) {
      const char* const name = is_vllm ? one.vllm_name : one.name;
      if (name != nullptr) sink.family(name, one.help, kind);
      return name != nullptr;
    };
    for (const Histogram& one : kHistograms) {
      if (!begin(one, MetricKind::kHistogram)) continue;
      for (const auto& [model, counts] : by_model_) ((*counts).*one.counts).show(sink, label, model);
    }
    const auto show = [&](const auto& one, MetricKind kind) {
      if (!begin(one, kind)) return;
      for (const auto& [model, counts] : by_model_) {
        const MetricLabel of_model{label, model};
        sink.sample({&of_model, 1},
                    static_cast<double>(((*counts).*one.count).load(std::memory_order_relaxed)));
      }
    };
    for (const Counter& one : kCounters) show(one, MetricKind::kCounter);
    for (const Gauge& one : kGauges) show(one, MetricKind::kGauge);
  }
}

}  // namespace atl::frontends::openai
