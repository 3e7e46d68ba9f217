#include "atoll/runtime/plugin_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "atoll/runtime/escape.h"

namespace atl::runtime {
namespace {

constexpr size_t kHintBytesMax = 512;

/// The first line of the file, fit to be printed; empty if there is none. Only regular files are read: others
/// may never end.
std::string hint_in(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return "";
  std::string text(kHintBytesMax, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  text.resize(std::min(text.find('\n'), text.size()));
  text.resize(text.find_last_not_of(" \t\r") + 1);  // npos + 1 is 0
  std::string hint;
  append_escaped(hint, text);
  return hint;
}

}  // namespace

Result<std::string> find_plugin_file(std::string_view use, const std::string& file,
                                     const std::vector<std::string>& search_path) {
  if (!file.empty()) return file;
  if (use.empty() || use.front() == '/' || cat("/", use, "/").find("/../") != std::string::npos ||
      use.find('\0') != std::string_view::npos) {
    return invalid_argument("'", use, "' is not a plugin name, expected role/name");
  }
  std::string searched, hint;
  for (const std::string& folder : search_path) {
    std::string path = cat(folder, "/", use, ".so");
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0) return path;
    if (hint.empty()) hint = hint_in(cat(folder, "/", use, ".missing"));
    searched += cat(searched.empty() ? "" : ", ", folder);
  }
  return not_found("no file ", use, ".so in the plugin path (",
                   searched.empty() ? "which is empty" : searched, ")", hint.empty() ? "" : "; ", hint);
}

}  // namespace atl::runtime
