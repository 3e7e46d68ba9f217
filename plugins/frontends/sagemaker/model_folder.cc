#include "frontends/sagemaker/model_folder.h"

#include <algorithm>
#include <fstream>

#include "atoll/core/text.h"

namespace atl::frontends::sagemaker {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfig = "config.pbtxt";
/// Of a configuration, which is read for one word only.
constexpr size_t kConfigBytesMax = size_t{1} << 20;

bool is_below(const fs::path& path, const fs::path& root) {
  const auto [at, _] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  return at == root.end() && path != root;
}

/// Whether the configuration says so by its platform or by its scheduling.
bool is_ensemble(const fs::path& folder) {
  std::ifstream file(folder / kConfig, std::ios::binary);
  std::string text(kConfigBytesMax, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(0, file.gcount())));
  return text.find("ensemble_scheduling") != std::string::npos ||
         text.find("\"ensemble\"") != std::string::npos || text.find("'ensemble'") != std::string::npos;
}

}  // namespace

std::vector<std::string> folders_in(const fs::path& folder, std::error_code& error) {
  std::vector<std::string> names;
  for (auto entry = fs::directory_iterator(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_directory(ignored)) names.push_back(entry->path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<ModelFolder> find_model_folder(const std::string& url, const fs::path& root) {
  std::error_code error;
  const fs::path top = fs::canonical(root, error);
  if (error)
    return invalid_argument("the option models_directory names '", root.string(), "': ", error.message());
  const fs::path folder = fs::canonical(url, error);
  if (error) return invalid_argument("url '", url, "': ", error.message());
  if (!is_below(folder, top))
    return invalid_argument("url '", url, "' does not lie below '", top.string(), "'");
  if (!fs::is_directory(folder, error)) return invalid_argument("url '", url, "' is no folder");
  if (fs::exists(folder / kConfig, error)) return ModelFolder{folder.parent_path(), folder.filename()};
  const std::vector<std::string> names = folders_in(folder, error);
  if (error) return invalid_argument("url '", url, "': ", error.message());
  if (names.empty())
    return invalid_argument("url '", url, "' has neither a config.pbtxt nor a folder with a model");
  if (names.size() == 1) return ModelFolder{folder, names.front()};
  std::vector<std::string> ensembles;
  for (const std::string& name : names) {
    if (is_ensemble(folder / name)) ensembles.push_back(name);
  }
  if (ensembles.size() == 1) return ModelFolder{folder, ensembles.front()};
  return invalid_argument("url '", url, "' has ", names.size(), " folders, of which ", ensembles.size(),
                          " are ensembles, expected one folder or one ensemble");
}

}  // namespace atl::frontends::sagemaker
