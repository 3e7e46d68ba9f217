/// Whether the files and folders that an option names can be used. These functions only look; they
/// open nothing and make nothing, so that a plugin's check of its options (option_check.h) may call
/// them:
///
///     void check_options(OptionCheck& check) {
///       const Options& options = check.options();
///       check.passes("certificate", check_readable_file(options.get_string("certificate")));
///       check.passes("state", check_creatable_folder(options.get_string("state")));
///     }
///
/// `atoll --check` then says, with the place in the manifest: "found 'x', expected a file that can
/// be read: No such file or directory". That is the message of every failure here, as
/// INVALID_ARGUMENT, with the reason of the system's call at the end.
///
/// All functions follow symbolic links, and ask for the rights of the process's effective user.
/// What they say may be out of date when the file is opened, so whoever opens it still handles a
/// failure. They ask the file system and may take as long as it takes, so requests do not call
/// them. [any]
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

/// The one form of all messages.
inline Status refuse(const std::string& path, std::string_view expected, std::string_view why) {
  return invalid_argument("found '", path, "', expected ", expected, ": ", why);
}

/// Symbolic links are followed. The rights are those of the process's effective user.
/// \param access  bits of access(2): R_OK, W_OK, X_OK
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

/// The path leads to a file, not to a folder, and the server may read that file: a certificate, a
/// library, a configuration.
/// Errors: INVALID_ARGUMENT, as for all functions here.
inline Status check_readable_file(const std::string& path) {
  return file_check_detail::check(path, "a file that can be read", false, R_OK);
}
/// The path leads to a file that the server may execute. The folders of PATH are not searched, so
/// "python3" alone means a file of that name in the working folder.
inline Status check_program(const std::string& path) {
  return file_check_detail::check(path, "a program that can be executed", false, X_OK);
}
/// The path leads to a folder. The server may list the folder and reach what is in it.
inline Status check_folder(const std::string& path) {
  return file_check_detail::check(path, "a folder that can be read", true, R_OK | X_OK);
}
/// The path leads to a folder in which the server may make, rename and delete files. Whether the
/// server may list the folder is not asked, because files whose names are known need no list.
inline Status check_writable_folder(const std::string& path) {
  return file_check_detail::check(path, "a folder that can be written", true, W_OK | X_OK);
}
/// For a folder that the plugin will write to, and make if it is missing, together with the missing
/// folders above it. The nearest folder of the path that exists must be writable. A relative path
/// without one counts from the server's working folder.
inline Status check_creatable_folder(const std::string& path) {
  std::string at = path;
  struct stat status {};
  // Goes up from the path to the first folder that exists.
  while (::stat(at.c_str(), &status) != 0 && errno == ENOENT) {
    const size_t slash = at.find_last_of('/', at.find_last_not_of('/'));
    if (slash == std::string::npos) return check_writable_folder(".");
    at = slash == 0 ? "/" : at.substr(0, slash);
  }
  return check_writable_folder(at);
}

/// For a file that the plugin will write to, and make if it is missing, such as a log. Either the
/// file exists and may be written, or its folder passes check_creatable_folder().
inline Status check_creatable_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0)
    return file_check_detail::check(path, "a file that can be written", false, W_OK);
  // A path without a slash is a file of the working folder.
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  return check_creatable_folder(folder);
}

}  // namespace atl
