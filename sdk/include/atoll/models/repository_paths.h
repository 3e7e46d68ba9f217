/// Which repositories there are, changed while the server runs. Service "atoll.repository_paths/1", minor 1, provided by
/// repository plugins that can; a server may have none.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"

namespace atl {

/// A directory of a repository whose model has another name.
struct NamedDirectory {
  std::string directory;
  std::string model;  ///< also where the configuration says another one
};

/// [worker] May touch the disk. What is loaded stays loaded, whatever is added or removed.
class RepositoryPaths {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.repository_paths/1";

  /// From now on the repository's models are listed and opened with the others. A directory that is named is not found
  /// under its own name, but may have several; a name that is given so is no other directory's, in any repository.
  /// Errors: INVALID_ARGUMENT "failed to register '<path>', repository not found", "failed to register '<path>', there is
  /// a conflicting mapping for '<model>'" that two directories are to have, a name or path that cannot be meant;
  /// ALREADY_EXISTS "model repository '<path>' has already been registered", "failed to register '<model>', there is a
  /// conflicting mapping for '<model>'".
  virtual Status add(std::string_view path, std::span<const NamedDirectory> names) noexcept = 0;
  /// The opposite; those of the start, too. Errors: INVALID_ARGUMENT "failed to unregister '<path>', repository not found".
  virtual Status remove(std::string_view path) noexcept = 0;

  // --- since minor 1 ---
  /// Those there are now, as RepositoryEntry::repository names them. [any]
  virtual std::vector<std::string> paths() const noexcept { return {}; }

 protected:
  ~RepositoryPaths() = default;
};

}  // namespace atl
