#include "backends/openvino/settings.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

#include "atoll/core/text.h"

namespace atl::openvino {
namespace {

constexpr int64_t kThreadsMax = 1024;

Status unexpected(std::string_view key, std::string_view found, std::string_view expected) {
  return invalid_argument("parameter '", key, "': found '", found, "', expected ", expected);
}

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return result;
}

/// The parameters of a model, and which of them were asked for.
class Parameters {
 public:
  explicit Parameters(const inference::ModelConfig& config) : config_(config) {}

  std::optional<std::string> text(const std::string& key) {
    known_.insert(key);
    const auto found = config_.parameters().find(key);
    if (found == config_.parameters().end()) return std::nullopt;
    return found->second.string_value();
  }
  /// \param least  the lowest value that is allowed
  Status number(const std::string& key, int64_t least, std::optional<int64_t>& out) {
    const std::optional<std::string> found = text(key);
    if (!found) return {};
    int64_t value = 0;
    const auto [end, error] = std::from_chars(found->data(), found->data() + found->size(), value);
    if (error != std::errc() || end != found->data() + found->size() || value < least || value > kThreadsMax)
      return unexpected(key, *found, cat("a number from ", least, " to ", kThreadsMax));
    out = value;
    return {};
  }
  Status flag(const std::string& key, bool& out) {
    const std::optional<std::string> found = text(key);
    if (!found) return {};
    const std::string value = upper(*found);
    out = value == "YES" || value == "TRUE" || value == "1";
    if (out || value == "NO" || value == "FALSE" || value == "0") return {};
    return unexpected(key, *found, "yes or no");
  }
  void say_unknown(Log& log) const {
    for (const auto& parameter : config_.parameters()) {
      if (!known_.contains(parameter.first))
        log.debug("model '", config_.name(), "': parameter '", parameter.first,
                  "' means nothing to backends/openvino");
    }
  }

 private:
  const inference::ModelConfig& config_;
  std::set<std::string> known_;
};

int64_t instances_of(const inference::ModelConfig& config) {
  int64_t count = 0;
  for (const auto& group : config.instance_group()) count += std::max(1, group.count());
  return std::max<int64_t>(count, 1);
}

/// Runs beyond the number of streams wait for one another, so there is one for each instance. One thread in all needs none: runs
/// are then made by the threads that call.
Status read_streams(Parameters& parameters, const inference::ModelConfig& config, int64_t threads,
                    std::string& streams) {
  const std::string key = "NUM_STREAMS";
  const std::optional<std::string> found = parameters.text(key);
  if (!found) {
    streams = threads == 1 ? "0" : cat(std::min(instances_of(config), threads));
    return {};
  }
  streams = upper(*found);
  if (streams == "AUTO" || streams == "NUMA") return {};
  int64_t value = 0;
  const auto [end, error] = std::from_chars(streams.data(), streams.data() + streams.size(), value);
  if (error == std::errc() && end == streams.data() + streams.size() && value >= 0 && value <= kThreadsMax)
    return {};
  return unexpected(key, *found, cat("AUTO, NUMA or a number from 0 to ", kThreadsMax));
}

Status read_threads(Parameters& parameters, const inference::ModelConfig& config, const OvDefaults& defaults,
                    OvSettings& settings) {
  std::optional<int64_t> threads, compiling;
  ATOLL_RETURN_IF_ERROR(parameters.number("INFERENCE_NUM_THREADS", 0, threads));
  // The CPU device has no such property.
  ATOLL_RETURN_IF_ERROR(parameters.number("COMPILATION_NUM_THREADS", 0, compiling));
  const int64_t used = threads.value_or(0) == 0 ? defaults.threads : *threads;
  std::string streams;
  ATOLL_RETURN_IF_ERROR(read_streams(parameters, config, used, streams));
  settings.properties.emplace_back("INFERENCE_NUM_THREADS", cat(used));
  settings.properties.emplace_back("NUM_STREAMS", std::move(streams));
  // Pinned threads of several models would share CPUs while others are idle.
  settings.properties.emplace_back("ENABLE_CPU_PINNING", "NO");
  return {};
}

Status read_hints(Parameters& parameters, OvSettings& settings) {
  if (const auto hint = parameters.text("PERFORMANCE_HINT")) {
    const std::string value = upper(*hint);
    if (value != "LATENCY" && value != "THROUGHPUT" && value != "CUMULATIVE_THROUGHPUT")
      return unexpected("PERFORMANCE_HINT", *hint, "LATENCY, THROUGHPUT or CUMULATIVE_THROUGHPUT");
    settings.properties.emplace_back("PERFORMANCE_HINT", value);
  }
  bool bf16 = false;
  ATOLL_RETURN_IF_ERROR(parameters.flag("HINT_BF16", bf16));
  // Said in any case: on CPUs with AMX OpenVINO would choose BF16 by itself, and give other results than elsewhere.
  settings.properties.emplace_back("INFERENCE_PRECISION_HINT", bf16 ? "bf16" : "f32");
  const auto device = parameters.text("TARGET_DEVICE");
  if (!device || upper(*device) == "CPU") return {};
  return make_status(Code::kUnimplemented, "parameter 'TARGET_DEVICE': found '", *device,
                     "', expected CPU: no other device is served");
}

/// The file is code, so it must lie in the model's own folder, and the operator must have allowed it.
Status read_extension(Parameters& parameters, const std::string& model_directory, const OvDefaults& defaults,
                      OvSettings& settings) {
  const std::string key = "CPU_EXTENSION_PATH";
  const auto found = parameters.text(key);
  if (!found || found->empty()) return {};
  if (!defaults.allows_extensions) {
    return unexpected(key, *found,
                      "none: the option cpu_extensions of backends/openvino is off, because such a "
                      "file is code that runs in the server");
  }
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path folder = fs::canonical(model_directory, error);
  const fs::path file = error ? fs::path() : fs::canonical(folder / *found, error);
  const fs::path inside = file.lexically_relative(folder);
  if (error || inside.empty() || *inside.begin() == "..")
    return unexpected(key, *found, "a file in the model's folder");
  settings.extension = file.string();
  return {};
}

}  // namespace

Result<OvSettings> read_settings(const inference::ModelConfig& config, const std::string& model_directory,
                                 const OvDefaults& defaults, Log& log) noexcept {
  OvSettings settings;
  settings.shapes_kept = defaults.shapes_kept;
  Parameters parameters(config);
  ATOLL_RETURN_IF_ERROR(read_threads(parameters, config, defaults, settings));
  ATOLL_RETURN_IF_ERROR(read_hints(parameters, settings));
  ATOLL_RETURN_IF_ERROR(read_extension(parameters, model_directory, defaults, settings));
  ATOLL_RETURN_IF_ERROR(parameters.flag("ENABLE_BATCH_PADDING", settings.pads_batches));
  ATOLL_RETURN_IF_ERROR(parameters.flag("RESHAPE_IO_LAYERS", settings.reshapes_inputs));
  bool ignored = false;  // Atoll gives OpenVINO no hint about batches, so there is nothing to skip
  ATOLL_RETURN_IF_ERROR(parameters.flag("SKIP_OV_DYNAMIC_BATCHSIZE", ignored));
  // Its entries are never freed, and each keeps what was prepared for one shape.
  settings.properties.emplace_back("CPU_RUNTIME_CACHE_CAPACITY", "16");
  if (!defaults.cache_directory.empty())
    settings.properties.emplace_back("CACHE_DIR", defaults.cache_directory);
  parameters.say_unknown(log);
  return settings;
}

}  // namespace atl::openvino
