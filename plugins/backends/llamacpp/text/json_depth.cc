#include "backends/llamacpp/text/json_depth.h"

namespace atl::llamacpp {

bool is_too_deep_json(std::string_view json) noexcept {
  size_t depth = 0;
  bool in_text = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_text) {
      if (c == '\\') ++i;
      if (c == '"') in_text = false;
      continue;
    }
    if (c == '"') in_text = true;
    if ((c == '[' || c == '{') && ++depth > kJsonDepthMax) return true;
    // A bracket too many is no JSON, which whoever parses it finds out.
    if ((c == ']' || c == '}') && depth > 0) --depth;
  }
  return false;
}

}  // namespace atl::llamacpp
