#include "json_text.h"

#include <algorithm>
#include <cstdint>

namespace atl::tracing {
namespace {

bool is_continuation(char c) noexcept { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; }

/// Bytes of the character that the text begins with; 0: none.
size_t character_size(std::string_view text) noexcept {
  auto first = static_cast<uint8_t>(text[0]);
  if (first < 0x80) return 1;
  size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return 0;
  if (!std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(size), is_continuation))
    return 0;
  auto second = static_cast<uint8_t>(text[1]);
  bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  bool outside = (first == 0xED && second > 0x9F) || (first == 0xF4 && second > 0x8F);
  return overlong || outside ? 0 : size;
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    size_t size = character_size(text);
    if (size == 0) {
      valid += "\xEF\xBF\xBD";
      size = 1;
    } else {
      valid += text.substr(0, size);
    }
    text.remove_prefix(size);
  }
  return valid;
}

void write_text(JsonWriter& json, std::string_view text) {
  std::string valid = valid_utf8(text);
  json.String(valid.data(), static_cast<rapidjson::SizeType>(valid.size()));
}

}  // namespace atl::tracing
