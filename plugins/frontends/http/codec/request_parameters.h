/// What the infer and the generate request have in common: names, ids and parameters into a request.
#pragma once

#include <cstddef>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/request/request.h"
#include "frontends/common/codec/v2_infer_request.h"
#include "frontends/http/codec/json_document.h"

namespace atl::frontends::http {

/// Checks a text that others will hold as a C string and copies it into the arena.
/// \param what  "the name of an input"
/// Errors: INVALID_ARGUMENT more than max_bytes; a NUL character.
Status copy_name(std::string_view what, std::string_view text, size_t max_bytes, Arena& arena,
                 std::string_view* out) noexcept;

/// The member `id` of a request. Errors: INVALID_ARGUMENT no text, more than kMaxIdBytes, a NUL character.
Status set_request_id(JsonElement value, Request& request) noexcept;

/// Adds a parameter of the client's own: text, integer, bool or any other number.
/// Errors: INVALID_ARGUMENT another type; the key is there already, too long or holds a NUL character; more
/// than kMaxParameters.
Status add_request_parameter(std::string_view key, JsonElement value, const JsonDocument& document,
                             Request& request) noexcept;

}  // namespace atl::frontends::http
