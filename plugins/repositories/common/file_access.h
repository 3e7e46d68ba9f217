/// What can be learnt from a file descriptor without ever blocking.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/core/file_descriptor.h"
#include "atoll/core/status.h"

namespace atl::filesystem {

/// "<path>: <the system's words for error_number>", as the failure that fits: NOT_FOUND for a missing file,
/// INVALID_ARGUMENT for a loop of links, else UNAVAILABLE.
Status system_failure(std::string_view path, int error_number);

/// "a directory", "a regular file", "a FIFO", "a socket", "a device", "a link", for messages.
std::string_view file_kind(mode_t mode) noexcept;

/// True for FIFOs, sockets and devices: files whose opening or reading may block, or act on something.
bool is_special(mode_t mode) noexcept;

/// Where an open file really is, all links resolved.
Result<std::string> real_path(int fd);

/// Makes a descriptor that was opened with O_PATH readable. It is the same file even if its name now leads
/// elsewhere. \param flags O_DIRECTORY or 0.
Result<FileDescriptor> reopen_for_reading(int path_fd, int flags, std::string_view display_path);

/// Reads a regular file. Errors: INVALID_ARGUMENT it is no regular file, or longer than bytes_max.
Result<std::string> read_regular_file(int path_fd, uint64_t bytes_max, std::string_view display_path);

}  // namespace atl::filesystem
