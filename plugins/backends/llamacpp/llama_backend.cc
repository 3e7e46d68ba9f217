#include "backends/llamacpp/llama_backend.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <system_error>
#include <utility>

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

Result<GgufFacts> LlamaBackend::facts_of(const std::string& path) noexcept try {
  Result<const LlamaApi*> api = open_llama(settings_.engine_folders);
  if (!api.ok()) return std::move(api).status();
  GgufFacts facts;
  if (settings_.tries_files) {
    const std::string folder = llama_folder();
    Result<GgufFacts> tried = trials_.facts_of({.program = (fs::path(folder) / kProgram).string(),
                                                .engine_folder = folder,
                                                .timeout_ns = settings_.trial_timeout_ns,
                                                .memory_bytes = settings_.trial_memory_bytes},
                                               path);
    if (!tried.ok()) return tried;
    facts = std::move(tried).value();
  } else {
    auto file = LlamaModelFile::load(**api, path, {.checks_weights = false, .maps_file = true});
    if (!file.ok()) return std::move(file).status();
    facts = (*file)->facts();
  }
  if (facts.unserved.empty()) return facts;
  return unimplemented("model file '", path, "' of architecture '", facts.architecture,
                       "': ", facts.unserved);
} catch (const std::exception& error) {
  return internal_error("model file '", path, "': ", error.what());
}

Result<std::string> LlamaBackend::complete_config(const ModelSource& source) noexcept {
  auto view = backends::ConfigView::parse(source.config);
  if (!view.ok()) return std::move(view).status();
  inference::ModelConfig config = view->message();
  Result<std::string> path = find_gguf(source.version_directory, config.default_model_filename());
  if (!path.ok()) return std::move(path).status();
  Result<GgufFacts> facts = facts_of(*path);
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
  Result<std::string> path = find_gguf(source.version_directory, source.model.default_model_filename);
  if (!path.ok()) return std::move(path).status();
  Result<GgufFacts> facts = facts_of(*path);
  if (!facts.ok()) return std::move(facts).status();
  Result<LlamaSettings> settings = read_llama_settings(source.model, *facts, settings_.threads);
  if (!settings.ok()) return std::move(settings).status();
  ATOLL_RETURN_IF_ERROR(check_llama_config(source.model, *facts, settings->pooling));
  Result<const LlamaApi*> api = open_llama(settings_.engine_folders);
  if (!api.ok()) return std::move(api).status();
  Result<GgufIdentity> before = GgufIdentity::of(*path);
  if (!before.ok()) return std::move(before).status();
  auto file = LlamaModelFile::load(**api, *path, {.checks_weights = false, .maps_file = settings->maps_file});
  if (!file.ok()) return std::move(file).status();
  LlamaModelParts parts{.clock = host_.clock(),
                        .executors = host_.executors(),
                        .name = source.name,
                        .outputs = source.model.outputs.size(),
                        .settings = *settings,
                        .file = std::move(file).value(),
                        .counts = metrics_.counts_of(source.name, source.version)};
  return std::unique_ptr<BackendModel>(new LlamaModel(std::move(parts)));
} catch (const std::exception& error) {
  return internal_error("model '", source.name, "': ", error.what());
}

}  // namespace atl::llamacpp
