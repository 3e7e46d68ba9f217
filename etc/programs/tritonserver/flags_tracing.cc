#include <algorithm>
#include <iterator>
#include <string>

#include "flag.h"
#include "values.h"

namespace atl::tritonserver {
namespace {

constexpr std::string_view kOpenTelemetry = "opentelemetry";

/// A setting of --trace-config and the option of telemetry/trace that it sets.
struct TraceFlag {
  std::string_view mode;  ///< empty: of both
  std::string_view name;
  std::string_view key;
  ValueType type;
};
constexpr TraceFlag kSettings[] = {
    {"", "rate", "rate", ValueType::kInteger},
    {"", "count", "count", ValueType::kInteger},
    {"triton", "file", "trace_file", ValueType::kText},
    {"triton", "log-frequency", "log_frequency", ValueType::kInteger},
    {kOpenTelemetry, "url", "url", ValueType::kText},
    {kOpenTelemetry, "bsp_max_queue_size", "bsp_max_queue_size", ValueType::kInteger},
    {kOpenTelemetry, "bsp_schedule_delay", "bsp_schedule_delay", ValueType::kMilliseconds},
    {kOpenTelemetry, "bsp_max_export_batch_size", "bsp_max_export_batch_size", ValueType::kInteger}};

Status add_level(TraceOptions& trace, std::string_view text) {
  std::string word = lower(text);
  for (std::string_view name : {"OFF", "TIMESTAMPS", "TENSORS"}) {
    if (word == lower(name)) word = name;
  }
  constexpr std::string_view kWords[] = {"OFF", "TIMESTAMPS", "TENSORS", "true", "false", "on", "min", "max"};
  if (std::find(std::begin(kWords), std::end(kWords), word) == std::end(kWords)) {
    return not_one_of("invalid value for trace level option", text, kWords);
  }
  trace.level.push_back(word);
  return {};
}

Status set_trace(TraceOptions& trace, const TraceFlag& setting, std::string_view text) {
  std::string key(setting.key);
  if (setting.type == ValueType::kText) {
    trace.texts.insert_or_assign(key, std::string(text));
    return {};
  }
  auto number = parse_integer(text);
  if (!number.ok()) return std::move(number).status();
  if (setting.type == ValueType::kMilliseconds) {
    trace.texts.insert_or_assign(key, cat(*number, "ms"));
  } else {
    trace.numbers.insert_or_assign(key, *number);
  }
  return {};
}

Status set_mode(TraceOptions& trace, std::string_view text) {
  std::string mode = lower(text);
  constexpr std::string_view kModes[] = {"triton", kOpenTelemetry};
  if (std::ranges::find(kModes, mode) == std::end(kModes)) {
    return not_one_of("invalid value for trace mode option", text, kModes);
  }
  trace.texts.insert_or_assign("mode", mode);
  return {};
}

Status add_resource(TraceOptions& trace, std::string_view text) {
  size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return invalid_argument("found resource '", text, "', expected <key>=<value>");
  }
  trace.resource.emplace_back(text);
  return {};
}

Status read_trace_config(FlagUse& use) {
  auto setting = parse_setting(use.value, "trace-config", "trace mode");
  if (!setting.ok()) return std::move(setting).status();
  if (setting->scoped && setting->scope.empty()) {
    return invalid_argument(
        "No trace mode specified. --trace-config option format is <trace mode>,<setting>=<value> or "
        "<setting>=<value>. Got ",
        use.value);
  }
  use.name = cat("trace-config ", setting->scope, setting->scoped ? "," : "", setting->name);
  TraceOptions& trace = use.options.trace;
  if (!setting->scoped && setting->name == "level") return add_level(trace, setting->value);
  if (!setting->scoped && setting->name == "mode") return set_mode(trace, setting->value);
  if (setting->scope == kOpenTelemetry && setting->name == "resource") {
    return add_resource(trace, setting->value);
  }
  for (const TraceFlag& known : kSettings) {
    if (known.mode == setting->scope && known.name == setting->name) {
      return set_trace(trace, known, setting->value);
    }
  }
  use.options.warn("--trace-config ", use.value, " is not known and has no effect");
  return {};
}

/// The text that scripts look for, the missing quotation mark included.
void warn_of_old(FlagUse& use, std::string_view instead) {
  use.options.warn(
      "'--", use.name,
      "' has been deprecated and will be removed in future releases. Please use '--trace-config ", instead,
      " instead.");
}

/// The deprecated flags set the same keys, unless --trace-config does.
Status read_old(FlagUse& use, const TraceFlag& setting, std::string_view instead) {
  warn_of_old(use, instead);
  return set_trace(use.options.deprecated_trace, setting, use.value);
}

Status read_old_file(FlagUse& use) {
  return read_old(use, {"", "", "trace_file", ValueType::kText}, "triton,file=<filepath>");
}
Status read_old_rate(FlagUse& use) {
  return read_old(use, {"", "", "rate", ValueType::kInteger}, "rate=<rate value>");
}
Status read_old_count(FlagUse& use) {
  return read_old(use, {"", "", "count", ValueType::kInteger}, "count=<count value>");
}
Status read_old_frequency(FlagUse& use) {
  return read_old(use, {"", "", "log_frequency", ValueType::kInteger},
                  "triton,log-frequency=<log frequency value>");
}
Status read_old_level(FlagUse& use) {
  warn_of_old(use, "level=<OFF|TIMESTAMPS|TENSORS>");
  return add_level(use.options.deprecated_trace, use.value);
}

struct TraceVariable {
  const char* name;
  TraceFlag setting;
};
constexpr TraceVariable kVariables[] = {
    {"OTEL_BSP_MAX_QUEUE_SIZE", {"", "", "bsp_max_queue_size", ValueType::kInteger}},
    {"OTEL_BSP_SCHEDULE_DELAY", {"", "", "bsp_schedule_delay", ValueType::kMilliseconds}},
    {"OTEL_BSP_MAX_EXPORT_BATCH_SIZE", {"", "", "bsp_max_export_batch_size", ValueType::kInteger}}};

constexpr Flag kTracingFlags[] = {
    {Group::kTracing, "trace-config", "<string>,<string>=<string>",
     "A setting of traces, <setting>=<value> or <mode>,<setting>=<value>. Of both modes: level=OFF, "
     "TIMESTAMPS or TENSORS, may be given more than once, an OFF wins (OFF); rate, every how many requests "
     "one is traced (1000); count, traces still to be taken, -1 for any number (-1); mode=triton or "
     "opentelemetry (triton). Of triton: file, without which nothing is traced; log-frequency, traces in "
     "each numbered file, 0 for one file (0). Of opentelemetry: url (http://localhost:4318/v1/traces); "
     "resource=<key>=<value>, may be given more than once (service.name=triton-inference-server); "
     "bsp_max_queue_size (2048), bsp_schedule_delay in milliseconds (5000), bsp_max_export_batch_size (512), "
     "whose defaults the environment's OTEL_BSP_* variables replace.",
     read_by(read_trace_config, "plugin.trace.*")},

    {Group::kDeprecated, "trace-file", "<string>", "As --trace-config triton,file.",
     read_by(read_old_file, "plugin.trace.trace_file")},
    {Group::kDeprecated, "trace-level", "<string>", "As --trace-config level.",
     read_by(read_old_level, "plugin.trace.level")},
    {Group::kDeprecated, "trace-rate", "<integer>", "As --trace-config rate.",
     read_by(read_old_rate, "plugin.trace.rate")},
    {Group::kDeprecated, "trace-count", "<integer>", "As --trace-config count.",
     read_by(read_old_count, "plugin.trace.count")},
    {Group::kDeprecated, "trace-log-frequency", "<integer>", "As --trace-config triton,log-frequency.",
     read_by(read_old_frequency, "plugin.trace.log_frequency")},
};

}  // namespace

Status read_trace_environment(const EnvironmentLookup& environment, FlagUse& use) {
  const auto& texts = use.options.trace.texts;
  const auto mode = texts.find("mode");
  if (mode == texts.end() || mode->second != kOpenTelemetry) return {};
  for (const TraceVariable& variable : kVariables) {
    const char* text = environment(variable.name);
    if (text == nullptr) continue;
    use.name = variable.name;
    ATOLL_RETURN_IF_ERROR(set_trace(use.options.environment_trace, variable.setting, text));
  }
  return {};
}

std::span<const Flag> tracing_flags() { return kTracingFlags; }

}  // namespace atl::tritonserver
