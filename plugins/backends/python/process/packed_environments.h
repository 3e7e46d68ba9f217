/// Python environments that models bring packed: EXECUTION_ENV_PATH with the name of an archive.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/lib/scratch_folder.h"

namespace atl::python {

/// Archives are unpacked into folders of their own, which are there until the end. [any]
class PackedEnvironments {
 public:
  /// Whether the path is that of an archive, by its name.
  static bool is_packed(std::string_view path) noexcept;
  /// The folder that the archive is unpacked in; once for each path, time and size of it. Others wait meanwhile.
  /// Errors: NOT_FOUND there is no such file; UNAVAILABLE it cannot be unpacked.
  Result<std::string> unpack(const std::string& path);

 private:
  std::mutex mutex_;
  std::map<std::string, ScratchFolder> folders_;  ///< by path, time and size
};

}  // namespace atl::python
