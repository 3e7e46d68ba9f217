/// Looks through a model directory for files that must not be opened by whoever loads the model.
#pragma once

#include <cstdint>
#include <string>

#include "atoll/status.h"
#include "containment.h"

namespace atl::filesystem {

/// Deepest nesting of directories in a model directory.
inline constexpr uint32_t kScanDepthMax = 32;

/// Checks every file below `model`. Links that stay in the repository are followed, each directory once;
/// links out of it are errors, or, where the repository follows links, looked at but not entered.
/// \param files_max bounds the entries looked at.
/// Errors: INVALID_ARGUMENT a FIFO, socket or device; a link that leads out of the repository or in a circle;
/// nesting beyond kScanDepthMax; more than files_max entries. UNAVAILABLE the system's reason.
Status scan_model_directory(const Containment& repository, const Found& model,
                            const std::string& display_path, uint64_t files_max);

}  // namespace atl::filesystem
