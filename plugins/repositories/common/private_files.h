/// Writes files that a client named into a directory, and nothing anywhere else.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/models/repository.h"

namespace atl::filesystem {

/// Most files of one model, deepest nesting and longest path.
inline constexpr size_t kPrivateFilesMax = 10'000;
inline constexpr size_t kPrivateDepthMax = 32;
inline constexpr size_t kPrivatePathBytesMax = 4095;

/// Writes every file below a directory that is empty and that nobody else writes to. All paths are checked
/// before the first one is written; no link is followed. \param directory  open for reading
/// Errors: INVALID_ARGUMENT a path that is none of a file below the directory, or two that exclude each
/// other; UNAVAILABLE the system's reason, with some of the files written.
Status write_private_files(int directory, const std::vector<RepositoryFile>& files);

}  // namespace atl::filesystem
