/// Writing JSON, with text from anywhere.
#pragma once

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <string_view>

namespace atl::tracing {

using JsonWriter = rapidjson::Writer<rapidjson::StringBuffer>;

/// Writes a string value; bytes that are not UTF-8 become U+FFFD.
void write_text(JsonWriter& json, std::string_view text);
inline void write_key(JsonWriter& json, std::string_view key) {
  json.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
}

}  // namespace atl::tracing
