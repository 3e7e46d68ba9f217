#include "telemetry/trace/json_text.h"

#include "atoll/utf8.h"

namespace atl::tracing {

std::string valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    size_t size = utf8_sequence_length(text);
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
