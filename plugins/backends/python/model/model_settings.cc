#include "backends/python/model/model_settings.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "atoll/core/quantity.h"
#include "atoll/lib/cpu_list.h"
#include "atoll/lib/quantity_limit.h"

namespace atl::python {
namespace {

constexpr std::string_view kModelDirectory = "$$TRITON_MODEL_DIRECTORY";

/// Reads parameters of one model.
class Parameters {
 public:
  /// \param settings_of  empty: the model's own backend
  Parameters(const ModelSource& source, std::string_view settings_of)
      : model_(source.model),
        settings_(source.settings),
        prefix_(settings_of.empty() ? std::string() : cat(".", settings_of, ".")) {}

  /// Null: the model says nothing.
  const std::string* text(std::string_view key) const {
    const auto found = model_.parameters.find(key);
    return found == model_.parameters.end() ? nullptr : &found->second;
  }
  Status duration(std::string_view key, int64_t& value_ns) const {
    const std::string* found = text(key);
    if (found == nullptr) return {};
    const std::optional<int64_t> value = parse_duration_ns(*found);
    if (!value)
      return wrong(key, *found, cat("a duration such as 500ms or 30s", lib::duration_limit_text(*found)));
    value_ns = *value;
    return {};
  }
  Status flag(std::string_view key, bool& value) const {
    const std::string* found = text(key);
    if (found == nullptr) return {};
    if (*found != "true" && *found != "false") return wrong(key, *found, "true or false");
    value = *found == "true";
    return {};
  }
  /// 0 is no limit, and the option's is one that stays.
  Status limit(std::string_view key, uint64_t& value) const {
    const std::string* found = text(key);
    if (found == nullptr) return {};
    const std::optional<uint64_t> wanted = parse_bytes(*found);
    if (!wanted)
      return wrong(key, *found, cat("a size such as 512MiB, or a number", lib::bytes_limit_text(*found)));
    if (value != 0 && (*wanted == 0 || *wanted > value))
      return wrong(key, *found, cat("at most ", value, ", as the plugin's option says"));
    value = *wanted;
    return {};
  }
  Status cores(std::string_view key, std::vector<uint32_t>& value) const {
    const std::string* found = text(key);
    if (found == nullptr) return {};
    const auto wanted = parse_cpu_list(*found);
    if (!wanted) return wrong(key, *found, "CPU cores such as 0-3,8");
    for (uint32_t core : *wanted) {
      if (!value.empty() && std::ranges::find(value, core) == value.end()) {
        return wrong(key, *found, cat("only cores of the plugin's option, and ", core, " is none"));
      }
    }
    value = *wanted;
    return {};
  }
  Status user(std::string_view key, std::string& value) const {
    const std::string* found = text(key);
    if (found == nullptr) return {};
    if (!value.empty() && value != *found)
      return wrong(key, *found, cat("'", value, "', as the plugin's option says"));
    value = *found;
    return {};
  }
  /// One of those that Triton's command line has for the backend. Nothing: it is not set, or no number
  std::optional<uint64_t> setting(std::string_view key) const {
    const auto found = settings_.find(cat(prefix_, key));
    if (found == settings_.end()) return std::nullopt;
    return parse_bytes(found->second);
  }

  Status wrong(std::string_view key, std::string_view found, std::string_view expected) const {
    return invalid_argument("model '", model_.name, "': parameter '", key, "' is '", found, "', expected ",
                            expected);
  }

 private:
  const ModelDescription& model_;
  const std::map<std::string, std::string>& settings_;
  const std::string prefix_;  // of settings
};

Status read_force_cpu(const Parameters& parameters) {
  const std::string* found = parameters.text("FORCE_CPU_ONLY_INPUT_TENSORS");
  if (found == nullptr || *found == "yes" || *found == "no") return {};
  return invalid_argument("Incorrect value for FORCE_CPU_ONLY_INPUT_TENSORS: ", *found, "'");
}

void read_environment_path(const Parameters& parameters, const ModelSource& source, ModelSettings& settings) {
  const std::string* path = parameters.text("EXECUTION_ENV_PATH");
  if (path == nullptr) return;
  settings.environment_path = path->starts_with(kModelDirectory)
                                  ? cat(source.model_directory, path->substr(kModelDirectory.size()))
                                  : *path;
}

}  // namespace

Result<PythonSettings> PythonSettings::read(const Options& options) {
  PythonSettings settings;
  settings.interpreter = options.get_string("interpreter");
  settings.execute_timeout_ns = options.get_duration_ns("execute_timeout");
  settings.start_timeout_ns = options.get_duration_ns("start_timeout");
  settings.stop_timeout_ns = options.get_duration_ns("stop_timeout");
  settings.shared_memory_bytes = options.get_bytes("shared_memory");
  settings.limits.memory_bytes = options.get_bytes("memory_limit");
  settings.limits.open_files = static_cast<uint64_t>(options.get_int("open_files"));
  settings.limits.processes = static_cast<uint64_t>(options.get_int("processes"));
  settings.user = options.get_string("run_as_user");
  settings.watch = options.get_bool("watch");
  settings.cgroup = options.get_string("cgroup");
  settings.environment = options.get_strings("environment");
  settings.directories = options.get_strings("directories");
  const std::string& cores = options.get_string("cpu_cores");
  if (!cores.empty()) {
    auto list = parse_cpu_list(cores);
    if (!list)
      return invalid_argument("option 'cpu_cores' is '", cores, "', expected CPU cores such as 0-3,8");
    settings.limits.cpu_cores = std::move(*list);
  }
  return settings;
}

Result<ModelSettings> model_settings(const PythonSettings& options, const ModelSource& source,
                                     std::string_view settings_of) {
  ModelSettings settings{options, {}, 1 << 20};
  const Parameters parameters(source, settings_of);
  for (const char* key : {"interpreter", "PYTHON_EXECUTABLE"}) {
    if (const std::string* found = parameters.text(key); found != nullptr) settings.interpreter = *found;
  }
  ATOLL_RETURN_IF_ERROR(parameters.duration("execute_timeout", settings.execute_timeout_ns));
  ATOLL_RETURN_IF_ERROR(parameters.duration("start_timeout", settings.start_timeout_ns));
  ATOLL_RETURN_IF_ERROR(parameters.duration("stop_timeout", settings.stop_timeout_ns));
  ATOLL_RETURN_IF_ERROR(parameters.limit("shared_memory", settings.shared_memory_bytes));
  ATOLL_RETURN_IF_ERROR(parameters.limit("memory_limit", settings.limits.memory_bytes));
  ATOLL_RETURN_IF_ERROR(parameters.limit("open_files", settings.limits.open_files));
  ATOLL_RETURN_IF_ERROR(parameters.limit("processes", settings.limits.processes));
  ATOLL_RETURN_IF_ERROR(parameters.cores("cpu_cores", settings.limits.cpu_cores));
  ATOLL_RETURN_IF_ERROR(parameters.user("run_as_user", settings.user));
  ATOLL_RETURN_IF_ERROR(parameters.flag("watch", settings.watch));
  ATOLL_RETURN_IF_ERROR(read_force_cpu(parameters));
  read_environment_path(parameters, source, settings);
  if (auto bytes = parameters.setting("shm-default-byte-size")) {
    settings.first_slab_bytes = std::clamp<uint64_t>(*bytes, 64 << 10, uint64_t{1} << 40);
  }
  if (auto seconds = parameters.setting("stub-timeout-seconds"); seconds && *seconds <= 1'000'000) {
    settings.start_timeout_ns = static_cast<int64_t>(*seconds) * 1'000'000'000;
  }
  return settings;
}

}  // namespace atl::python
