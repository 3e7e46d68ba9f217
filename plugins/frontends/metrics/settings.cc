#include "frontends/metrics/settings.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "frontends/common/tls/certificates.h"

namespace atl::frontends::metrics {
namespace {

constexpr size_t kMaxQuantiles = 32;
constexpr size_t kMaxBuckets = 100;

std::optional<double> number(std::string_view text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<double> fraction(std::string_view text) {
  std::optional<double> value = number(text);
  return value && *value >= 0 && *value <= 1 ? value : std::nullopt;
}

Result<std::vector<double>> read_quantiles(const std::vector<std::string>& pairs) {
  if (pairs.size() > kMaxQuantiles) {
    return invalid_argument("option 'summary_quantiles' has ", pairs.size(), " entries, expected at most ",
                            kMaxQuantiles);
  }
  std::vector<double> quantiles;
  for (const std::string& pair : pairs) {
    const size_t colon = pair.find(':');
    if (colon == std::string::npos) {
      return invalid_argument("option 'summary_quantiles': Invalid option: [", pair,
                              "]. No ':' delimiter found. Expected format is <quantile>:<error>");
    }
    const std::string_view text = pair;
    const std::optional<double> quantile = fraction(text.substr(0, colon));
    if (!quantile || !fraction(text.substr(colon + 1))) {
      return invalid_argument("option 'summary_quantiles': Invalid option: [", pair,
                              "]. Expected format is <quantile>:<error>, both numbers from 0 to 1");
    }
    for (double earlier : quantiles) {
      if (earlier == *quantile) {
        return invalid_argument("option 'summary_quantiles' has quantile ", *quantile,
                                " twice, expected different ones");
      }
    }
    quantiles.push_back(*quantile);
  }
  return quantiles;
}

Result<std::vector<double>> read_bounds(const std::vector<std::string>& texts) {
  if (texts.size() > kMaxBuckets) {
    return invalid_argument("option 'duration_buckets' has ", texts.size(), " entries, expected at most ",
                            kMaxBuckets);
  }
  std::vector<double> bounds;
  for (const std::string& text : texts) {
    const std::optional<double> bound = number(text);
    if (!bound || *bound <= 0) {
      return invalid_argument("option 'duration_buckets' has '", text,
                              "', expected a number of seconds greater than 0");
    }
    if (!bounds.empty() && *bound <= bounds.back()) {
      return invalid_argument("option 'duration_buckets' has ", text, " after ", bounds.back(),
                              ", expected ascending bounds");
    }
    bounds.push_back(*bound);
  }
  return bounds;
}

Result<PhaseHistograms> read_phases(const std::vector<std::string>& names) {
  PhaseHistograms phases;
  for (const std::string& name : names) {
    if (name != "all" && name != "none") {
      phases.models.insert(name);
    } else if (names.size() > 1) {
      return invalid_argument("option 'phase_histograms' has '", name,
                              "' beside other entries, expected it alone");
    } else {
      phases.all = name == "all";
    }
  }
  return phases;
}

}  // namespace

void check_options(OptionCheck& check) {
  check.list("summary_quantiles", &read_quantiles);
  check.list("duration_buckets", &read_bounds);
  check.list("phase_histograms", &read_phases);
  Result<MetricsSettings> settings = read_settings(check.options());
  check_tls(settings.ok() ? &settings->tls : nullptr, check);
  check.whole(settings);
}

Result<MetricsSettings> read_settings(const Options& options) noexcept {
  MetricsSettings settings;
  Result<ListenAddress> address = ListenAddress::parse(options.get_string("address"));
  if (!address.ok()) return std::move(address).status();
  settings.address = std::move(address).value();
  settings.listen = options.get_bool("listen");
  settings.open_after_startup = options.get_bool("open_after_startup");
  settings.inference_port = options.get_bool("inference_port");
  settings.poll_interval_ns = options.get_duration_ns("interval") / 2;
  settings.cpu_metrics = options.get_bool("cpu_metrics");
  settings.counter_latencies = options.get_bool("counter_latencies");
  settings.summary_latencies = options.get_bool("summary_latencies");
  settings.histogram_latencies = options.get_bool("histogram_latencies");
  Result<std::vector<double>> quantiles = read_quantiles(options.get_strings("summary_quantiles"));
  if (!quantiles.ok()) return std::move(quantiles).status();
  settings.quantiles = std::move(quantiles).value();
  Result<std::vector<double>> bounds = read_bounds(options.get_strings("duration_buckets"));
  if (!bounds.ok()) return std::move(bounds).status();
  settings.duration_bounds_sec = std::move(bounds).value();
  Result<PhaseHistograms> phases = read_phases(options.get_strings("phase_histograms"));
  if (!phases.ok()) return std::move(phases).status();
  if (!settings.duration_bounds_sec.empty()) settings.phases = std::move(phases).value();
  settings.max_series = static_cast<uint32_t>(options.get_int("max_series"));
  settings.max_connections = static_cast<uint32_t>(options.get_int("max_connections"));
  settings.idle_timeout_ns = options.get_duration_ns("idle_timeout");
  Result<TlsSettings> tls = TlsSettings::read(options);
  if (!tls.ok()) return std::move(tls).status();
  settings.tls = {.who = "the metrics service",
                  .address = settings.address,
                  .files = std::move(tls).value(),
                  .rules = TlsRules::read(options)};
  return settings;
}

}  // namespace atl::frontends::metrics
