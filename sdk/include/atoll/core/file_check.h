/// Whether files and folders that an option names can be used, without touching them: for a plugin's check of
/// its options (option_check.h). What they say may be over when the file is opened.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "atoll/core/status.h"

namespace atl {

namespace file_check_detail {

inline Status refuse(const std::string& path, std::string_view expected, std::string_view why) {
  return invalid_argument("found '", path, "', expected ", expected, ": ", why);
}

inline Status check(const std::string& path, std::string_view expected, bool folder, int access) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return refuse(path, expected, std::strerror(errno));
  if (S_ISDIR(status.st_mode) != folder)
    return refuse(path, expected, folder ? "Not a directory" : "Is a directory");
  if (::faccessat(AT_FDCWD, path.c_str(), access, AT_EACCESS) != 0)
    return refuse(path, expected, std::strerror(errno));
  return {};
}

}  // namespace file_check_detail

/// Errors of all: INVALID_ARGUMENT "found 'x', expected a file that can be read: No such file or directory".
/// [any]
inline Status check_readable_file(const std::string& path) {
  return file_check_detail::check(path, "a file that can be read", false, R_OK);
}
inline Status check_program(const std::string& path) {
  return file_check_detail::check(path, "a program that can be executed", false, X_OK);
}
inline Status check_folder(const std::string& path) {
  return file_check_detail::check(path, "a folder that can be read", true, R_OK | X_OK);
}
inline Status check_writable_folder(const std::string& path) {
  return file_check_detail::check(path, "a folder that can be written", true, W_OK | X_OK);
}
/// A folder that is written, or made where there is none, with those above it.
inline Status check_creatable_folder(const std::string& path) {
  std::string at = path;
  struct stat status {};
  while (::stat(at.c_str(), &status) != 0 && errno == ENOENT) {
    const size_t slash = at.find_last_of('/', at.find_last_not_of('/'));
    if (slash == std::string::npos) return check_writable_folder(".");
    at = slash == 0 ? "/" : at.substr(0, slash);
  }
  return check_writable_folder(at);
}

/// A file that is written, or made where there is none, with the folders above it.
inline Status check_creatable_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0)
    return file_check_detail::check(path, "a file that can be written", false, W_OK);
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  return check_creatable_folder(folder);
}

}  // namespace atl
