/// The file of a plugin: where it is, what it is, and whether the dynamic linker may be let near it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/status.h"

namespace atl::kernel {

/// Tells one build of a plugin from the next one under the same path.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  int64_t size_bytes = 0;
  int64_t modified_ns = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// The path of "role/name": `file` if it is set, else the first ROLE/NAME.so in the search path.
/// Errors: INVALID_ARGUMENT a name that could leave the search path; NOT_FOUND with the folders searched.
Result<std::string> find_plugin_file(std::string_view use, const std::string& file,
                                     const std::vector<std::string>& search_path);

/// Looks at the file without running anything of it and without blocking: a regular file, of this machine,
/// with every loadable segment inside the file. (The dynamic linker maps a truncated file and dies of SIGBUS;
/// a file of another machine it calls missing; opening a FIFO it would wait for ever. All else it reports
/// well itself.) Errors: FAILED_PRECONDITION, or NOT_FOUND, with the path.
Result<FileIdentity> inspect_plugin_file(const std::string& path);

}  // namespace atl::kernel
