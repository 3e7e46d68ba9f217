/// The options, read.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/option_check.h"
#include "atoll/core/options.h"
#include "atoll/core/status.h"
#include "frontends/common/sockets/listen_address.h"
#include "frontends/common/tls/tls_settings.h"

namespace atl::frontends::metrics {

/// The models whose phases are also shown as histograms with the label `le`.
struct PhaseHistograms {
  bool all = false;
  std::set<std::string, std::less<>> models;  ///< names, or identifiers, unless `all`

  bool some() const noexcept { return all || !models.empty(); }
  bool has(std::string_view model) const { return all || models.contains(model); }
};

struct MetricsSettings {
  ListenAddress address;
  bool listen = true;
  bool open_after_startup = false;
  bool inference_port = false;
  int64_t poll_interval_ns = 0;  ///< half of option `interval`
  bool cpu_metrics = false;
  bool counter_latencies = false;
  bool summary_latencies = false;
  bool histogram_latencies = false;
  std::vector<double> quantiles;            ///< 0..1, in the order given
  std::vector<double> duration_bounds_sec;  ///< strictly ascending
  PhaseHistograms phases;                   ///< nothing, if there are no bounds
  uint32_t max_series = 0;
  uint32_t max_connections = 0;
  int64_t idle_timeout_ns = 0;
  TlsSetup tls;
};

/// Errors: INVALID_ARGUMENT address, TLS files that are not named, summary_quantiles, duration_buckets, phase_histograms.
void check_options(OptionCheck& check);
Result<MetricsSettings> read_settings(const Options& options) noexcept;

}  // namespace atl::frontends::metrics
