/// The trace settings: what the manifest gives, what clients may change, and how both read and show.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/option_check.h"
#include "atoll/core/options.h"
#include "atoll/core/status.h"
#include "atoll/request/tracing.h"

namespace atl::tracing {

/// Bits, with the numbers of the Triton C ABI.
enum Level : uint32_t { kOff = 0, kTimestamps = 4, kTensors = 8 };
enum class Mode : uint32_t { kTriton, kOpenTelemetry };

/// The settings that can be changed while the server runs.
struct SettingValues {
  uint32_t level = kOff;
  uint32_t rate = 1000;
  int64_t count = -1;  ///< traces still to be taken; -1: any number
  uint32_t log_frequency = 0;
};

/// The same, as far as a model (or, against the manifest, the server) has values of its own.
struct OwnValues {
  std::optional<uint32_t> level, rate;
  std::optional<int64_t> count;
  std::optional<uint32_t> log_frequency;

  bool empty() const noexcept { return !level && !rate && !count && !log_frequency; }
  /// The own values, and those of `fallback` for the rest.
  SettingValues over(const SettingValues& fallback) const noexcept;
};

/// What only the manifest sets.
struct Config {
  SettingValues defaults;
  Mode mode = Mode::kTriton;
  std::string file;
  std::string url;
  std::vector<std::pair<std::string, std::string>> resource;
  uint64_t queue_spans_max = 2048;
  int64_t schedule_delay_ns = 0;
  uint64_t batch_spans_max = 512;
  int64_t export_timeout_ns = 0;
  int64_t stop_timeout_ns = 0;
  uint64_t tensor_bytes_max = 0;
  uint64_t trace_bytes_max = 0;
  uint64_t pending_bytes_max = 0;
};

/// Errors: INVALID_ARGUMENT a level, a resource attribute, or a combination that check() refuses.
void check_options(OptionCheck& check);
Result<Config> read_config(const Options& options);

/// Whether traces can be taken with these values; always, if the level is OFF.
/// Errors: INVALID_ARGUMENT "Attempting to set invalid trace setting :<why>".
Status check(const SettingValues& values, const Config& config);

/// Applies changes as they came over the wire.
/// Errors: UNIMPLEMENTED trace_file; INVALID_ARGUMENT a value.
Result<OwnValues> changed(OwnValues own, std::span<const TraceSetting> changes);

/// In the protocol's order.
std::vector<TraceSetting> shown(const SettingValues& values, const Config& config);

}  // namespace atl::tracing
