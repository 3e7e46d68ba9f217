#include "backends/python/model/backend_scripts.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "model_config.pb.h"

namespace atl::python {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kProgram = "model.py";
/// The packed environment that Triton takes for all models of such a backend.
constexpr std::string_view kEnvironment = "pb_exec_env_model.py.tar.gz";

bool is_regular(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool is_folder_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos;
}

}  // namespace

void BackendScripts::check(Log& log) const {
  for (const std::string& directory : directories_) {
    if (!is_folder(directory)) log.warning("option 'directories': '", directory, "' is no directory");
  }
}

std::optional<std::string> BackendScripts::library_of(const ModelSource& source,
                                                      const std::string& backend) const {
  std::vector<std::string> folders = {source.version_directory, source.model_directory};
  for (const std::string& directory : directories_) folders.push_back(cat(directory, "/", backend));
  for (const std::string& folder : folders) {
    std::string library = cat(folder, "/libtriton_", backend, ".so");
    if (is_regular(library)) return library;
  }
  return std::nullopt;
}

Result<std::optional<BackendScript>> BackendScripts::find(const ModelSource& source) const {
  const std::optional<BackendScript> none;
  if (directories_.empty()) return none;
  inference::ModelConfig config;
  if (!config.ParseFromString(source.config)) {
    return internal_error("the configuration of model '", source.name, "' cannot be parsed");
  }
  const std::string& backend = config.backend();
  if (backend == own_name_ || !is_folder_name(backend)) return none;
  const bool is_named = config.runtime() == kProgram;
  if (!is_named && !config.runtime().empty()) return none;
  if (const auto library = is_named ? std::nullopt : library_of(source, backend); library) {
    return unimplemented("backend '", backend, "' is a shared object, '", *library,
                         "', which takes an instance of backends/triton in the manifest");
  }
  std::string bare;
  for (const std::string& directory : directories_) {
    BackendScript script;
    script.folder = cat(directory, "/", backend);
    script.file = cat(script.folder, "/", kProgram);
    if (is_regular(script.file)) {
      std::string environment = cat(script.folder, "/", kEnvironment);
      if (is_regular(environment)) script.environment = std::move(environment);
      return std::optional(std::move(script));
    }
    if (bare.empty() && is_folder(script.folder)) bare = script.folder;
  }
  if (bare.empty()) return none;
  return not_found("backend '", backend, "': '", bare, "' has neither model.py nor libtriton_", backend,
                   ".so");
}

}  // namespace atl::python
