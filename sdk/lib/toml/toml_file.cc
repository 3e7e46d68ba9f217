#include <cerrno>
#include <cstring>
#include <fstream>

#include "atoll/lib/toml.h"

namespace atl::lib {

Result<std::string> read_toml_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(kTomlBytesMax + 1, '\0');
  if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) {
    const char* reason = errno != 0 ? std::strerror(errno) : "unknown error";
    return make_status(errno == ENOENT ? Code::kNotFound : Code::kInvalidArgument, path,
                       ": cannot be read: ", reason);
  }
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

}  // namespace atl::lib
