#include "backends/llamacpp/llama_backend.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "atoll/backend/parameters.h"
#include "backends/common/config_view.h"
#include "backends/common/model_file.h"
#include "backends/llamacpp/config_completion.h"
#include "backends/llamacpp/library/llama_library.h"
#include "backends/llamacpp/llama_model.h"

namespace atl::llamacpp {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFileKind = "a GGUF file";
constexpr std::string_view kDefaultFile = "model.gguf";
constexpr std::string_view kProgram = "atoll-llamacpp-probe";
constexpr std::string_view kBaseModel = "base_model";

/// "model.gguf" of "DIR/model.gguf", for all that end so. At most some, because a folder may hold anything.
std::vector<std::string> gguf_files(const std::string& folder) {
  constexpr int kLookedAtMax = 1000;
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (int i = 0; !error && entry != fs::directory_iterator() && i < kLookedAtMax; ++i) {
    if (entry->path().extension() == ".gguf") names.push_back(entry->path().filename().string());
    entry.increment(error);
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// The folder of the highest number; empty: there is none.
fs::path newest_version(const fs::path& model) {
  fs::path newest;
  int64_t highest = 0;
  std::error_code error;
  fs::directory_iterator entry(model, error);
  while (!error && entry != fs::directory_iterator()) {
    const std::string name = entry->path().filename().string();
    int64_t number = 0;
    const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (wrong == std::errc() && end == name.data() + name.size() && number > highest) {
      highest = number;
      newest = entry->path();
    }
    entry.increment(error);
  }
  return newest;
}

}  // namespace

Result<std::string> find_gguf(const std::string& version_directory, const std::string& file_name) noexcept {
  std::string name = file_name;
  std::error_code ignored;
  if (name.empty() && fs::exists(fs::path(version_directory) / kDefaultFile, ignored)) name = kDefaultFile;
  if (name.empty()) {
    const std::vector<std::string> names = gguf_files(version_directory);
    // Of a file in parts llama.cpp wants the first one.
    const auto first = std::find_if(names.begin(), names.end(), [](const std::string& one) {
      return one.find("-00001-of-") != std::string::npos;
    });
    if (names.size() == 1) name = names.front();
    if (names.size() > 1 && first != names.end()) name = *first;
    if (names.size() > 1 && first == names.end()) {
      return invalid_argument("'", version_directory, "' has ", names.size(), " files *.gguf, such as '",
                              names[0], "' and '", names[1],
                              "', expected one, or one that default_model_filename names");
    }
  }
  auto file = backends::find_model_file(version_directory, name.empty() ? std::string(kDefaultFile) : name,
                                        kFileKind);
  if (!file.ok()) return std::move(file).status();
  return std::move(file->path);
}

Result<TriedFiles> find_files(const ModelSource& source, const std::string& file_name) noexcept try {
  Result<std::string> own = find_gguf(source.version_directory, file_name);
  if (!own.ok()) return std::move(own).status();
  const std::optional<std::string_view> told = backends::text_parameter(source.model, kBaseModel);
  const size_t colon = source.name.rfind(':');
  const std::string base(
      told ? *told : std::string_view(source.name).substr(0, colon == std::string::npos ? 0 : colon));
  // The name may come from outside: it is a folder beside, and no other place.
  const bool is_name = !base.empty() && base != "." && base != ".." && base.find('/') == std::string::npos;
  const fs::path models =
      (fs::path(source.model_directory) / "").lexically_normal().parent_path().parent_path();
  const fs::path version = is_name ? newest_version(models / base) : fs::path();
  // A colon alone does not make an adapter.
  if (version.empty() && (!told || base.empty())) return TriedFiles{std::move(own).value(), {}};
  if (version.empty()) {
    return make_status(Code::kNotFound, "model '", source.name, "': parameter 'base_model' is '", base,
                       "', expected a model with a version in '", models.string(), "'");
  }
  Result<std::string> file = find_gguf(version.string(), {});
  if (!file.ok()) return std::move(file).status().note(cat("the base of the adapter '", source.name, "'"));
  return TriedFiles{std::move(file).value(), std::move(own).value()};
} catch (const std::exception& error) {
  return internal_error("model '", source.name, "': ", error.what());
}

Result<GgufFacts> LlamaBackend::facts_of(const TriedFiles& files) noexcept try {
  Result<const LlamaApi*> api = open_llama(settings_.engine_folders);
  if (!api.ok()) return std::move(api).status();
  GgufFacts facts;
  if (settings_.tries_files) {
    const std::string folder = llama_folder();
    Result<GgufFacts> tried = trials_.facts_of({.program = (fs::path(folder) / kProgram).string(),
                                                .engine_folder = folder,
                                                .timeout_ns = settings_.trial_timeout_ns,
                                                .memory_bytes = settings_.trial_memory_bytes},
                                               files);
    if (!tried.ok()) return tried;
    facts = std::move(tried).value();
  } else {
    auto file = LlamaModelFile::load(**api, files.model, {.checks_weights = false, .maps_file = true});
    if (!file.ok()) return std::move(file).status();
    facts = (*file)->facts();
  }
  if (facts.unserved.empty()) return facts;
  return unimplemented("model file '", files.model, "' of architecture '", facts.architecture,
                       "': ", facts.unserved);
} catch (const std::exception& error) {
  return internal_error("model file '", files.subject(), "': ", error.what());
}

Result<std::string> LlamaBackend::complete_config(const ModelSource& source) noexcept {
  auto view = backends::ConfigView::parse(source.config);
  if (!view.ok()) return std::move(view).status();
  inference::ModelConfig config = view->message();
  Result<TriedFiles> files = find_files(source, config.default_model_filename());
  if (!files.ok()) return std::move(files).status();
  Result<GgufFacts> facts = facts_of(*files);
  if (!facts.ok()) return std::move(facts).status();
  Result<Pooling> pooling = pooling_of(source.model, *facts);
  if (!pooling.ok()) return std::move(pooling).status();
  complete_llama_config(config, *facts, *pooling);
  std::string completed;
  {
    google::protobuf::io::StringOutputStream stream(&completed);
    google::protobuf::io::CodedOutputStream coded(&stream);
    // Parameters are a map: without this their order, and so the bytes, would change from call to call.
    coded.SetSerializationDeterministic(true);
    if (!config.SerializeToCodedStream(&coded))
      return internal_error("the completed configuration cannot be written");
  }
  return completed;
}

Result<std::unique_ptr<BackendModel>> LlamaBackend::load(const ModelSource& source) noexcept try {
  Result<TriedFiles> files = find_files(source, source.model.default_model_filename);
  if (!files.ok()) return std::move(files).status();
  Result<GgufFacts> facts = facts_of(*files);
  if (!facts.ok()) return std::move(facts).status();
  Result<LlamaSettings> settings = read_llama_settings(source.model, *facts, settings_.threads);
  if (!settings.ok()) return std::move(settings).status();
  ATOLL_RETURN_IF_ERROR(check_llama_config(source.model, *facts, settings->pooling));
  Result<const LlamaApi*> api = open_llama(settings_.engine_folders);
  if (!api.ok()) return std::move(api).status();
  auto file = files_.get(**api, files->model, settings->maps_file);
  if (!file.ok()) return std::move(file).status();
  LlamaModelParts parts{.clock = host_.clock(),
                        .executors = host_.executors(),
                        .name = source.name,
                        .outputs = source.model.outputs.size(),
                        .settings = *settings,
                        .file = std::move(file).value(),
                        .counts = metrics_.counts_of(source.name, source.version)};
  if (!files->adapter.empty()) {
    Result<GgufIdentity> identity = GgufIdentity::of(files->adapter);
    if (!identity.ok()) return std::move(identity).status();
    auto adapter = LoraAdapter::load(*parts.file, files->adapter);
    if (!adapter.ok()) return std::move(adapter).status();
    parts.adapter = std::move(adapter).value();
    parts.adapter_bytes = identity->size_bytes;
  }
  return std::unique_ptr<BackendModel>(new LlamaModel(std::move(parts)));
} catch (const std::exception& error) {
  return internal_error("model '", source.name, "': ", error.what());
}

}  // namespace atl::llamacpp
