/// Writing JSON, with text from anywhere.
#pragma once

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <string>
#include <string_view>

namespace atl::tracing {

using JsonWriter = rapidjson::Writer<rapidjson::StringBuffer>;

/// The text, with U+FFFD for each byte that is not part of a UTF-8 character.
std::string valid_utf8(std::string_view text);

/// Writes a string value that is valid JSON whatever the text is.
void write_text(JsonWriter& json, std::string_view text);
inline void write_key(JsonWriter& json, std::string_view key) {
  json.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
}

}  // namespace atl::tracing
