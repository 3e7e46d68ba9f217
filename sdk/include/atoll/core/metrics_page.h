/// The page of all metrics of the server, for those who hand it on without HTTP: Triton's C API
/// gives it to the program that has the server inside (TRITONSERVER_ServerMetrics). Service
/// "atoll.metrics_page/1", provided by frontends/metrics; a server without that plugin has none.
///
///     if (auto page = page_.hold()) return page->text();  // page_ is a Followed<MetricsPage>
#pragma once

#include <string>
#include <string_view>

#include "atoll/core/status.h"

namespace atl {

/// The same page as GET /metrics gives.
class MetricsPage {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.metrics_page/1";

  /// Makes the page as of now, in Prometheus' text format 0.0.4. Asks every MetricSource, and waits
  /// for them; calls at the same time wait for each other. [worker]
  /// Errors: INTERNAL if the page could not be made, RESOURCE_EXHAUSTED if there was no memory for
  /// it.
  virtual Result<std::string> text() noexcept = 0;

 protected:
  ~MetricsPage() = default;
};

}  // namespace atl
