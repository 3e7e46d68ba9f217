/// Where the plugin that includes this lies. What an engine needs lies beside the folder of the plugins, wherever that is.
#pragma once

#include <dlfcn.h>

#include <filesystem>
#include <system_error>

namespace atl::backends {

/// The absolute path of the shared object that this code was linked into; links are not resolved. Empty: the loader does not know.
inline std::filesystem::path own_file() {
  static const char here = 0;  // a symbol of each plugin's own, as plugins export none but their descriptor
  Dl_info info;
  if (::dladdr(&here, &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code ignored;
  return std::filesystem::absolute(info.dli_fname, ignored).lexically_normal();
}

}  // namespace atl::backends
