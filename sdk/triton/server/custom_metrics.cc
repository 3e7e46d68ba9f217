#include "atoll/lib/custom_metrics.h"

#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>
#include <utility>

#include "atoll/triton/host.h"
#include "atoll/triton/status.h"
#include "error.h"
#include "request/parameter.h"

using atl::CustomLabels;
using atl::CustomMetric;
using atl::CustomMetrics;
using atl::MetricKind;
using namespace atl::triton;

struct TRITONSERVER_MetricFamily {
  std::shared_ptr<CustomMetrics::Family> entry;
  std::atomic<uint64_t> metrics{0};  ///< made of it and not deleted
};

struct TRITONSERVER_MetricArgs {
  std::vector<double> bounds;
  bool is_histogram = false;
};

struct TRITONSERVER_Metric {
  TRITONSERVER_MetricFamily* family;
  std::shared_ptr<CustomMetric> series;

  MetricKind kind() const noexcept { return family->entry->kind(); }
};

namespace {

/// Of the whole process, because they are not bound to a server. No destructor runs for it: foreign threads may count until the end.
CustomMetrics& process_metrics() {
  static auto* const metrics = new CustomMetrics;
  return *metrics;
}

/// +Inf as the last bound says what is so without it.
std::vector<double> bounds_of(const TRITONSERVER_MetricArgs* args) {
  if (args == nullptr) return {};
  std::vector<double> bounds = args->bounds;
  if (!bounds.empty() && std::isinf(bounds.back()) && bounds.back() > 0) bounds.pop_back();
  return bounds;
}

TRITONSERVER_Error* read_labels(const TRITONSERVER_Parameter** from, uint64_t count, CustomLabels* labels) {
  for (uint64_t i = 0; i < count; ++i) {
    if (from[i] == nullptr) return invalid_argument("label ", i, " of a metric is null");
    if (from[i]->type != TRITONSERVER_PARAMETER_STRING) {
      return invalid_argument("Parameter [", from[i]->name,
                              "] must have a type of TRITONSERVER_PARAMETER_STRING to be added as a label.");
    }
    if (!labels->emplace(from[i]->name, from[i]->text).second)
      return invalid_argument("label '", from[i]->name, "' is there twice");
  }
  return nullptr;
}

TRITONSERVER_Error* check_args(MetricKind kind, const TRITONSERVER_MetricArgs* args) {
  if (kind != MetricKind::kHistogram) {
    if (args == nullptr) return nullptr;
    return invalid_argument("Unexpected args found in ", kind == MetricKind::kCounter ? "counter" : "gauge",
                            " Metric constructor.");
  }
  if (args == nullptr) return invalid_argument("Bucket boundaries not found in Metric args.");
  return args->is_histogram ? nullptr : invalid_argument("Metric args not set to histogram kind.");
}

/// \param what  that metrics of the kind cannot do, as the function's name says it
TRITONSERVER_Error* unsupported(MetricKind kind, const char* what) noexcept {
  static constexpr const char* kNames[] = {"COUNTER", "GAUGE", "HISTOGRAM"};
  return guarded([&] {
    return new_error(TRITONSERVER_ERROR_UNSUPPORTED,
                     atl::cat("TRITONSERVER_METRIC_KIND_", kNames[static_cast<uint32_t>(kind)],
                              " does not support ", what));
  });
}

}  // namespace

TRITONSERVER_Error* TRITONSERVER_MetricFamilyNew(TRITONSERVER_MetricFamily** family,
                                                 const TRITONSERVER_MetricKind kind, const char* name,
                                                 const char* description) {
  if (any_null(family, name, description)) return null_argument(__func__);
  *family = nullptr;
  if (kind < TRITONSERVER_METRIC_KIND_COUNTER || kind > TRITONSERVER_METRIC_KIND_HISTOGRAM) {
    return invalid_argument("Unsupported kind passed to MetricFamily constructor.");
  }
  return guarded([&]() -> TRITONSERVER_Error* {
    auto entry = process_metrics().family(name, description, static_cast<MetricKind>(kind));
    if (!entry.ok()) return to_error(entry.status());
    *family = new TRITONSERVER_MetricFamily{std::move(*entry)};
    return nullptr;
  });
}

TRITONSERVER_Error* TRITONSERVER_MetricFamilyDelete(TRITONSERVER_MetricFamily* family) {
  if (family == nullptr) return null_argument(__func__);
  if (family->metrics.load(std::memory_order_acquire) != 0) {
    return new_error(TRITONSERVER_ERROR_INTERNAL,
                     "Must call MetricDelete on all dependent metrics before calling MetricFamilyDelete.");
  }
  delete family;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_GetMetricFamilyKind(TRITONSERVER_MetricFamily* family,
                                                     TRITONSERVER_MetricKind* kind) {
  if (any_null(family, kind)) return null_argument(__func__);
  *kind = static_cast<TRITONSERVER_MetricKind>(family->entry->kind());
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_MetricArgsNew(TRITONSERVER_MetricArgs** args) {
  if (args == nullptr) return null_argument(__func__);
  *args = nullptr;
  return guarded([&]() -> TRITONSERVER_Error* {
    *args = new TRITONSERVER_MetricArgs;
    return nullptr;
  });
}

TRITONSERVER_Error* TRITONSERVER_MetricArgsSetHistogram(TRITONSERVER_MetricArgs* args, const double* buckets,
                                                        const uint64_t buckets_count) {
  if (args == nullptr || (buckets == nullptr && buckets_count != 0)) return null_argument(__func__);
  return guarded([&]() -> TRITONSERVER_Error* {
    args->bounds.assign(buckets, buckets + buckets_count);
    args->is_histogram = true;
    return nullptr;
  });
}

TRITONSERVER_Error* TRITONSERVER_MetricArgsDelete(TRITONSERVER_MetricArgs* args) {
  delete args;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_MetricNew(TRITONSERVER_Metric** metric, TRITONSERVER_MetricFamily* family,
                                           const TRITONSERVER_Parameter** labels,
                                           const uint64_t label_count) {
  return TRITONSERVER_MetricNewWithArgs(metric, family, labels, label_count, nullptr);
}

TRITONSERVER_Error* TRITONSERVER_MetricNewWithArgs(TRITONSERVER_Metric** metric,
                                                   TRITONSERVER_MetricFamily* family,
                                                   const TRITONSERVER_Parameter** labels,
                                                   const uint64_t label_count,
                                                   const TRITONSERVER_MetricArgs* args) {
  if (any_null(metric, family) || (labels == nullptr && label_count != 0)) return null_argument(__func__);
  *metric = nullptr;
  return guarded([&]() -> TRITONSERVER_Error* {
    if (TRITONSERVER_Error* error = check_args(family->entry->kind(), args)) return error;
    CustomLabels names;
    if (TRITONSERVER_Error* error = read_labels(labels, label_count, &names)) return error;
    auto made = std::make_unique<TRITONSERVER_Metric>();
    auto series = process_metrics().metric(*family->entry, names, bounds_of(args));
    if (!series.ok()) return to_error(series.status());
    *made = {family, std::move(*series)};
    family->metrics.fetch_add(1, std::memory_order_relaxed);
    *metric = made.release();
    return nullptr;
  });
}

TRITONSERVER_Error* TRITONSERVER_MetricDelete(TRITONSERVER_Metric* metric) {
  if (metric == nullptr) return null_argument(__func__);
  TRITONSERVER_MetricFamily* const family = metric->family;
  delete metric;
  family->metrics.fetch_sub(1, std::memory_order_release);
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_MetricValue(TRITONSERVER_Metric* metric, double* value) {
  if (any_null(metric, value)) return null_argument(__func__);
  if (metric->kind() == MetricKind::kHistogram) return unsupported(metric->kind(), "Value");
  *value = metric->series->value();
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_MetricIncrement(TRITONSERVER_Metric* metric, double value) {
  if (metric == nullptr) return null_argument(__func__);
  if (metric->kind() == MetricKind::kHistogram) return unsupported(metric->kind(), "Increment");
  if (metric->kind() == MetricKind::kCounter && !(value >= 0)) {
    return invalid_argument(
        "TRITONSERVER_METRIC_KIND_COUNTER can only be incremented monotonically by non-negative values.");
  }
  metric->series->add(value);
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_MetricSet(TRITONSERVER_Metric* metric, double value) {
  if (metric == nullptr) return null_argument(__func__);
  if (metric->kind() != MetricKind::kGauge) return unsupported(metric->kind(), "Set");
  metric->series->set(value);
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_MetricObserve(TRITONSERVER_Metric* metric, double value) {
  if (metric == nullptr) return null_argument(__func__);
  if (metric->kind() != MetricKind::kHistogram) return unsupported(metric->kind(), "Observe");
  if (std::isnan(value)) return invalid_argument("a histogram cannot observe what is no number");
  metric->series->observe(value);
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_GetMetricKind(TRITONSERVER_Metric* metric, TRITONSERVER_MetricKind* kind) {
  if (any_null(metric, kind)) return null_argument(__func__);
  *kind = static_cast<TRITONSERVER_MetricKind>(metric->kind());
  return nullptr;
}

namespace atl::triton {

void collect_metrics(MetricSink& sink) noexcept { process_metrics().collect(sink); }

struct MetricScopes {
  static constinit inline std::mutex mutex;
  static constinit inline MetricScope* oldest = nullptr;

  /// Where it hangs, or would be hung.
  static MetricScope** place_of(const MetricScope* scope) noexcept {
    MetricScope** at = &oldest;
    while (*at != scope) at = &(*at)->newer_;
    return at;
  }
};

MetricScope::MetricScope() noexcept {
  std::lock_guard lock(MetricScopes::mutex);
  *MetricScopes::place_of(nullptr) = this;
}
MetricScope::~MetricScope() {
  std::lock_guard lock(MetricScopes::mutex);
  *MetricScopes::place_of(this) = newer_;
}

void MetricScope::collect(MetricSink& sink) const noexcept {
  {
    std::lock_guard lock(MetricScopes::mutex);
    if (MetricScopes::oldest != this) return;
  }
  collect_metrics(sink);
}

}  // namespace atl::triton
