#include "backends/llamacpp/llama_metrics.h"

#include <algorithm>

namespace atl::llamacpp {
namespace {

using Number = double (*)(const LlamaCounts&);

struct Family {
  std::string_view name, help;
  MetricKind kind;
  Number number;
};

double load(const std::atomic<uint64_t>& value) {
  return static_cast<double>(value.load(std::memory_order_relaxed));
}

constexpr Family kFamilies[] = {
    {"atoll_llm_prompt_tokens_total", "Tokens of prompts that were begun, those from the prefix cache too.",
     MetricKind::kCounter, [](const LlamaCounts& c) { return load(c.prompt_tokens); }},
    {"atoll_llm_cached_prompt_tokens_total",
     "Tokens of prompts that were not computed, because another request with the same beginning was.",
     MetricKind::kCounter, [](const LlamaCounts& c) { return load(c.cached_prompt_tokens); }},
    {"atoll_llm_generated_tokens_total", "Tokens that were generated.", MetricKind::kCounter,
     [](const LlamaCounts& c) { return load(c.generated_tokens); }},
    {"atoll_llm_preemptions_total",
     "Requests that were put back because the KV cache was full, and computed again later.",
     MetricKind::kCounter, [](const LlamaCounts& c) { return load(c.preemptions); }},
    {"atoll_llm_requests_running", "Requests whose tokens are being computed.", MetricKind::kGauge,
     [](const LlamaCounts& c) { return load(c.running); }},
    {"atoll_llm_requests_waiting", "Requests that wait in the engine's queue.", MetricKind::kGauge,
     [](const LlamaCounts& c) { return load(c.waiting); }},
    {"atoll_llm_kv_cache_usage_ratio",
     "How much of the KV cache is in use, from 0 to 1, with what ended requests have left for others.",
     MetricKind::kGauge, [](const LlamaCounts& c) {
       const double all = load(c.memory_tokens);
       return all == 0 ? 0 : std::min(1.0, load(c.memory_tokens_used) / all);
     }}};

using Histogram = const SecondsHistogram& (*)(const LlamaCounts&);

struct HistogramFamily {
  std::string_view name, help;
  Histogram histogram;
};

constexpr HistogramFamily kHistograms[] = {
    {"atoll_llm_time_to_first_token_seconds",
     "From a request's arrival in the engine's queue to its first token.",
     [](const LlamaCounts& c) -> const SecondsHistogram& { return c.first_token; }},
    {"atoll_llm_inter_token_latency_seconds", "From one token of a request to the next.",
     [](const LlamaCounts& c) -> const SecondsHistogram& { return c.between_tokens; }}};

}  // namespace

std::shared_ptr<LlamaCounts> LlamaMetrics::counts_of(const std::string& model, int64_t version) {
  const std::string text = std::to_string(version);
  std::lock_guard lock(mutex_);
  for (const Row& row : rows_) {
    if (row.model == model && row.version == text) return row.counts;
  }
  auto counts = std::make_shared<LlamaCounts>();
  // Beyond the bound a model is served and not shown.
  if (rows_.size() < kRowsMax) rows_.push_back({model, text, counts});
  return counts;
}

void LlamaMetrics::collect(MetricSink& sink) const noexcept {
  std::lock_guard lock(mutex_);
  for (const Family& family : kFamilies) {
    sink.family(family.name, family.help, family.kind);
    for (const Row& row : rows_) {
      const MetricLabel labels[] = {{"model", row.model}, {"version", row.version}};
      sink.sample(labels, family.number(*row.counts));
    }
  }
  for (const HistogramFamily& family : kHistograms) {
    sink.family(family.name, family.help, MetricKind::kHistogram);
    for (const Row& row : rows_) {
      const MetricLabel labels[] = {{"model", row.model}, {"version", row.version}};
      const SecondsHistogram::Snapshot seen = family.histogram(*row.counts).snapshot();
      sink.histogram(labels, {.bounds = SecondsHistogram::kBounds, .counts = seen.counts, .sum = seen.sum});
    }
  }
}

}  // namespace atl::llamacpp
