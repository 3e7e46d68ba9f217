/// An answer as a cache library keeps it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "caches/common/answer_message.h"

namespace atl::caches {

/// A message (answer_message.h) and then 16 bytes by which it is found out if it is another key's, or not whole.
/// Nothing: as of write_answer(). Throws std::bad_alloc.
std::optional<std::string> pack_answer(const Response& response, const ModelInfo& model, std::string_view key,
                                       uint64_t bytes_max);

/// Errors: INVALID_ARGUMENT what is wrong. Throws std::bad_alloc.
Result<ReadAnswer> unpack_answer(std::string_view bytes, const Request& request, std::string_view key);

}  // namespace atl::caches
