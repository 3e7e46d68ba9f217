#include "schedulers/dynamic/custom/strategy_file.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace atl::schedulers {
namespace {

namespace fs = std::filesystem;

constexpr const char* kParameter = "TRITON_BATCH_STRATEGY_PATH";
constexpr const char* kFileName = "batchstrategy.so";

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// With links resolved on both sides.
bool is_inside(const fs::path& path, const fs::path& folder) {
  std::error_code error;
  const fs::path child = fs::canonical(path, error);
  if (error) return false;
  const fs::path parent = fs::canonical(folder, error);
  if (error) return false;
  auto [of_parent, of_child] = std::mismatch(parent.begin(), parent.end(), child.begin(), child.end());
  return of_parent == parent.end() && of_child != child.end();
}

Result<std::string> explicit_file(const std::string& configured, const std::string& model_directory) {
  // As in Triton; a folder with the model's files in it cannot know the server's working directory, though.
  for (const fs::path& path : {fs::path(configured), model_directory / fs::path(configured)}) {
    if (configured.empty() || !is_there(path)) continue;
    if (!is_inside(path, model_directory)) {
      return invalid_argument("Batching library path escapes model repository.");
    }
    return path.string();
  }
  return not_found("Batching library path not found: ", configured);
}

}  // namespace

Result<std::string> find_strategy_file(const SchedulerContext& context, const inference::ModelConfig& config,
                                       std::string_view backend_directory) {
  if (auto found = config.parameters().find(kParameter); found != config.parameters().end()) {
    return explicit_file(found->second.string_value(), context.model_directory);
  }
  const fs::path model(context.model_directory);
  for (const fs::path& folder : {model / cat(context.model_version), model}) {
    if (is_there(folder / kFileName)) return (folder / kFileName).string();
  }
  const std::string& backend = config.backend();
  const bool is_name =
      !backend.empty() && backend != "." && backend != ".." && backend.find('/') == std::string::npos;
  if (backend_directory.empty() || !is_name) return std::string();
  const fs::path shared = fs::path(backend_directory) / backend / kFileName;
  return is_there(shared) ? shared.string() : std::string();
}

}  // namespace atl::schedulers
