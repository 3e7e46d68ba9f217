#include "telemetry/trace/record.h"

namespace atl::tracing {

const char* activity_name(TraceActivity activity) noexcept {
  constexpr const char* kNames[] = {"REQUEST_START",         "QUEUE_START",          "COMPUTE_START",
                                    "COMPUTE_INPUT_END",     "COMPUTE_OUTPUT_START", "COMPUTE_END",
                                    "REQUEST_END",           "TENSOR_QUEUE_INPUT",   "TENSOR_BACKEND_INPUT",
                                    "TENSOR_BACKEND_OUTPUT", "CUSTOM_ACTIVITY"};
  auto index = static_cast<uint32_t>(activity);
  return index < std::size(kNames) ? kNames[index] : "<unknown>";
}

}  // namespace atl::tracing
