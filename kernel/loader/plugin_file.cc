#include "kernel/loader/plugin_file.h"

#include <sys/stat.h>

namespace atl::kernel {

Result<std::string> find_plugin_file(std::string_view use, const std::string& file,
                                     const std::vector<std::string>& search_path) {
  if (!file.empty()) return file;
  if (use.empty() || use.front() == '/' || cat("/", use, "/").find("/../") != std::string::npos ||
      use.find('\0') != std::string_view::npos) {
    return invalid_argument("'", use, "' is not a plugin name, expected role/name");
  }
  std::string searched;
  for (const std::string& folder : search_path) {
    std::string path = cat(folder, "/", use, ".so");
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0) return path;
    searched += cat(searched.empty() ? "" : ", ", folder);
  }
  return not_found("no file ", use, ".so in the plugin path (",
                   searched.empty() ? "which is empty" : searched, ")");
}

}  // namespace atl::kernel
