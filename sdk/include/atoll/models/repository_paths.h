/// Which repositories there are, changed while the server runs. Service "atoll.repository_paths/1", minor 1,
/// provided by repositories/filesystem; a server may have none. A program that has the server inside uses it
/// through Triton's C API (TRITONSERVER_ServerRegisterModelRepository and ...UnregisterModelRepository).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"

namespace atl {

/// A directory of a repository whose model has another name than the directory.
struct NamedDirectory {
  /// The directory's own name, directly below the repository.
  std::string directory;
  /// The model's name, also where the configuration in the directory says another one.
  std::string model;
};

/// Functions may touch the disk and block [worker]. What is loaded stays loaded, whatever is added or
/// removed.
class RepositoryPaths {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.repository_paths/1";

  /// Adds a repository: from now on its models are listed and opened with the others. A directory in `names`
  /// is not found under its own name, but may have several names. A name that is given to a directory is no
  /// other directory's, in any repository.
  /// Errors: INVALID_ARGUMENT "failed to register '<path>', repository not found", "failed to register
  /// '<path>', there is a conflicting mapping for '<model>'" if two directories are to have this name, a name
  /// or path that cannot be one; ALREADY_EXISTS "model repository '<path>' has already been registered",
  /// "failed to register '<model>', there is a conflicting mapping for '<model>'".
  virtual Status add(std::string_view path, std::span<const NamedDirectory> names) noexcept = 0;
  /// Removes a repository, be it one that was added or one of the options.
  /// Errors: INVALID_ARGUMENT "failed to unregister '<path>', repository not found".
  virtual Status remove(std::string_view path) noexcept = 0;

  // --- since minor 1 ---
  /// The repositories that there are now, as RepositoryEntry::repository names them. [any]
  virtual std::vector<std::string> paths() const noexcept { return {}; }

 protected:
  ~RepositoryPaths() = default;
};

}  // namespace atl
