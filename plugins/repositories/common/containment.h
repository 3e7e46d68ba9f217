/// Opens files below a repository without being led out of it.
///
/// Names are resolved with O_PATH, which opens nothing and so never blocks on a FIFO or wakes a device; where
/// the descriptor then really is decides. What is read afterwards is that same file, so that swapping a link
/// between the check and the use gains nothing.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "repositories/common/file_access.h"

namespace atl::filesystem {

/// Something found in a repository: a descriptor opened with O_PATH, and its type.
struct Found {
  FileDescriptor path_fd;
  mode_t mode = 0;
  dev_t device = 0;
  ino_t inode = 0;
};

/// Where links in a repository may lead.
struct LinkRules {
  bool follow_links = false;  ///< anywhere
  std::vector<std::string> linked_paths =
      {};                   ///< into these directories, besides the repository; those that are there
  std::string option = {};  ///< what messages call the option that allows more; empty: there is none
};

/// The root of one repository, open. [any thread; immutable]
class Containment {
 public:
  /// Opens a repository. Errors: as system_failure(); INVALID_ARGUMENT it is no directory.
  static Result<Containment> open(const std::string& path, const LinkRules& links = {});

  int root() const noexcept { return root_.get(); }
  const struct stat& info() const noexcept { return info_; }
  bool follow_links() const noexcept { return follow_links_; }

  /// Resolves `name` (may have several components) relative to an open directory. \param display_path what
  /// messages call it. Errors: NOT_FOUND no such file; INVALID_ARGUMENT a loop of links, or one leads
  /// where links may not; UNAVAILABLE the system's reason.
  Result<Found> find(int directory, const std::string& name, std::string_view display_path) const;

 private:
  FileDescriptor root_;
  struct stat info_ = {};
  std::vector<std::string> real_roots_;  ///< the repository's own, and those that links may lead to
  bool follow_links_ = false;
  std::string option_;
};

}  // namespace atl::filesystem
