/// Base64 as JSON web tokens have it (RFC 7515, section 2): '-' and '_' in place of '+' and '/', no padding.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace atl::jwt {

/// \returns nothing: the text has other characters, padding, an impossible length, or bits behind the last
/// byte, so that two texts never stand for the same bytes
std::optional<std::string> decode_base64url(std::string_view text);

}  // namespace atl::jwt
