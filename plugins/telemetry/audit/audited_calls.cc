#include "telemetry/audit/audited_calls.h"

#include <algorithm>
#include <iterator>

#include "telemetry/audit/audit_line.h"

namespace atl::audit {
namespace {

constexpr double kWhole = 4294967296.0;  // 2^32

/// Plugins whose calls are inference, or ask what models there are.
constexpr std::string_view kInferencePlugins[] = {"openai.", "tfserving.", "sagemaker.", "vertex_ai."};

/// Ends of the paths of calls that change nothing of the server although HTTP's method is POST, or that have none.
constexpr std::string_view kUnchangingEnds[] = {"/index", "/check", "/login", "/logout", "Index", "Status"};

bool has_failed(const AuditedCall& call) noexcept {
  return call.protocol == CallProtocol::kHttp ? call.status < 0 || call.status >= 400 : call.status != 0;
}

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

bool is_change(const AuditedCall& call) noexcept {
  if (!is_control(call.category, call.category_name) || call.method == "GET" || call.method == "HEAD")
    return false;
  return std::none_of(std::begin(kUnchangingEnds), std::end(kUnchangingEnds),
                      [&](std::string_view end) { return call.path.ends_with(end); });
}

ControlCallEnded control_call(const AuditedCall& call) {
  ControlCallEnded event;
  event.call = bounded(call_name(call));
  event.subject = bounded(call.subject);
  event.peer = bounded(call.peer);
  event.model = bounded(call.model);
  event.status = call.status;
  event.is_failure = has_failed(call);
  return event;
}

CallSample::CallSample(double share) noexcept : step_(static_cast<uint64_t>(share * kWhole)) {}

bool CallSample::takes_next() noexcept {
  if (step_ == 0) return false;
  const uint64_t before = sum_.fetch_add(step_, std::memory_order_relaxed);
  return (before >> 32) != ((before + step_) >> 32);
}

}  // namespace atl::audit
