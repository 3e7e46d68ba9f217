#include "frontends/metrics/model_families.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "atoll/models/model_identifier.h"
#include "frontends/metrics/latency_view.h"
#include "frontends/metrics/native_histogram.h"

namespace atl::frontends::metrics {
namespace {

using prometheus::MetricType;

constexpr double kUs = 1e3, kMs = 1e6, kSecond = 1e9;

double number(uint64_t value) { return static_cast<double>(value); }
double whole_us(uint64_t ns) { return static_cast<double>(ns / 1000); }

struct Number {
  std::string_view name, help;
  MetricType type;
  double (*read)(const ModelStatistics& model);
};

/// The first one is followed by the failures, as Triton has it.
constexpr Number kNumbers[] = {
    {"nv_inference_request_success", "Number of successful inference requests, all batch sizes",
     MetricType::Counter, [](const ModelStatistics& m) { return number(m.success.count); }},
    {"nv_inference_count", "Number of inferences performed (does not include cached requests)",
     MetricType::Counter, [](const ModelStatistics& m) { return number(m.inference_count); }},
    {"nv_inference_exec_count", "Number of model executions performed (does not include cached requests)",
     MetricType::Counter, [](const ModelStatistics& m) { return number(m.execution_count); }},
    {"nv_inference_pending_request_count",
     "Instantaneous number of pending requests awaiting execution per-model.", MetricType::Gauge,
     [](const ModelStatistics& m) { return number(m.pending); }},
    {"nv_model_load_duration_secs", "Model load time in seconds", MetricType::Gauge,
     [](const ModelStatistics& m) { return number(m.load_duration_ns) / kSecond; }},
};

constexpr Number kDurations[] = {
    {"nv_inference_request_duration_us",
     "Cumulative inference request duration in microseconds (includes cached requests)", MetricType::Counter,
     [](const ModelStatistics& m) { return whole_us(m.success.ns); }},
    {"nv_inference_queue_duration_us",
     "Cumulative inference queuing duration in microseconds (includes cached requests)", MetricType::Counter,
     [](const ModelStatistics& m) { return whole_us(m.queue.ns); }},
    {"nv_inference_compute_input_duration_us",
     "Cumulative compute input duration in microseconds (does not include cached requests)",
     MetricType::Counter, [](const ModelStatistics& m) { return whole_us(m.compute_input.ns); }},
    {"nv_inference_compute_infer_duration_us",
     "Cumulative compute inference duration in microseconds (does not include cached requests)",
     MetricType::Counter, [](const ModelStatistics& m) { return whole_us(m.compute_infer.ns); }},
    {"nv_inference_compute_output_duration_us",
     "Cumulative inference compute output duration in microseconds (does not include cached requests)",
     MetricType::Counter, [](const ModelStatistics& m) { return whole_us(m.compute_output.ns); }},
};

constexpr Number kCaches[] = {
    {"nv_cache_num_hits_per_model", "Number of cache hits per model", MetricType::Counter,
     [](const ModelStatistics& m) { return number(m.cache_hit.count); }},
    {"nv_cache_num_misses_per_model", "Number of cache misses per model", MetricType::Counter,
     [](const ModelStatistics& m) { return number(m.cache_miss.count); }},
    {"nv_cache_hit_duration_per_model", "Total cache hit duration per model, in microseconds",
     MetricType::Counter, [](const ModelStatistics& m) { return whole_us(m.cache_hit.ns); }},
    {"nv_cache_miss_duration_per_model", "Total cache miss duration per model, in microseconds",
     MetricType::Counter, [](const ModelStatistics& m) { return whole_us(m.cache_miss.ns); }},
};

struct Phase {
  std::string_view name, help;
  LatencyHistogram LatencyHistograms::*latency;
};

/// The first one is of whole requests, which Triton does not have for models with a response cache.
constexpr Phase kSummaries[] = {
    {"nv_inference_request_summary_us",
     "Summary of inference request duration in microseconds (includes cached requests)",
     &LatencyHistograms::total},
    {"nv_inference_queue_summary_us",
     "Summary of inference queuing duration in microseconds (includes cached requests)",
     &LatencyHistograms::queue},
    {"nv_inference_compute_input_summary_us",
     "Summary of compute input duration in microseconds (does not include cached requests)",
     &LatencyHistograms::compute_input},
    {"nv_inference_compute_infer_summary_us",
     "Summary of compute inference duration in microseconds (does not include cached requests)",
     &LatencyHistograms::compute_infer},
    {"nv_inference_compute_output_summary_us",
     "Summary of inference compute output duration in microseconds (does not include cached requests)",
     &LatencyHistograms::compute_output},
};

/// Of these there are no distributions: counts and sums, without quantiles.
struct CacheSummary {
  std::string_view name, help;
  StatisticDuration ModelStatistics::*duration;
};

constexpr CacheSummary kCacheSummaries[] = {
    {"nv_cache_hit_summary_per_model", "Summary of cache hit duration per model, in microseconds",
     &ModelStatistics::cache_hit},
    {"nv_cache_miss_summary_per_model", "Summary of cache miss duration per model, in microseconds",
     &ModelStatistics::cache_miss},
};

constexpr Phase kHistograms[] = {
    {"atoll_inference_queue_duration_seconds", "Time of requests in the queue.", &LatencyHistograms::queue},
    {"atoll_inference_compute_input_duration_seconds", "Time of requests in which inputs are prepared.",
     &LatencyHistograms::compute_input},
    {"atoll_inference_compute_infer_duration_seconds", "Time of requests in which the model computes.",
     &LatencyHistograms::compute_infer},
    {"atoll_inference_compute_output_duration_seconds", "Time of requests in which outputs are made ready.",
     &LatencyHistograms::compute_output},
    {"atoll_inference_request_duration_seconds", "Time from a request's start to the end of its execution.",
     &LatencyHistograms::total},
    {"atoll_inference_first_response_duration_seconds", "Time from a request's start to its first response.",
     &LatencyHistograms::first_response},
};

size_t first_summary(const ModelFacts& facts) { return facts.response_cache ? 1 : 0; }

bool is_unused(const LatencyHistograms& latencies) {
  return std::all_of(std::begin(kHistograms), std::end(kHistograms),
                     [&](const Phase& one) { return (latencies.*one.latency).count == 0; });
}

/// \param model  its name, or its identifier
bool is_shown(const PhaseHistograms& phases, std::string_view model) {
  return phases.has(model) || (is_model_identifier(model) && phases.has(model_name_of(model)));
}

constexpr std::string_view kReasons[] = {"REJECTED", "CANCELED", "BACKEND", "OTHER"};

Labels with(const Labels& labels, std::string_view name, std::string_view value) {
  Labels more;
  more.reserve(labels.size() + 1);
  prometheus::ClientMetric::Label added{std::string(name), std::string(value)};
  auto place = std::lower_bound(labels.begin(), labels.end(), added);
  more.insert(more.end(), labels.begin(), place);
  more.push_back(std::move(added));
  more.insert(more.end(), place, labels.end());
  return more;
}

}  // namespace

ModelFamilies::ModelFamilies(Page& page, const MetricsSettings& settings) : page_(page), settings_(settings) {
  for (const Number& one : kNumbers) {
    numbers_.push_back(page.family(one.name, one.help, one.type));
    if (&one != kNumbers) continue;
    failures_ = page.family("nv_inference_request_failure",
                            "Number of failed inference requests, all batch sizes", MetricType::Counter);
  }
  if (settings.counter_latencies) {
    for (const Number& one : kDurations) durations_.push_back(page.family(one.name, one.help, one.type));
    for (const Number& one : kCaches) caches_.push_back(page.family(one.name, one.help, one.type));
  }
  if (settings.summary_latencies) {
    for (const Phase& one : kSummaries) {
      summaries_.push_back(page.family(one.name, one.help, MetricType::Summary));
    }
    for (const CacheSummary& one : kCacheSummaries) {
      cache_summaries_.push_back(page.family(one.name, one.help, MetricType::Summary));
    }
  }
  if (settings.histogram_latencies) {
    first_response_ =
        page.family("nv_inference_first_response_histogram_ms",
                    "Duration from request to first response in milliseconds", MetricType::Histogram);
  }
  if (settings.phases.some() || page.format() == PageFormat::kProtobuf) {
    for (const Phase& one : kHistograms) {
      histograms_.push_back(page.family(one.name, one.help, MetricType::Histogram));
    }
  }
}

void ModelFamilies::add(const ModelStatistics& model, const ModelFacts& facts,
                        const LatencyHistograms* recent) {
  const Labels& labels = facts.labels;
  const EncodedLabels label_text = page_.encode(labels);
  for (size_t i = 0; i < numbers_.size(); ++i) page_.line(numbers_[i], label_text, kNumbers[i].read(model));
  for (size_t i = 0; i < durations_.size(); ++i)
    page_.line(durations_[i], label_text, kDurations[i].read(model));
  for (size_t i = 0; i < std::size(kReasons); ++i) {
    page_.value(failures_, with(labels, "reason", kReasons[i]), number(model.failures[i]));
  }
  for (size_t i = 0; facts.response_cache && i < caches_.size(); ++i) {
    page_.line(caches_[i], label_text, kCaches[i].read(model));
  }
  if (recent != nullptr) add_summaries(model, facts, *recent);
  // Requests of other models have one response, which comes when they end.
  if (settings_.histogram_latencies && facts.decoupled) {
    page_.histogram(
        first_response_, labels,
        histogram_view(model.latencies.first_response, facts.first_response_bounds_ms, kMs, true));
  }
  add_phases(model, labels);
}

void ModelFamilies::add_phases(const ModelStatistics& model, const Labels& labels) {
  const bool as_text = page_.format() == PageFormat::kText;
  const bool with_buckets = !settings_.duration_bounds_sec.empty() && is_shown(settings_.phases, model.name);
  if (as_text && !with_buckets) return;
  // A version that nobody has used yet has only zeros to show, and there may be thousands.
  if (is_unused(model.latencies)) return announce_histograms();
  for (size_t i = 0; i < histograms_.size(); ++i) {
    const LatencyHistogram& latency = model.latencies.*kHistograms[i].latency;
    prometheus::ClientMetric::Histogram classic;
    if (with_buckets) {
      classic = histogram_view(latency, settings_.duration_bounds_sec, kSecond, false);
    } else {
      classic.sample_count = latency.count;
      classic.sample_sum = static_cast<double>(latency.sum_ns) / kSecond;
    }
    if (as_text) {
      page_.histogram(histograms_[i], labels, std::move(classic));
    } else {
      const NativeHistogram native = native_histogram(latency);
      page_.histogram(histograms_[i], labels, std::move(classic), &native);
    }
  }
}

void ModelFamilies::announce_histograms() {
  for (Page::FamilyId family : histograms_) page_.keep(family);
}

void ModelFamilies::add_summaries(const ModelStatistics& model, const ModelFacts& facts,
                                  const LatencyHistograms& recent) {
  for (size_t i = first_summary(facts); i < summaries_.size(); ++i) {
    const LatencyHistogram& all = model.latencies.*kSummaries[i].latency;
    prometheus::ClientMetric::Summary summary;
    summary.sample_count = all.count;
    summary.sample_sum = whole_us(all.sum_ns);
    for (double quantile : settings_.quantiles) {
      summary.quantile.push_back({quantile, quantile_ns(recent.*kSummaries[i].latency, quantile) / kUs});
    }
    page_.summary(summaries_[i], facts.labels, std::move(summary));
  }
  for (size_t i = 0; facts.response_cache && i < cache_summaries_.size(); ++i) {
    const StatisticDuration& all = model.*kCacheSummaries[i].duration;
    prometheus::ClientMetric::Summary summary;
    summary.sample_count = all.count;
    summary.sample_sum = whole_us(all.ns);
    page_.summary(cache_summaries_[i], facts.labels, std::move(summary));
  }
}

}  // namespace atl::frontends::metrics
