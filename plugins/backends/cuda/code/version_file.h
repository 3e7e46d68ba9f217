/// Files of a model version's directory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/core/status.h"

namespace atl::cuda_backend {

struct VersionFile {
  std::string path;
  uint64_t size_bytes = 0;
};

/// Whether something of this name may be one of the directory's files: a relative path that does not lead out of it.
bool stays_inside(std::string_view name) noexcept;

/// Looks for a regular file that is not empty. \param name  relative to the directory
/// Errors: NOT_FOUND nothing is there; INVALID_ARGUMENT the name leads out of the directory, or what is there is empty or
/// no regular file; INTERNAL it cannot be looked at.
Result<VersionFile> find_version_file(const std::string& version_directory, const std::string& name) noexcept;

/// Reads all of a file. Errors: as find_version_file(); INVALID_ARGUMENT it is larger.
Result<std::string> read_version_file(const std::string& version_directory, const std::string& name,
                                      uint64_t most_bytes) noexcept;

}  // namespace atl::cuda_backend
