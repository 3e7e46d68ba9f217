#include "model_files.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "atoll/request/tensor.h"
#include "configs/pbtxt/shapes.h"

namespace atl::config {
namespace {

using inference::ModelConfig;

bool leads_out(std::string_view name) {
  return name.starts_with('/') || name.find("..") != std::string_view::npos;
}

/// Bytes of a regular file; null: there is none of that name.
std::optional<uint64_t> file_bytes(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  auto bytes = std::filesystem::file_size(path, error);
  if (error) return std::nullopt;
  return bytes;
}

/// The frameworks whose models are files; other backends know what they read.
bool reads_model_file(const ModelConfig& config) {
  constexpr std::string_view kBackends[] = {"onnxruntime", "tensorrt", "pytorch",   "llamacpp",
                                            "openvino",    "python",   "tensorflow"};
  return !config.default_model_filename().empty() && config.cc_model_filenames().empty() &&
         std::find(std::begin(kBackends), std::end(kBackends), config.backend()) != std::end(kBackends);
}

void check_data_file(const std::string& path, const std::string& file, const pbtxt::Dims& dims,
                     inference::DataType type, const char* setting, const std::string& field,
                     const Tell& report) {
  auto bytes = file_bytes(path);
  if (!bytes) return report(field, cat("file '", path, "' is not there"));
  if (type == inference::TYPE_STRING) return;  // it is used as it is
  int64_t needed = 0;
  auto elements = pbtxt::known_elements(dims);
  if (!elements || __builtin_mul_overflow(*elements, pbtxt::element_bytes(type), &needed)) return;
  if (*bytes >= static_cast<uint64_t>(needed)) return;
  report(field, cat(setting, " setting expects ", needed, " bytes, but the data provided from ", file,
                    "only has ", *bytes, " bytes"));
}

}  // namespace

void check_model_files(const ModelConfig& config, const RepositoryModel& model,
                       const std::vector<RepositoryVersion>& versions, const Tell& report) {
  const std::string& directory = model.entry.path;
  for (const RepositoryVersion& version : versions) {
    if (!reads_model_file(config) || leads_out(config.default_model_filename())) continue;
    std::string path = cat(version.path, "/", config.default_model_filename());
    std::error_code error;
    if (!std::filesystem::exists(path, error)) {
      report("default_model_filename", cat("model file '", path, "' is not there"));
    }
  }
  for (int i = 0; i < config.output_size(); ++i) {
    const std::string& file = config.output(i).label_filename();
    if (file.empty() || leads_out(file) || file_bytes(cat(directory, "/", file))) continue;
    report(cat("output[", i, "].label_filename"),
           cat("label file '", directory, "/", file, "' is not there"));
  }
  for (int i = 0; i < config.model_warmup_size(); ++i) {
    for (const auto& [name, input] : config.model_warmup(i).inputs()) {
      const std::string& file = input.input_data_file();
      if (file.empty() || leads_out(file)) continue;
      check_data_file(cat(directory, "/warmup/", file), file, input.dims(), input.data_type(), "warmup",
                      cat("model_warmup[", i, "].inputs"), report);
    }
  }
  for (int i = 0; i < config.sequence_batching().state_size(); ++i) {
    for (const auto& initial : config.sequence_batching().state(i).initial_state()) {
      const std::string& file = initial.data_file();
      if (file.empty() || leads_out(file)) continue;
      check_data_file(cat(directory, "/initial_state/", file), file, initial.dims(), initial.data_type(),
                      "initial_state", cat("sequence_batching.state[", i, "].initial_state[0]"), report);
    }
  }
}

}  // namespace atl::config
