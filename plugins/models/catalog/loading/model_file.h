/// Files that a configuration names, read so that nothing outside the model directory can be reached.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/core/status.h"

namespace atl::models {

/// A relative path that does not climb above its start.
bool is_inside(std::string_view filename);

/// Reads <directory>/<filename>. No component of the name may be a symbolic link; devices and pipes are
/// refused. [worker]
/// \param what  the subject of error texts: "label file '...'"
/// Errors: NOT_FOUND there is no such file; INVALID_ARGUMENT outside, a link, not a regular file, or larger
/// than size_bytes_max; UNAVAILABLE the system's reason.
Result<std::string> read_model_file(const std::string& directory, std::string_view filename,
                                    uint64_t size_bytes_max, std::string_view what);

}  // namespace atl::models
