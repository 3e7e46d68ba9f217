/// The body of an error reply.
#pragma once

#include <string>
#include <string_view>

namespace atl::frontends::http {

/// {"error":"<text>"}. Any text: quotes and control characters are escaped, bytes that are not UTF-8 become
/// U+FFFD, so that the reply is always valid JSON.
std::string error_json(std::string_view text);

}  // namespace atl::frontends::http
