#include "models/catalog/loading/gpu_load_limits.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "atoll/lib/resident_memory.h"
#include "atoll/memory/memory.h"

namespace atl::models {
namespace {

template <class Number>
bool parse(std::string_view text, Number* number) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && rest == end;
}

}  // namespace

Result<GpuLoadLimits> read_gpu_load_limits(const std::map<std::string, std::string>& settings) {
  GpuLoadLimits limits;
  for (const auto& [key, value] : settings) {
    int32_t gpu = 0;
    double fraction = 0;
    const bool is_gpu = parse(key, &gpu) && gpu >= 0;
    // So that what is not a number is out of the range, too.
    const bool is_fraction = parse(value, &fraction) && fraction >= 0 && fraction <= 1;
    if (!is_gpu || !is_fraction || limits.contains(gpu)) {
      return invalid_argument(
          "option 'gpu_load_limit': \"", key, "\" = \"", value,
          "\": expected the number of a GPU, each once, and a fraction of its memory from 0 to 1");
    }
    limits[gpu] = fraction;
  }
  return limits;
}

Status check_gpu_load_limit(Host& host, const GpuLoadLimits& limits, const InstanceSpec& spec) noexcept {
  if (spec.kind != InstanceKind::kGpu) return {};
  const auto limit = limits.find(spec.device_id);
  if (limit == limits.end()) return {};
  auto usage = [&]() -> Result<DeviceMemoryUsage> {
    auto memory = memory_of(host.registry(), MemoryKind::kGpu, Memory::kUsageMinor);
    if (!memory.ok()) return std::move(memory).status();
    return (*memory)->device_usage(spec.device_id);
  }();
  if (!usage.ok()) {
    return std::move(usage).status().note(
        cat("the limit of GPU ", spec.device_id, " for instance '", spec.name, "'"));
  }
  const uint64_t used = usage->total_bytes - std::min(usage->total_bytes, usage->free_bytes);
  if (static_cast<double>(used) <= static_cast<double>(usage->total_bytes) * limit->second) return {};
  host.log().warning("instance '", spec.name, "': ", size_text(used), " of the ",
                     size_text(usage->total_bytes), " of GPU ", spec.device_id,
                     " are in use, of which models may take ", limit->second, ": it is given up");
  return unavailable("can not create model '", spec.name, "': memory limit set for GPU ", spec.device_id,
                     " has exceeded, model loading is rejected.");
}

}  // namespace atl::models
