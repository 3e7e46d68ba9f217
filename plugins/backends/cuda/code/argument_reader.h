/// Arguments and buffers as pipeline.toml writes them: "in:IMAGE", "i32:B * 2". Private to this folder.
#pragma once

#include <string>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/models/model_description.h"
#include "backends/cuda/pipeline/pipeline.h"

namespace atl::cuda_backend {

/// Whether the value is one of the type's. \param what  for the message, "grid[0]"
Status check_range(std::string_view what, int64_t value, int64_t least, int64_t most);
/// The same for an integer argument; u64 is from 0 to 2^63 - 1, as expressions count.
Status check_fits(std::string_view what, int64_t value, ScalarType type);

/// "out:SCORES", "scratch:x", "constant:w", "in:IMAGE". \param writes  inputs and constants are refused
/// Errors: INVALID_ARGUMENT what was found and expected.
Result<BufferRef> read_buffer(std::string_view text, const Pipeline& pipeline, bool writes);

/// All that read_buffer() takes, "null", numbers with their type, and "param:[TYPE:]NAME", by default f32.
Result<Argument> read_argument(const std::string& text, const Pipeline& pipeline,
                               const ModelDescription& model);

}  // namespace atl::cuda_backend
