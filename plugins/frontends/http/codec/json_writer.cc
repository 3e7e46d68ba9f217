#include "frontends/http/codec/json_writer.h"

#include <simdjson.h>

namespace atl::frontends::http {
namespace {

/// Bytes of the character that starts the text if it is well formed, else 0.
size_t character_size(std::string_view text) noexcept {
  for (size_t size = 1; size <= 4 && size <= text.size(); ++size) {
    if (simdjson::validate_utf8(text.data(), size)) return size;
  }
  return 0;
}

}  // namespace

bool is_valid_utf8(std::string_view text) noexcept {
  return text.empty() || simdjson::validate_utf8(text.data(), text.size());
}

std::string replace_invalid_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t size = character_size(text);
    if (size == 0) {
      out += "\xEF\xBF\xBD";
    } else {
      out.append(text.substr(0, size));
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return out;
}

}  // namespace atl::frontends::http
