/// Files and locks of the cache's folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "atoll/core/file_descriptor.h"
#include "atoll/core/status.h"

namespace atl::s3 {

/// UNAVAILABLE "<path>: <errno's reason>".
Status disk_failure(const std::string& path);
/// Folders of the path that are not there. Errors: disk_failure().
Status make_folders(const std::string& path);
/// A file to lock, made where it is not there, and never one that is removed already.
/// \param operation  of flock(2) \returns without a descriptor: somebody else has it, and LOCK_NB was said
/// Errors: disk_failure().
Result<FileDescriptor> lock_file(const std::string& path, int operation);

/// What takes room, or stands for what does.
struct CacheEntry {
  enum class Kind : uint8_t { kObject, kPart, kModel };
  Kind kind = Kind::kObject;
  std::string path;
  uint64_t bytes = 0;   ///< of a part what it is to have; of a model 0, because they are its objects'
  int64_t used_ns = 0;  ///< since the epoch
  uint64_t links = 0;   ///< of an object
};
/// Errors: disk_failure().
Result<std::vector<CacheEntry>> list_cache(const std::string& root);
/// Removes an entry unless it is in use. \returns whether it is gone
bool remove_entry(const CacheEntry& entry);

}  // namespace atl::s3
