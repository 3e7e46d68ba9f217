/// Label files: the texts of a classification output, one a line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"

namespace atl::models {

inline constexpr uint64_t kLabelFileBytesMax = 16ull << 20;

/// Reads <model_directory>/<filename>. No component may be a symbolic link, so what is read lies inside the
/// directory; devices and pipes are refused. [worker]
/// Errors: UNIMPLEMENTED the path leaves the directory; NOT_FOUND there is no such file; INVALID_ARGUMENT not
/// a regular file, a link, or larger than kLabelFileBytesMax; UNAVAILABLE the system's reason.
Result<std::vector<std::string>> read_label_file(const std::string& model_directory,
                                                 const std::string& filename, std::string_view output,
                                                 std::string_view model);

}  // namespace atl::models
