/// The files of some folders, in memory, each under the path by which clients ask for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "atoll/core/status.h"

namespace atl::frontends::static_files {

struct StaticFile {
  std::string content;
  std::string_view content_type;  ///< a literal of this plugin
  std::string entity_tag;         ///< of the content, with its quotes
};

/// Does not change once it is read, so that a half-written file is never served and no request waits for a disk. [any]
class FileSet {
 public:
  /// Reads all files of the folders and of the folders in them. Links are not followed, and names that begin with a dot are
  /// left out.
  /// \param folders  by the path that stands for them, as "/chat/"
  /// \param limit_bytes  of all contents together
  /// Errors: INVALID_ARGUMENT a path does not begin and end with '/', or a folder cannot be read; RESOURCE_EXHAUSTED the
  /// files are larger than the limit, or more than 10,000.
  static Result<FileSet> read(const std::map<std::string, std::string>& folders, uint64_t limit_bytes);

  /// \param path  without percent codes. One that ends with '/' stands for the index.html there. Null: there is no such file
  const StaticFile* find(std::string_view path) const;
  size_t size() const noexcept { return files_.size(); }

 private:
  std::map<std::string, StaticFile, std::less<>> files_;
};

}  // namespace atl::frontends::static_files
