/// Files that are renamed when they are full: FILE to FILE.1, that one to FILE.2, and so on.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string>

#include "atoll/core/text.h"

namespace atl::telemetry {

/// Makes the path free for a new file. \param kept  how many old ones stay beside it; 0: the file itself is removed
/// \returns null; or what could not be done to a file, "renamed" or "removed", and errno says why
inline const char* move_old_files(const std::string& path, int64_t kept) {
  for (int64_t number = kept; number > 0; --number) {
    const std::string newer = number == 1 ? path : cat(path, ".", number - 1);
    if (std::rename(newer.c_str(), cat(path, ".", number).c_str()) != 0 && errno != ENOENT) return "renamed";
  }
  if (kept == 0 && ::unlink(path.c_str()) != 0 && errno != ENOENT) return "removed";
  return nullptr;
}

/// Whether the path still leads to the file that is open.
inline bool is_at(int file, const std::string& path) noexcept {
  struct stat mine {
  }, there{};
  return ::fstat(file, &mine) == 0 && ::stat(path.c_str(), &there) == 0 && there.st_ino == mine.st_ino &&
         there.st_dev == mine.st_dev;
}

}  // namespace atl::telemetry
