#include "backends/onnxruntime/session_settings.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "atoll/backend/parameters.h"
#include "atoll/proto/model_description.h"

namespace atl::ort {
namespace {

constexpr int64_t kMaxThreads = 1024;
constexpr std::string_view kEntryPrefix = "session.";

// A configuration may come from a client (a load call with an override). These would let it name a file for
// this process to write.
constexpr std::string_view kRefusedEntries[] = {
    "session.collect_node_memory_stats_to_file",
    "session.node_partition_config_file",
    "session.optimized_model_external_initializers_file_name",
};

Status unexpected(std::string_view where, std::string_view key, std::string_view found,
                  std::string_view expected) {
  return invalid_argument(where, " '", key, "': found '", found, "', expected ", expected);
}

std::optional<int64_t> to_int(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

int thread_count(int64_t wanted, uint32_t cpus) {
  if (wanted > 0) return static_cast<int>(std::min(wanted, kMaxThreads));
  // ONNX Runtime's own choice would also pin the threads, every session to the same CPUs.
  return static_cast<int>(cpus);
}

/// Looks keys up in the model's parameters, then, where allowed, in the backend's settings.
class Reader {
 public:
  Reader(const ModelDescription& model, const std::map<std::string, std::string>& backend_settings,
         uint32_t cpus)
      : model_(model), backend_settings_(backend_settings), cpus_(cpus) {}

  std::optional<std::string_view> parameter(std::string_view key) {
    known_.insert(key);
    return backends::text_parameter(model_, key);
  }
  Status threads(std::string_view key, int64_t fallback, int& out) {
    known_.insert(key);
    auto setting = backend_settings_.find(std::string(key));
    if (setting != backend_settings_.end()) {
      std::optional<int64_t> value = to_int(setting->second);
      if (!value || *value < 0 || *value > kMaxThreads) {
        return unexpected("backend setting", key, setting->second,
                          cat("a number of threads from 0 to ", kMaxThreads));
      }
      fallback = *value;
    }
    Result<int64_t> wanted = backends::int_parameter(model_, key, fallback, 0, kMaxThreads);
    if (!wanted.ok()) return std::move(wanted).status();
    out = thread_count(*wanted, cpus_);
    return {};
  }
  Status flag(std::string_view key, bool& out) {
    known_.insert(key);
    Result<bool> wanted = backends::bool_parameter(model_, key, out);
    if (!wanted.ok()) return std::move(wanted).status();
    out = *wanted;
    return {};
  }
  bool known(std::string_view key) const { return known_.contains(key); }

 private:
  const ModelDescription& model_;
  const std::map<std::string, std::string>& backend_settings_;
  const uint32_t cpus_;
  std::set<std::string_view> known_;
};

/// The model's parameter, or else the configuration's own field; both with the numbers Triton uses.
Status read_graph_level(Reader& reader, const inference::ModelConfig& config, GraphOptimizationLevel& level) {
  constexpr std::string_view kExpected = "-1 (basic), 0 (all), 1 (extended) or 2 (none)";
  constexpr std::pair<std::string_view, GraphOptimizationLevel> kLevels[] = {
      {"-1", ORT_ENABLE_BASIC}, {"0", ORT_ENABLE_ALL}, {"1", ORT_ENABLE_EXTENDED}, {"2", ORT_DISABLE_ALL}};
  std::optional<std::string_view> parameter = reader.parameter("graph_optimization_level");
  const std::string field = cat(config.optimization().graph().level());
  for (const auto& [text, value] : kLevels) {
    if (text == parameter.value_or(field)) {
      level = value;
      return {};
    }
  }
  if (parameter) return unexpected("parameter", "graph_optimization_level", *parameter, kExpected);
  return invalid_argument("optimization.graph.level: found ", field, ", expected ", kExpected);
}

Status read_execution_mode(Reader& reader, ExecutionMode& mode) {
  std::optional<std::string_view> text = reader.parameter("execution_mode");
  if (!text) return {};
  if (*text != "0" && *text != "1") {
    return unexpected("parameter", "execution_mode", *text, "0 (sequential) or 1 (parallel)");
  }
  mode = *text == "1" ? ORT_PARALLEL : ORT_SEQUENTIAL;
  return {};
}

Status read_arena(Reader& reader, OnnxSessionSettings& settings) {
  constexpr std::string_view kShrinkage = kArenaShrinkageKey;
  ATOLL_RETURN_IF_ERROR(reader.flag("enable_mem_arena", settings.memory_arena));
  ATOLL_RETURN_IF_ERROR(reader.flag("enable_mem_pattern", settings.memory_pattern));
  std::optional<std::string_view> text = reader.parameter(kShrinkage);
  if (!text) return {};
  if (*text != "cpu:0") return unexpected("parameter", kShrinkage, *text, "cpu:0");
  if (!settings.memory_arena) {
    return unexpected("parameter", kShrinkage, *text, "nothing, because enable_mem_arena is off");
  }
  settings.arena_shrinkage = std::string(*text);
  return {};
}

Status read_entries(const inference::ModelConfig& config, const SessionDefaults& defaults,
                    OnnxSessionSettings& settings) {
  const char* spinning = defaults.allow_spinning ? "1" : "0";
  std::map<std::string, std::string> entries = {{"session.intra_op.allow_spinning", spinning},
                                                {"session.inter_op.allow_spinning", spinning}};
  for (const auto& [key, value] : config.parameters()) {
    if (!key.starts_with(kEntryPrefix)) continue;
    const std::string& text = value.string_value();
    if (std::ranges::find(kRefusedEntries, key) != std::end(kRefusedEntries)) {
      return unexpected("parameter", key, text, "this key not to be used: it names a file to write");
    }
    if (entries.contains(key) && text != "0" && text != "1") {
      // The map begins with the two spinning keys, whose values ONNX Runtime does not check.
      return unexpected("parameter", key, text, "0 or 1");
    }
    entries[key] = text;
  }
  settings.entries.assign(entries.begin(), entries.end());
  return {};
}

/// ONNX Runtime keeps a memory plan for each combination of input shapes it has seen and never drops one:
/// with shapes that clients choose freely, that is a leak.
bool shapes_are_bounded(const inference::ModelConfig& config) {
  for (const auto& input : config.input()) {
    if (std::ranges::find(input.dims(), -1) != input.dims().end()) return false;
  }
  return true;
}

}  // namespace

Result<OnnxSessionSettings> read_session_settings(const backends::ConfigView& view,
                                                  const std::map<std::string, std::string>& backend_settings,
                                                  const SessionDefaults& defaults, Log& log) noexcept {
  const inference::ModelConfig& config = view.message();
  OnnxSessionSettings settings;
  settings.memory_pattern = shapes_are_bounded(config);
  const ModelDescription model = proto::describe_model(config);
  Reader reader(model, backend_settings, defaults.cpus);
  ATOLL_RETURN_IF_ERROR(
      reader.threads("intra_op_thread_count", defaults.intra_op_threads, settings.intra_op_threads));
  ATOLL_RETURN_IF_ERROR(
      reader.threads("inter_op_thread_count", defaults.inter_op_threads, settings.inter_op_threads));
  ATOLL_RETURN_IF_ERROR(read_execution_mode(reader, settings.execution_mode));
  ATOLL_RETURN_IF_ERROR(read_arena(reader, settings));
  ATOLL_RETURN_IF_ERROR(reader.flag("share_session_between_instances", settings.share_session));
  ATOLL_RETURN_IF_ERROR(read_graph_level(reader, config, settings.graph_level));
  ATOLL_RETURN_IF_ERROR(read_entries(config, defaults, settings));
  for (const auto& parameter : config.parameters()) {
    if (!reader.known(parameter.first) && !parameter.first.starts_with(kEntryPrefix)) {
      log.debug("model '", config.name(), "': parameter '", parameter.first,
                "' means nothing to ONNX Runtime");
    }
  }
  const auto& accelerators = config.optimization().execution_accelerators();
  for (const auto& accelerator : accelerators.cpu_execution_accelerator()) {
    return unimplemented("optimization.execution_accelerators.cpu_execution_accelerator: found '",
                         accelerator.name(),
                         "', expected none: models run on ONNX Runtime's own CPU provider");
  }
  return settings;
}

Result<Handle<OrtSessionOptions>> make_session_options(const OnnxSessionSettings& settings,
                                                       const Environment& environment,
                                                       const std::string& log_id) noexcept {
  const OrtApi& ort = api();
  Handle<OrtSessionOptions> options;
  ATOLL_RETURN_IF_ERROR(make(options, ort.CreateSessionOptions));
  OrtSessionOptions* raw = options.get();
  ATOLL_RETURN_IF_ERROR(check(ort.SetUserLoggingFunction(raw, &write_log, &environment.log())));
  ATOLL_RETURN_IF_ERROR(check(ort.SetSessionLogSeverityLevel(raw, environment.level())));
  ATOLL_RETURN_IF_ERROR(check(ort.SetSessionLogId(raw, log_id.c_str())));
  ATOLL_RETURN_IF_ERROR(check(ort.SetIntraOpNumThreads(raw, settings.intra_op_threads)));
  ATOLL_RETURN_IF_ERROR(check(ort.SetInterOpNumThreads(raw, settings.inter_op_threads)));
  ATOLL_RETURN_IF_ERROR(check(ort.SetSessionExecutionMode(raw, settings.execution_mode)));
  ATOLL_RETURN_IF_ERROR(check(ort.SetSessionGraphOptimizationLevel(raw, settings.graph_level)));
  ATOLL_RETURN_IF_ERROR(
      check(settings.memory_arena ? ort.EnableCpuMemArena(raw) : ort.DisableCpuMemArena(raw)));
  ATOLL_RETURN_IF_ERROR(
      check(settings.memory_pattern ? ort.EnableMemPattern(raw) : ort.DisableMemPattern(raw)));
  for (const auto& [key, value] : settings.entries) {
    Status status = check(ort.AddSessionConfigEntry(raw, key.c_str(), value.c_str()));
    if (!status.ok()) return std::move(status.note(cat("parameter '", key, "'")));
  }
  return options;
}

}  // namespace atl::ort
