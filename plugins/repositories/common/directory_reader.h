/// Reads the entries of a directory.
#pragma once

#include <dirent.h>

#include <memory>
#include <string>
#include <string_view>

#include "atoll/core/status.h"
#include "repositories/common/file_access.h"

namespace atl::filesystem {

/// One pass over a directory. One thread at a time.
class DirectoryReader {
 public:
  struct Entry {
    std::string_view name;            ///< valid until the next call of next()
    unsigned char type = DT_UNKNOWN;  ///< DT_DIR, DT_REG, DT_LNK, ...; never DT_UNKNOWN unless stat failed
  };

  /// \param path_fd opened with O_PATH; not kept.
  static Result<DirectoryReader> open(int path_fd, std::string_view display_path);

  /// The next entry other than "." and ".."; false at the end. Errors: UNAVAILABLE the system's reason.
  Result<bool> next(Entry* entry);
  int fd() const noexcept { return ::dirfd(stream_.get()); }

 private:
  struct Closer {
    void operator()(DIR* stream) const noexcept { ::closedir(stream); }
  };
  std::unique_ptr<DIR, Closer> stream_;
  std::string display_path_;
};

}  // namespace atl::filesystem
