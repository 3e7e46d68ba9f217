/// The page of all metrics of the server, for those who hand it on. Service "atoll.metrics_page/1"; may be absent.
#pragma once

#include <string>
#include <string_view>

#include "atoll/core/status.h"

namespace atl {

class MetricsPage {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.metrics_page/1";

  /// [worker] The page as of now, in Prometheus' text format 0.0.4. Calls wait for each other.
  /// Errors: INTERNAL a source of metrics failed.
  virtual Result<std::string> text() noexcept = 0;

 protected:
  ~MetricsPage() = default;
};

}  // namespace atl
