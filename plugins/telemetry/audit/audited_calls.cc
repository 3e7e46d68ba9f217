#include "telemetry/audit/audited_calls.h"

#include <algorithm>
#include <iterator>

namespace atl::audit {
namespace {

constexpr double kWhole = 4294967296.0;  // 2^32

/// Plugins whose calls are inference, or ask what models there are.
constexpr std::string_view kInferencePlugins[] = {"openai.", "tfserving.", "sagemaker.", "vertex_ai."};

}  // namespace

bool is_control(ApiCategory category, std::string_view category_name) noexcept {
  switch (category) {
    case ApiCategory::kModelRepository:
    case ApiCategory::kSharedMemory:
    case ApiCategory::kTrace:
    case ApiCategory::kLogging:
      return true;
    case ApiCategory::kOther:
      return std::none_of(std::begin(kInferencePlugins), std::end(kInferencePlugins),
                          [&](std::string_view word) { return category_name.starts_with(word); });
    default:
      return false;
  }
}

CallSample::CallSample(double share) noexcept : step_(static_cast<uint64_t>(share * kWhole)) {}

bool CallSample::takes_next() noexcept {
  if (step_ == 0) return false;
  const uint64_t before = sum_.fetch_add(step_, std::memory_order_relaxed);
  return (before >> 32) != ((before + step_) >> 32);
}

}  // namespace atl::audit
