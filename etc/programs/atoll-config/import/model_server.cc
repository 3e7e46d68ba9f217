// config.json of OpenVINO Model Server.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "atoll/core/text.h"
#include "import/import_plan.h"

namespace atl::config {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A format that OpenVINO reads: the file by which it is known, and what it is called in a repository.
struct ModelFormat {
  std::string_view suffix;     ///< of the main file
  std::string_view name;       ///< in the version's folder
  std::string_view companion;  ///< suffix of a file that goes with it; empty: none
};
constexpr ModelFormat kFormats[] = {{".xml", "model.xml", ".bin"},
                                    {".onnx", "model.onnx", ""},
                                    {".pdmodel", "model.pdmodel", ".pdiparams"},
                                    {".tflite", "model.tflite", ""}};
constexpr std::string_view kSavedModelName = "model.saved_model";

/// What each setting of plugin_config is here.
constexpr std::string_view kPluginParameters[] = {"NUM_STREAMS", "PERFORMANCE_HINT", "INFERENCE_NUM_THREADS",
                                                  "COMPILATION_NUM_THREADS"};
constexpr uint64_t kMostInstances = 1024;

std::string text_of(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

std::string text_field(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out + "\"";
}

std::string parameter(std::string_view key, std::string_view value) {
  return cat("parameters { key: ", text_field(key), " value { string_value: ", text_field(value), " } }\n");
}

/// The files of one version with their names in the repository. \param name  that of the main file
Result<ImportedVersion> version_of(int64_t number, const fs::path& folder, const std::string& model,
                                   std::string& name) {
  ImportedVersion version{number, {}};
  std::error_code error;
  if (fs::exists(folder / "saved_model.pb", error)) {
    name = kSavedModelName;
    version.files.emplace_back(folder, name);
    return version;
  }
  const ModelFormat* format = nullptr;
  fs::path main;
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    files.push_back(entry->path());
    for (const ModelFormat& one : kFormats) {
      if (entry->path().extension() != one.suffix) continue;
      if (format != nullptr)
        return invalid_argument("model '", model, "': ", folder.string(), " has both ",
                                main.filename().string(), " and ", entry->path().filename().string(),
                                ", expected one model");
      format = &one;
      main = entry->path();
    }
  }
  if (error) return unavailable("model '", model, "': ", folder.string(), ": ", error.message());
  if (format == nullptr)
    return invalid_argument(
        "model '", model, "': ", folder.string(),
        " has no model: expected a file .xml, .onnx, .pdmodel or .tflite, or saved_model.pb");
  std::sort(files.begin(), files.end());
  name = format->name;
  for (const fs::path& file : files) {
    if (!fs::is_regular_file(file, error)) continue;
    const bool is_companion =
        !format->companion.empty() && file.extension() == format->companion && file.stem() == main.stem();
    const std::string to = file == main   ? name
                           : is_companion ? fs::path(name).stem().string() + std::string(format->companion)
                                          : file.filename().string();
    version.files.emplace_back(file, to);
  }
  return version;
}

Status read_policy(const json& policy, ImportedModel& model) {
  const auto wrong = [&] {
    return invalid_argument("model '", model.name, "': model_version_policy is ", policy.dump(),
                            R"(, expected {"latest": )"
                            R"({"num_versions": N}}, {"all": {}} or {"specific": {"versions": [...]}})");
  };
  if (!policy.is_object() || policy.size() != 1) return wrong();
  if (policy.contains("all")) {
    model.choice.kind = VersionChoice::Kind::kAll;
    return {};
  }
  const json& inner = policy.begin().value();
  if (!inner.is_object()) return wrong();
  if (policy.contains("latest")) {
    const json number = inner.value("num_versions", json(1));
    if (!number.is_number_unsigned() || number.get<uint64_t>() == 0 || number.get<uint64_t>() > 1'000'000)
      return wrong();
    model.choice.latest = number.get<uint32_t>();
    return {};
  }
  if (!policy.contains("specific") || !inner.contains("versions") || !inner["versions"].is_array())
    return wrong();
  model.choice.kind = VersionChoice::Kind::kSpecific;
  for (const json& number : inner["versions"]) {
    if (!number.is_number_unsigned()) return wrong();
    model.choice.specific.insert(number.get<int64_t>());
  }
  return {};
}

Status read_plugin_config(const json& given, ImportedModel& model, ImportPlan& plan) {
  json settings = given;
  if (given.is_string())
    settings = json::parse(given.get<std::string>(), nullptr, /*allow_exceptions=*/false);
  if (!settings.is_object())
    return invalid_argument("model '", model.name, "': plugin_config is ", given.dump(),
                            ", expected an object");
  for (const auto& [key, value] : settings.items()) {
    const std::string text = text_of(value);
    if (std::ranges::find(kPluginParameters, key) != std::end(kPluginParameters)) {
      model.config += parameter(key, text);
    } else if (key == "INFERENCE_PRECISION_HINT" && text == "bf16") {
      model.config += parameter("HINT_BF16", "YES");
    } else {
      plan.leave_out(model.name, cat("plugin_config: ", key), "the backend has no such parameter");
    }
  }
  return {};
}

/// A whole number that may be written as a text; nothing: it is none, or out of range.
std::optional<uint64_t> count_of(std::string_view text) {
  const bool is_number = !text.empty() && text.size() < 10 &&
                         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  return is_number ? std::optional<uint64_t>(std::stoull(std::string(text))) : std::nullopt;
}

Status wrong_setting(const ImportedModel& model, std::string_view key, const json& value,
                     std::string_view expected) {
  return invalid_argument("model '", model.name, "': ", key, " is ", value.dump(), ", expected ", expected);
}

Status read_instance_count(const json& value, ImportedModel& model, ImportPlan& plan) {
  const std::optional<uint64_t> count = count_of(text_of(value));
  if (!count || *count > kMostInstances)
    return wrong_setting(model, "nireq", value, cat("a number from 0 to ", kMostInstances));
  if (*count > 0) model.config += cat("instance_group { count: ", *count, " kind: KIND_CPU }\n");
  if (*count == 0) plan.leave_out(model.name, "nireq", "0 lets the backend decide, as it does without it");
  return {};
}

/// A number, "auto" or -1 for any, or a range "LOWEST:HIGHEST".
Status read_batch_size(const json& value, ImportedModel& model, ImportPlan& plan) {
  const std::string text = text_of(value);
  if (text == "auto" || text == "-1" || text == "0") {
    plan.leave_out(model.name, "batch_size", "models of any batch size are served as they are");
    return {};
  }
  const size_t colon = text.find(':');
  const std::optional<uint64_t> most = count_of(colon == std::string::npos ? text : text.substr(colon + 1));
  const bool is_range =
      colon == std::string::npos || count_of(std::string_view(text).substr(0, colon)) <= most;
  if (!most || *most == 0 || !is_range || (colon == 0))
    return wrong_setting(model, "batch_size", value, R"(a number, -1, "auto", or a range such as "1:8")");
  model.config += cat("max_batch_size: ", *most, "\n");
  if (colon != std::string::npos)
    plan.leave_out(model.name, "batch_size", "smaller batches than the range's lowest are served, too");
  return {};
}

Status read_setting(const std::string& key, const json& value, ImportedModel& model, ImportPlan& plan) {
  if (key == "model_version_policy") return read_policy(value, model);
  if (key == "plugin_config") return read_plugin_config(value, model, plan);
  if (key == "nireq") return read_instance_count(value, model, plan);
  if (key == "batch_size") return read_batch_size(value, model, plan);
  if (key == "target_device") {
    const std::string device = text_of(value);
    if (device != "CPU") model.config += parameter("TARGET_DEVICE", device);
  } else if (key == "shape") {
    plan.leave_out(
        model.name, key,
        "dynamic shapes are served as they are; to fix them, give the inputs dims in config.pbtxt and set the "
        "parameter RESHAPE_IO_LAYERS");
  } else if (key == "layout") {
    plan.leave_out(
        model.name, key,
        "tensors are served in the model's own layout; transpose in the client or in an ensemble's step");
  } else {
    plan.leave_out(model.name, key, "there is no such setting here");
  }
  return {};
}

Status add(const json& entry, const fs::path& file, ImportPlan& plan) {
  const json* const config = entry.is_object() && entry.contains("config") ? &entry["config"] : nullptr;
  if (config == nullptr || !config->is_object() || !config->contains("name") ||
      !(*config)["name"].is_string() || !config->contains("base_path") || !(*config)["base_path"].is_string())
    return invalid_argument(file.string(),
                            R"(: expected {"config": {"name": ..., "base_path": ...}} for each model)");
  ImportedModel model;
  model.name = (*config)["name"].get<std::string>();
  auto base = model_base(file, model.name, (*config)["base_path"].get<std::string>());
  if (!base.ok()) return std::move(base).status();
  model.base = std::move(base).value();
  model.backend = "openvino";
  auto folders = version_folders(model.base, model.name, plan);
  if (!folders.ok()) return std::move(folders).status();
  // A folder without versions is version 1.
  if (folders->empty()) folders->emplace(1, model.base);
  std::string name;
  for (const auto& [number, folder] : *folders) {
    std::string own;
    auto version = version_of(number, folder, model.name, own);
    if (!version.ok()) return std::move(version).status();
    if (!name.empty() && own != name)
      return invalid_argument("model '", model.name, "': ", folder.string(),
                              " has another format than the other versions");
    name = own;
    model.versions.push_back(std::move(version).value());
  }
  model.config = cat("backend: \"openvino\"\ndefault_model_filename: ", text_field(name), "\n");
  for (const auto& [key, value] : config->items()) {
    if (key != "name" && key != "base_path") ATOLL_RETURN_IF_ERROR(read_setting(key, value, model, plan));
  }
  return add_model(std::move(model), plan);
}

std::string reason_of(const std::string& key) {
  if (key == "pipeline_config_list") return "pipelines have to be written anew, as ensembles";
  if (key == "mediapipe_config_list")
    return "MediaPipe graphs are not served; ensembles or a model in Python take their place";
  return "there is no such setting here";
}

}  // namespace

Result<ImportPlan> read_model_server(const fs::path& file) {
  auto text = read_config_file(file);
  if (!text.ok()) return std::move(text).status();
  json root;
  try {
    root = json::parse(*text);
  } catch (const json::parse_error& error) {
    return invalid_argument(file.string(), ": no valid JSON, from byte ", error.byte, " on");
  }
  ImportPlan plan;
  plan.grpc_port = 9178;
  plan.http_port = 8000;
  if (!root.is_object() || !root.contains("model_config_list") || !root["model_config_list"].is_array() ||
      root["model_config_list"].empty())
    return invalid_argument(file.string(),
                            R"(: it has no model: expected {"model_config_list": [{"config": {...}}]})");
  for (const json& entry : root["model_config_list"]) ATOLL_RETURN_IF_ERROR(add(entry, file, plan));
  for (const auto& [key, value] : root.items()) {
    if (key != "model_config_list" && !value.empty()) plan.leave_out("", key, reason_of(key));
  }
  return plan;
}

}  // namespace atl::config
