/// Binary values inside JSON.
#pragma once

#include <string>
#include <string_view>

namespace atl::frontends::http {

/// White space is skipped, which some clients put in as line breaks, and `=` at the end may be missing.
/// \returns false: the text is not base64; *bytes is then unspecified
bool decode_base64(std::string_view text, std::string* bytes) noexcept;

}  // namespace atl::frontends::http
