#include "security/common/identity_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "atoll/core/file_descriptor.h"

namespace atl::security {

Result<std::string> read_identity_file(const IdentityFile& identities) noexcept {
  const auto& [path, what, most_bytes, is_private] = identities;
  // A pipe must not be waited for.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info {};
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0)
    return invalid_argument("the ", what, " '", path, "' cannot be read: ", std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return invalid_argument("'", path, "' is no ", what, ", but something else");
  if (is_private && (info.st_mode & S_IRWXO) != 0) {
    return invalid_argument("the ", what, " '", path,
                            "' is open to all users of this machine, expected mode 0600 or 0640");
  }
  if (is_private && (info.st_mode & S_IWGRP) != 0) {
    return invalid_argument("the ", what, " '", path,
                            "' may be written by its group, expected mode 0600 or 0640");
  }
  if (info.st_size > most_bytes)
    return invalid_argument("the ", what, " '", path, "' has ", info.st_size, " bytes, expected at most ",
                            most_bytes);
  std::string text(static_cast<size_t>(info.st_size), '\0');
  size_t got = 0;
  while (got < text.size()) {
    const ssize_t count = ::read(file.get(), text.data() + got, text.size() - got);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      return invalid_argument("the ", what, " '", path, "' cannot be read: ", std::strerror(errno));
    if (count == 0) break;
    got += static_cast<size_t>(count);
  }
  text.resize(got);
  return text;
}

}  // namespace atl::security
