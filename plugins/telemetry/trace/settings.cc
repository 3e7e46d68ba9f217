#include "telemetry/trace/settings.h"

#include <charconv>
#include <limits>

#include "atoll/core/clock.h"
#include "telemetry/trace/http_post.h"

namespace atl::tracing {
namespace {

using U32 = std::numeric_limits<uint32_t>;
using I32 = std::numeric_limits<int32_t>;

Result<uint32_t> read_level(const std::vector<std::string>& words) {
  uint32_t level = kOff;
  bool off = false;
  for (const std::string& word : words) {
    if (word == "OFF" || word == "false") {
      off = true;
    } else if (word == "TIMESTAMPS" || word == "true" || word == "on" || word == "min" || word == "max") {
      level |= kTimestamps;
    } else if (word == "TENSORS") {
      level |= kTensors;
    } else {
      return invalid_argument("invalid value for trace level option: found '", word,
                              "', expected OFF, TIMESTAMPS or TENSORS");
    }
  }
  return off ? uint32_t{kOff} : level;
}

Status read_resource(const std::vector<std::string>& texts,
                     std::vector<std::pair<std::string, std::string>>* resource) {
  for (const std::string& text : texts) {
    size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return invalid_argument("option 'resource' has '", text, "', expected key=value");
    }
    resource->emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return {};
}

/// \param number  nothing: the setting is to be cleared.
Status read_number(const TraceSetting& change, int64_t minimum, int64_t maximum,
                   std::optional<int64_t>* number) {
  number->reset();
  if (change.values.empty()) return {};
  if (change.values.size() != 1) return invalid_argument("expect only 1 value for '", change.key, "'");
  const std::string& text = change.values.front();
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool whole = !text.empty() && end == text.data() + text.size();
  if (!whole || error == std::errc::invalid_argument) {
    return invalid_argument("Unable to parse '", change.key, "', got: ", text);
  }
  if (error != std::errc() || value < minimum || value > maximum) {
    return invalid_argument("Unable to parse '", change.key, "', value is out of range [ ", minimum, ", ",
                            maximum, " ], got: ", text);
  }
  *number = value;
  return {};
}

Status change_u32(const TraceSetting& change, std::optional<uint32_t>* value) {
  std::optional<int64_t> number;
  ATOLL_RETURN_IF_ERROR(read_number(change, U32::min(), U32::max(), &number));
  value->reset();
  if (number) *value = static_cast<uint32_t>(*number);
  return {};
}

Status change_count(const TraceSetting& change, std::optional<int64_t>* count) {
  ATOLL_RETURN_IF_ERROR(read_number(change, I32::min(), I32::max(), count));
  if (count->value_or(0) >= -1) return {};
  return invalid_argument("Unable to parse 'trace_count'. Expecting value >= -1, got: ",
                          change.values.front());
}

Status change_level(const TraceSetting& change, std::optional<uint32_t>* level) {
  level->reset();
  if (change.values.empty()) return {};
  uint32_t bits = kOff;
  for (const std::string& word : change.values) {
    if (word == "OFF" && change.values.size() != 1) {
      return invalid_argument("Expect only one trace level 'OFF' is specified");
    }
    // Any other word is ignored, as the protocol has it.
    if (word == "TIMESTAMPS") bits |= kTimestamps;
    if (word == "TENSORS") bits |= kTensors;
  }
  *level = bits;
  return {};
}

std::vector<std::string> level_words(uint32_t level) {
  std::vector<std::string> words;
  if ((level & kTimestamps) != 0) words.emplace_back("TIMESTAMPS");
  if ((level & kTensors) != 0) words.emplace_back("TENSORS");
  if (words.empty()) words.emplace_back("OFF");
  return words;
}

}  // namespace

SettingValues OwnValues::over(const SettingValues& fallback) const noexcept {
  return {level.value_or(fallback.level), rate.value_or(fallback.rate), count.value_or(fallback.count),
          log_frequency.value_or(fallback.log_frequency)};
}

void check_options(OptionCheck& check) {
  const Options& options = check.options();
  check.list("level", &read_level);
  check.list("resource", [](const auto& texts) {
    std::vector<std::pair<std::string, std::string>> resource;
    return read_resource(texts, &resource);
  });
  if (options.get_string("mode") == "opentelemetry")
    check.passes("url", whole_url(options.get_string("url")));
  check.whole(read_config(options));
}

Result<Config> read_config(const Options& options) {
  Config config;
  Result<uint32_t> level = read_level(options.get_strings("level"));
  if (!level.ok()) return std::move(level).status();
  config.defaults = {level.value(), static_cast<uint32_t>(options.get_int("rate")), options.get_int("count"),
                     static_cast<uint32_t>(options.get_int("log_frequency"))};
  config.mode = options.get_string("mode") == "opentelemetry" ? Mode::kOpenTelemetry : Mode::kTriton;
  config.file = options.get_string("trace_file");
  config.url = options.get_string("url");
  ATOLL_RETURN_IF_ERROR(read_resource(options.get_strings("resource"), &config.resource));
  config.queue_spans_max = static_cast<uint64_t>(options.get_int("bsp_max_queue_size"));
  config.schedule_delay_ns = options.get_duration_ns("bsp_schedule_delay");
  config.batch_spans_max = static_cast<uint64_t>(options.get_int("bsp_max_export_batch_size"));
  config.export_timeout_ns = options.get_duration_ns("export_timeout");
  config.stop_timeout_ns = options.get_duration_ns("stop_timeout");
  config.tensor_bytes_max = options.get_bytes("max_tensor_size");
  config.trace_bytes_max = options.get_bytes("max_trace_size");
  config.pending_bytes_max = options.get_bytes("max_pending_size");
  if (config.batch_spans_max > config.queue_spans_max) {
    return invalid_argument("option 'bsp_max_export_batch_size' is ", config.batch_spans_max,
                            ", expected at most bsp_max_queue_size, which is ", config.queue_spans_max);
  }
  ATOLL_RETURN_IF_ERROR(check(config.defaults, config));
  return config;
}

Status check(const SettingValues& values, const Config& config) {
  if (values.level == kOff || config.mode == Mode::kOpenTelemetry) return {};
  const char* why = nullptr;
  if (values.rate == 0) why = "sample rate must be non-zero";
  if (config.file.empty()) why = "trace file name is not given";
  if (why == nullptr) return {};
  return invalid_argument("Attempting to set invalid trace setting :", why);
}

Result<OwnValues> changed(OwnValues own, std::span<const TraceSetting> changes) {
  for (const TraceSetting& change : changes) {
    Status status;
    if (change.key == "trace_file") {
      status = unimplemented("trace file location can not be updated through network protocol");
    } else if (change.key == "trace_level") {
      status = change_level(change, &own.level);
    } else if (change.key == "trace_rate") {
      status = change_u32(change, &own.rate);
    } else if (change.key == "trace_count") {
      status = change_count(change, &own.count);
    } else if (change.key == "log_frequency") {
      status = change_u32(change, &own.log_frequency);
    }
    if (!status.ok()) return status;
  }
  return own;
}

std::vector<TraceSetting> shown(const SettingValues& values, const Config& config) {
  std::vector<TraceSetting> settings;
  settings.push_back({"trace_level", level_words(values.level)});
  settings.push_back({"trace_rate", {cat(values.rate)}});
  settings.push_back({"trace_count", {cat(values.count)}});
  if (config.mode == Mode::kTriton) {
    settings.push_back({"log_frequency", {cat(values.log_frequency)}});
    settings.push_back({"trace_file", {config.file}});
    settings.push_back({"trace_mode", {"triton"}});
    return settings;
  }
  std::string resource;
  for (const auto& [key, value] : config.resource)
    resource += cat(resource.empty() ? "" : ",", key, "=", value);
  settings.push_back({"trace_mode", {"opentelemetry"}});
  settings.push_back({"resource", {resource}});
  settings.push_back({"url", {config.url}});
  settings.push_back({"bsp_max_queue_size", {cat(config.queue_spans_max)}});
  settings.push_back({"bsp_schedule_delay", {cat(config.schedule_delay_ns / kNsPerMs)}});
  settings.push_back({"bsp_max_export_batch_size", {cat(config.batch_spans_max)}});
  return settings;
}

}  // namespace atl::tracing
