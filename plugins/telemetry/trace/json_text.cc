#include "telemetry/trace/json_text.h"

#include "atoll/core/utf8.h"

namespace atl::tracing {

void write_text(JsonWriter& json, std::string_view text) {
  std::string valid = replace_invalid_utf8(text);
  json.String(valid.data(), static_cast<rapidjson::SizeType>(valid.size()));
}

}  // namespace atl::tracing
