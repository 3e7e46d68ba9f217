#include "backends/tensorflow/tf_settings.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <charconv>
#include <exception>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "atoll/backend/parameters.h"

namespace atl::tensorflow {
namespace {

namespace fs = std::filesystem;

constexpr int kThreadsMax = 1024;
constexpr int kJitMax = 2;
constexpr uintmax_t kInitFileBytesMax = 1 << 20;

Status unexpected_setting(std::string_view key, std::string_view found, std::string_view expected) {
  return invalid_argument("backend setting '", key, "': found '", found, "', expected ", expected);
}

Status read_backend_settings(const std::map<std::string, std::string>& settings, TfSettings& out) {
  if (auto found = settings.find("allow-soft-placement"); found != settings.end()) {
    if (found->second != "true" && found->second != "false")
      return unexpected_setting(found->first, found->second, "'true' or 'false'");
    out.soft_placement = found->second == "true";
  }
  auto version = settings.find("version");
  if (version != settings.end() && version->second != "2")
    return unexpected_setting("version", version->second, "2: that of TensorFlow");
  return {};
}

Status read_threads(const ModelDescription& model, const TfDefaults& defaults, TfSettings& out) {
  auto intra =
      backends::int_parameter(model, "TF_NUM_INTRA_THREADS", defaults.intra_op_threads, 0, kThreadsMax);
  if (!intra.ok()) return std::move(intra).status();
  out.intra_op_threads = *intra == 0 ? defaults.intra_op_threads : static_cast<int>(*intra);
  auto inter =
      backends::int_parameter(model, "TF_NUM_INTER_THREADS", defaults.inter_op_threads, -1, kThreadsMax);
  if (!inter.ok()) return std::move(inter).status();
  out.inter_op_threads = *inter == 0 ? defaults.intra_op_threads : static_cast<int>(*inter);
  auto own = backends::bool_parameter(model, "TF_USE_PER_SESSION_THREADS", false);
  if (!own.ok()) return std::move(own).status();
  out.per_session_threads = *own;
  // Instances share one session whatever it says, but a wrong value is one in Triton, too.
  return backends::int_parameter(model, "MAX_SESSION_SHARE_COUNT", 1, 1).status();
}

Status check_accelerators(const inference::ModelConfig& config, Log& log) {
  const auto& accelerators = config.optimization().execution_accelerators();
  if (accelerators.cpu_execution_accelerator_size() != 0) {
    return invalid_argument("optimization.execution_accelerators: found cpu_execution_accelerator '",
                            accelerators.cpu_execution_accelerator(0).name(),
                            "', expected none: TensorFlow has none for CPUs");
  }
  if (accelerators.gpu_execution_accelerator_size() != 0) {
    log.warning("model '", config.name(), "': gpu_execution_accelerator is ignored, the model runs on CPU");
  }
  return {};
}

std::string text_of(const ModelDescription& model, std::string_view key) {
  return std::string(backends::text_parameter(model, key).value_or(""));
}

/// Whether a path without links is that of something below the folder.
bool is_inside(const fs::path& path, const fs::path& folder) {
  const fs::path relative = path.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != ".." && relative != ".";
}

std::optional<std::vector<std::string>> names_in(const std::string& text) {
  const nlohmann::json parsed = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object() || !parsed.contains("init_ops") || !parsed["init_ops"].is_array())
    return std::nullopt;
  std::vector<std::string> names;
  for (const auto& name : parsed["init_ops"]) {
    if (!name.is_string()) return std::nullopt;
    names.push_back(name.get<std::string>());
  }
  return names;
}

}  // namespace

std::string TfSettings::config_bytes() const {
  namespace io = google::protobuf::io;
  constexpr uint32_t kVarint = 0, kBytes = 2;
  const auto tag = [](uint32_t field, uint32_t type) { return field << 3 | type; };
  std::string bytes;
  {
    io::StringOutputStream stream(&bytes);
    io::CodedOutputStream out(&stream);
    const auto number = [&](uint32_t field, int value) {
      out.WriteTag(tag(field, kVarint));
      out.WriteVarint32SignExtended(value);
    };
    // device_count { key: "GPU" value: 0 }
    const std::string no_gpus = {0x0a, 0x03, 'G', 'P', 'U', 0x10, 0x00};
    out.WriteTag(tag(1, kBytes));
    out.WriteVarint32(static_cast<uint32_t>(no_gpus.size()));
    out.WriteString(no_gpus);
    number(2, intra_op_threads);
    number(5, inter_op_threads);
    number(7, soft_placement ? 1 : 0);
    number(9, per_session_threads ? 1 : 0);
    if (jit_level != 0) {
      // graph_options { optimizer_options { global_jit_level } }
      std::string level;
      {
        io::StringOutputStream inner(&level);
        io::CodedOutputStream coded(&inner);
        coded.WriteTag(tag(5, kVarint));
        coded.WriteVarint32SignExtended(jit_level);
      }
      out.WriteTag(tag(10, kBytes));
      out.WriteVarint32(static_cast<uint32_t>(level.size() + 2));
      out.WriteTag(tag(3, kBytes));
      out.WriteVarint32(static_cast<uint32_t>(level.size()));
      out.WriteString(level);
    }
  }
  return bytes;
}

Result<TfSettings> read_tf_settings(const inference::ModelConfig& config, const ModelSource& source,
                                    const TfDefaults& defaults, Log& log) noexcept {
  TfSettings settings;
  ATOLL_RETURN_IF_ERROR(read_backend_settings(source.settings, settings));
  ATOLL_RETURN_IF_ERROR(read_threads(source.model, defaults, settings));
  ATOLL_RETURN_IF_ERROR(check_accelerators(config, log));
  settings.graph_tag = text_of(source.model, "TF_GRAPH_TAG");
  settings.signature = text_of(source.model, "TF_SIGNATURE_DEF");
  settings.init_operations_file = text_of(source.model, "TF_INIT_OPS_FILE");
  if (config.optimization().has_graph()) {
    settings.jit_level = std::clamp(config.optimization().graph().level(), -1, kJitMax);
  }
  for (const std::string& file : config.model_operations().op_library_filename())
    settings.operation_files.push_back(file);
  return settings;
}

Result<std::string> find_operation_file(const std::string& model_directory, const std::string& name) noexcept
    try {
  std::error_code error;
  const fs::path folder = fs::canonical(model_directory, error);
  if (error) return internal_error("folder '", model_directory, "': ", error.message());
  const fs::path path = fs::canonical(folder / name, error);
  if (error) return not_found("op_library_filename '", name, "': ", error.message());
  if (!is_inside(path, folder) || !fs::is_regular_file(path, error)) {
    return invalid_argument("op_library_filename: found '", name,
                            "', expected a file inside the model's folder '", folder.string(),
                            "': the library is code that the server runs");
  }
  return path.string();
} catch (const std::exception& error) {
  return internal_error("op_library_filename '", name, "': ", error.what());
}

Result<std::vector<std::string>> read_init_operations(const ModelSource& source,
                                                      const std::string& file) noexcept try {
  const fs::path name(file);
  if (name.is_absolute() || std::ranges::find(name, "..") != name.end()) {
    return invalid_argument("parameter 'TF_INIT_OPS_FILE': found '", file,
                            "', expected a path inside the model's folder");
  }
  std::error_code error;
  for (const std::string& folder : {source.version_directory, source.model_directory}) {
    const fs::path path = fs::path(folder) / name;
    if (!fs::is_regular_file(path, error)) continue;
    if (fs::file_size(path, error) > kInitFileBytesMax)
      return invalid_argument("'", path.string(), "': found more than ", kInitFileBytesMax, " bytes");
    std::ifstream stream(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    auto names = names_in(text);
    if (names) return std::move(*names);
    return invalid_argument(
        "'", path.string(),
        "': expected {\"init_ops\": [...]} with names of operations, found something else");
  }
  return not_found("parameter 'TF_INIT_OPS_FILE': there is no file '", file,
                   "' in the version's folder or in the model's");
} catch (const std::exception& error) {
  return internal_error("parameter 'TF_INIT_OPS_FILE': ", error.what());
}

}  // namespace atl::tensorflow
