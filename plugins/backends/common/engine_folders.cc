#include "backends/common/engine_folders.h"

#include <filesystem>
#include <system_error>
#include <utility>

namespace atl::backends {

namespace fs = std::filesystem;

std::vector<std::string> engine_folders(std::string_view name, const std::string& own_file) {
  const auto engine_of = [&](const fs::path& atoll) {
    return (atoll / "engines" / name).lexically_normal().string();
  };
  std::vector<std::string> folders;
  const fs::path role = fs::path(own_file).parent_path();
  if (!own_file.empty()) folders.push_back(engine_of(role.parent_path().parent_path()));
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  std::string other = engine_of(program.parent_path().parent_path() / "lib" / "atoll");
  if (!error && (folders.empty() || other != folders.front())) folders.push_back(std::move(other));
  return folders;
}

}  // namespace atl::backends
