/// Looks through a model directory: for files that must not be opened by whoever loads the model, and for
/// what tells that something changed.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "atoll/core/status.h"
#include "repositories/common/containment.h"

namespace atl::filesystem {

/// Deepest nesting of directories in a model directory.
inline constexpr uint32_t kScanDepthMax = 32;

/// Told of every file, directory and link below a model directory, once; of a link also what it leads to.
/// \param path  below the model directory: "1/model.onnx"
using OnEntry = std::function<void(std::string_view path, const struct stat& info)>;

/// Checks every file below `model`. Links that stay in the repository are followed, each directory once;
/// links out of it are errors, or, where the repository follows links, looked at but not entered.
/// \param files_max  bounds the entries looked at
/// \param on_entry   may be empty, which saves looking at regular files
/// Errors: INVALID_ARGUMENT a FIFO, socket or device; a link that leads out of the repository or in a circle;
/// nesting beyond kScanDepthMax; more than files_max entries. UNAVAILABLE the system's reason.
Status scan_model_directory(const Containment& repository, const Found& model,
                            const std::string& display_path, uint64_t files_max,
                            const OnEntry& on_entry = {});

}  // namespace atl::filesystem
