/// RapidJSON's writer over our memory, and texts that may hold any bytes.
#pragma once

#include <rapidjson/writer.h>

#include <string>
#include <string_view>

#include "atoll/core/utf8.h"
#include "atoll/lib/checked_json.h"
#include "frontends/common/json/json_output.h"

namespace atl::frontends {

/// Writes NaN, Infinity and -Infinity as such, as clients of this protocol expect.
using JsonWriter = rapidjson::Writer<JsonOutput, rapidjson::UTF8<>, rapidjson::UTF8<>, CheckedAllocator,
                                     rapidjson::kWriteNanAndInfFlag>;

bool is_valid_utf8(std::string_view text) noexcept;

/// As JSON string; bytes that are not UTF-8 become U+FFFD.
inline void write_text(JsonWriter& writer, std::string_view text) {
  if (is_valid_utf8(text)) {
    writer.String(text.data() == nullptr ? "" : text.data(), static_cast<rapidjson::SizeType>(text.size()));
  } else {
    const std::string replaced = replace_invalid_utf8(text);
    writer.String(replaced.data(), static_cast<rapidjson::SizeType>(replaced.size()));
  }
}

}  // namespace atl::frontends
