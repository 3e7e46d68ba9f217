/// The load of the server in the head of an answer, for gateways that ask for it with each request (ORCA, the Open Request Cost
/// Aggregation of xDS): so they know it without asking for a page of metrics.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/core/text.h"
#include "atoll/models/model.h"

namespace atl::frontends::http {

enum class LoadFormat : uint8_t { kNone, kJson, kText };

/// \param asked  the value of the request's header endpoint-load-metrics-format; empty: it has none
inline LoadFormat load_format_of(std::string_view asked) noexcept {
  if (asked.empty()) return LoadFormat::kNone;
  if (asked == "json") return LoadFormat::kJson;
  return asked == "text" ? LoadFormat::kText : LoadFormat::kNone;
}

/// The line of the answer's head, with its end.
inline std::string load_line(LoadFormat format, const RequestsNow& now) {
  if (format == LoadFormat::kJson) {
    return cat(R"(endpoint-load-metrics: JSON {"named_metrics":{"requests_waiting":)", now.waiting,
               R"(,"requests_running":)", now.running, "}}\r\n");
  }
  return cat("endpoint-load-metrics: TEXT named_metrics.requests_waiting=", now.waiting,
             ", named_metrics.requests_running=", now.running, "\r\n");
}

}  // namespace atl::frontends::http
