#include "configs/pbtxt/derive.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "atoll/core/utf8.h"

namespace atl::pbtxt {

namespace {

using inference::ModelConfig;

/// The files of the version directory that decides.
class VersionFiles {
 public:
  explicit VersionFiles(const RepositoryModel& model) {
    auto first = std::min_element(model.versions.begin(), model.versions.end(),
                                  [](const RepositoryVersion& a, const RepositoryVersion& b) {
                                    return std::to_string(a.version) < std::to_string(b.version);
                                  });
    if (first != model.versions.end()) path_ = first->path;
  }

  /// Of the directory; empty: there is none.
  const std::string& path() const noexcept { return path_; }
  bool exists(const char* name) const { return type_of(name) != std::filesystem::file_type::not_found; }
  bool directory(const char* name) const { return type_of(name) == std::filesystem::file_type::directory; }
  bool file(const char* name) const { return exists(name) && !directory(name); }
  /// Whether there is a file whose name ends so: ".gguf". Of a folder with very many files some are looked at.
  bool any_file(std::string_view ending) const {
    constexpr int kLookedAtMax = 1000;
    if (path_.empty()) return false;
    std::error_code error;
    std::filesystem::directory_iterator entry(path_, error);
    for (int i = 0; !error && entry != std::filesystem::directory_iterator() && i < kLookedAtMax; ++i) {
      if (entry->path().extension() == ending) return true;
      entry.increment(error);
    }
    return false;
  }

 private:
  std::filesystem::file_type type_of(const char* name) const {
    if (path_.empty()) return std::filesystem::file_type::not_found;
    std::error_code error;
    auto type = std::filesystem::status(std::filesystem::path(path_) / name, error).type();
    return type == std::filesystem::file_type::none ? std::filesystem::file_type::not_found : type;
  }

  std::string path_;
};

bool all_empty(const ModelConfig& config) {
  return config.backend().empty() && config.platform().empty() && config.default_model_filename().empty();
}

void default_file(ModelConfig* config, const char* name) {
  if (config->default_model_filename().empty()) config->set_default_model_filename(name);
}

void default_platform(ModelConfig* config, const char* platform) {
  if (config->platform().empty()) config->set_platform(platform);
}

bool derive_tensorflow(const VersionFiles& files, ModelConfig* config) {
  const std::string& name = config->default_model_filename();
  if (config->platform().empty() && (config->backend().empty() || config->backend() == "tensorflow")) {
    bool saved_model = name == "model.savedmodel" || (name.empty() && files.directory("model.savedmodel"));
    bool graph = name == "model.graphdef" || (name.empty() && files.file("model.graphdef"));
    if (graph) {
      config->set_platform("tensorflow_graphdef");
    } else if (saved_model) {
      config->set_platform("tensorflow_savedmodel");
    }
  }
  bool graph = config->platform() == "tensorflow_graphdef";
  if (!graph && config->platform() != "tensorflow_savedmodel") return false;
  if (config->backend().empty()) config->set_backend("tensorflow");
  default_file(config, graph ? "model.graphdef" : "model.savedmodel");
  return true;
}

bool derive_tensorrt(const VersionFiles& files, ModelConfig* config) {
  bool named = config->platform() == "tensorrt_plan" || config->default_model_filename() == "model.plan";
  if (config->backend().empty() && (named || (all_empty(*config) && files.file("model.plan")))) {
    config->set_backend("tensorrt");
  }
  if (config->backend() != "tensorrt") return false;
  default_platform(config, "tensorrt_plan");
  default_file(config, "model.plan");
  return true;
}

bool derive_onnxruntime(const VersionFiles& files, ModelConfig* config) {
  bool named = config->platform() == "onnxruntime_onnx" || config->default_model_filename() == "model.onnx";
  if (config->backend().empty() && (named || (all_empty(*config) && files.exists("model.onnx")))) {
    config->set_backend("onnxruntime");
  }
  if (config->backend() != "onnxruntime") return false;
  default_platform(config, "onnxruntime_onnx");
  default_file(config, "model.onnx");
  return true;
}

/// Names that no other backend's models have come first.
constexpr const char* kOpenVinoFiles[] = {"model.xml",         "model.tflite", "model.pdmodel",
                                          "model.saved_model", "model.onnx",   "model.savedmodel",
                                          "model.graphdef",    "model.pb"};
constexpr size_t kOpenVinosOwn = 4;

bool derive_openvino(const VersionFiles& files, ModelConfig* config) {
  const auto own = std::span(kOpenVinoFiles).first(kOpenVinosOwn);
  const auto is_there = [&](const char* name) { return files.exists(name); };
  const bool named = std::ranges::find(own, std::string_view(config->default_model_filename())) != own.end();
  if (config->backend().empty() && (named || (all_empty(*config) && std::ranges::any_of(own, is_there)))) {
    config->set_backend("openvino");
  }
  if (config->backend() != "openvino") return false;
  const auto found = std::ranges::find_if(kOpenVinoFiles, is_there);
  default_file(config, found == std::end(kOpenVinoFiles) ? "model.xml" : *found);
  return true;
}

bool derive_pytorch(const VersionFiles& files, ModelConfig* config) {
  if (all_empty(*config)) {
    bool script = files.file("model.pt");
    if (script || files.file("model.pt2")) {
      config->set_backend("pytorch");
      config->set_platform(script ? "pytorch_libtorch" : "torch_aoti");
    }
  } else if (config->backend().empty()) {
    const std::string& platform = config->platform();
    const std::string& name = config->default_model_filename();
    bool named = platform == "pytorch_libtorch" || platform == "libtorch" || platform == "torch_aoti" ||
                 name == "model.pt" || name == "model.pt2";
    if (named) config->set_backend("pytorch");
  }
  if (config->backend() != "pytorch") return false;
  if (config->platform().empty()) {
    config->set_platform("pytorch_libtorch");
    default_file(config, "model.pt");
  } else if (config->platform() == "torch_aoti") {
    default_file(config, "model.pt2");
  }
  return true;
}

bool derive_python(const VersionFiles& files, ModelConfig* config) {
  bool named = config->default_model_filename() == "model.py";
  if (config->backend().empty() && (named || (all_empty(*config) && files.exists("model.py")))) {
    config->set_backend("python");
  }
  if (config->backend() != "python") return false;
  default_file(config, "model.py");
  return true;
}

/// The backend finds the file by itself, because such files are mostly served under the names that they came with.
bool derive_llamacpp(const VersionFiles& files, ModelConfig* config) {
  const bool named = config->default_model_filename().ends_with(".gguf");
  if (config->backend().empty() && (named || (all_empty(*config) && files.any_file(".gguf")))) {
    config->set_backend("llamacpp");
  }
  return config->backend() == "llamacpp";
}

/// By which the functions above know a backend.
constexpr std::string_view kKnownFiles[] = {
    "model.onnx", "model.py",         "model.plan",     "model.pt",     "model.pt2",     "model.xml",
    "model.gguf", "model.savedmodel", "model.graphdef", "model.tflite", "model.pdmodel", "model.saved_model"};

std::string known_files() {
  std::string text;
  for (std::string_view name : kKnownFiles) text += cat(text.empty() ? "" : ", ", name);
  return text;
}

bool has_known_ending(const std::filesystem::path& name) {
  return std::ranges::any_of(kKnownFiles, [&](std::string_view known) {
    return std::filesystem::path(known).extension() == name.extension();
  });
}

/// "'net.onnx', 'weights' and 2 more": those first whose ending a backend knows; empty: there is nothing.
/// \param any  others, too
std::string listed(const std::string& directory, bool any) {
  constexpr size_t kShownMax = 3;
  constexpr int kLookedAtMax = 1000;
  std::set<std::string> near, others;
  std::error_code error;
  std::filesystem::directory_iterator entry(directory, error);
  for (int i = 0; !error && entry != std::filesystem::directory_iterator() && i < kLookedAtMax; ++i) {
    const std::filesystem::path name = entry->path().filename();
    const bool is_shown = !name.native().starts_with('.');
    if (is_shown && has_known_ending(name)) near.insert(name);
    if (is_shown && any && !has_known_ending(name)) others.insert(name);
    entry.increment(error);
  }
  std::vector<std::string> names(near.begin(), near.end());
  names.insert(names.end(), others.begin(), others.end());
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShownMax); ++i) {
    text += cat(text.empty() ? "" : ", ", "'", replace_invalid_utf8(names[i]), "'");
  }
  if (names.size() > kShownMax) text += cat(" and ", names.size() - kShownMax, " more");
  return text;
}

/// What the model lacks for its backend to be known by its files. \param path  of the version directory; empty: there is none
std::string what_is_missing(const RepositoryModel& model, const std::string& path) {
  if (path.empty()) {
    const std::string misplaced = listed(model.entry.path, false);
    return cat("The model has no version directory",
               misplaced.empty() ? std::string() : cat(" and ", misplaced, " beside where it should be"),
               ": expected a directory '1' with one of ", known_files());
  }
  const std::string found = listed(path, true);
  return cat("Version directory '", std::filesystem::path(path).filename().native(), "' ",
             found.empty() ? std::string("is empty") : cat("has ", found), ": expected one of ",
             known_files());
}

}  // namespace

Status derive(const RepositoryModel& model, const SourceMap& source, ModelConfig* config) {
  if (config->name().empty()) config->set_name(model.entry.name);
  VersionFiles files(model);
  bool known = derive_tensorflow(files, config) || derive_tensorrt(files, config) ||
               derive_onnxruntime(files, config) || derive_openvino(files, config) ||
               derive_pytorch(files, config) || derive_python(files, config) ||
               derive_llamacpp(files, config);
  if (known || !all_empty(*config)) return {};
  size_t dot = config->name().find('.');
  if (dot == std::string::npos) {
    return source.invalid("backend", "Invalid model name: Could not determine backend for model '",
                          config->name(),
                          "' with no backend in model configuration. Expected model name of the form "
                          "'model.<backend_name>'. ",
                          what_is_missing(model, files.path()));
  }
  config->set_backend(config->name().substr(dot + 1));
  config->set_default_model_filename(cat("model.", config->backend()));
  return {};
}

}  // namespace atl::pbtxt
