/// Answers that are compressed.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <span>

#include "frontends/common/call/body_buffer.h"

namespace atl::frontends {

enum class DeflateForm : uint32_t { kZlib, kGzip };

/// Compresses the parts, in order, behind what is in the buffer, at zlib's quickest level.
/// \returns false: there is no memory, or it would be no smaller
bool deflate_message(std::span<const iovec> parts, DeflateForm form, BodyBuffer* to) noexcept;

}  // namespace atl::frontends
