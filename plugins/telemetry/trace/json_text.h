/// Writing JSON, with text from anywhere.
#pragma once

#include <string_view>

#include "atoll/lib/checked_json.h"

namespace atl::tracing {

using JsonWriter = CheckedWriter;

/// Writes a string value; bytes that are not UTF-8 become U+FFFD.
void write_text(JsonWriter& json, std::string_view text);
inline void write_key(JsonWriter& json, std::string_view key) {
  json.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
}

}  // namespace atl::tracing
