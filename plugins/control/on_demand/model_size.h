/// What a model takes on the disk, as a first idea of what it takes in memory.
#pragma once

#include <cstdint>
#include <string>

#include "atoll/models/repository.h"

namespace atl::control {

/// Bytes of the regular files below the model's directory, of the first 10,000 entries; 0: there is none.
/// Links are not followed. [worker]
uint64_t file_bytes(Repository& repository, const std::string& model) noexcept;

}  // namespace atl::control
