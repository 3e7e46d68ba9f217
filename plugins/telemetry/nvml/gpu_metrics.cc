#include "telemetry/nvml/gpu_metrics.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>

#include "atoll/core/stop_executor.h"

namespace atl::telemetry {
namespace {

/// Triton's, in its words.
struct Family {
  std::string_view name;
  std::string_view help;
  MetricKind kind;
  std::optional<double> GpuReading::*value;
};
constexpr std::array kFamilies = {
    Family{"nv_gpu_utilization", "GPU utilization rate [0.0 - 1.0)", MetricKind::kGauge,
           &GpuReading::utilization},
    Family{"nv_gpu_memory_total_bytes", "GPU total memory, in bytes", MetricKind::kGauge,
           &GpuReading::memory_total_bytes},
    Family{"nv_gpu_memory_used_bytes", "GPU used memory, in bytes", MetricKind::kGauge,
           &GpuReading::memory_used_bytes},
    Family{"nv_gpu_power_usage", "GPU power usage in watts", MetricKind::kGauge, &GpuReading::power_watts},
    Family{"nv_gpu_power_limit", "GPU power management limit in watts", MetricKind::kGauge,
           &GpuReading::power_limit_watts},
    Family{"nv_energy_consumption", "GPU energy consumption in joules since the Triton Server started",
           MetricKind::kCounter, &GpuReading::energy_joules},
};

void write(const Family& family, const std::vector<GpuReading>& readings, MetricSink& sink) {
  bool has_begun = false;
  for (const GpuReading& reading : readings) {
    const std::optional<double>& value = reading.*family.value;
    if (!value) continue;
    if (!has_begun) sink.family(family.name, family.help, family.kind);
    has_begun = true;
    const MetricLabel label{"gpu_uuid", reading.uuid};
    sink.sample({&label, 1}, *value);
  }
}

}  // namespace

Status GpuMetrics::open(ExecutorFactory& executors) noexcept {
  Result<SerialExecutorPtr> executor = executors.create("nvml", {});
  if (!executor.ok()) return std::move(executor).status();
  std::lock_guard lock(mutex_);
  executor_ = std::move(executor).value();
  is_open_ = true;
  post_reading();
  return {};
}

void GpuMetrics::close() noexcept {
  {
    std::lock_guard lock(mutex_);
    is_open_ = false;
  }
  done_.notify_all();
  stop_executor(executor_);
  std::lock_guard lock(mutex_);
  is_reading_ = false;
  readings_.clear();
}

void GpuMetrics::collect(MetricSink& sink) const noexcept {
  std::vector<GpuReading> readings;
  {
    std::unique_lock lock(mutex_);
    if (!is_open_) return;
    if (!is_reading_ && clock_.now_ns() - read_at_ns_ >= interval_ns_) post_reading();
    done_.wait_for(lock, std::chrono::nanoseconds(kLongestWaitNs), [&] { return !is_reading_ || !is_open_; });
    readings = readings_;
  }
  for (const Family& family : kFamilies) write(family, readings, sink);
}

/// With the mutex held.
void GpuMetrics::post_reading() const {
  is_reading_ = true;
  read_at_ns_ = clock_.now_ns();
  const auto run = [](void* self) { static_cast<const GpuMetrics*>(self)->make_reading(); };
  executor_->post({.run = run, .argument = const_cast<GpuMetrics*>(this)});
}

void GpuMetrics::make_reading() const {
  std::vector<GpuReading> readings = read_();
  {
    std::lock_guard lock(mutex_);
    readings_ = std::move(readings);
    is_reading_ = false;
  }
  done_.notify_all();
}

}  // namespace atl::telemetry
