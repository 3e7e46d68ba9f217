#include "frontends/common/json/json_writer.h"

#include <simdjson.h>

namespace atl::frontends {

bool is_valid_utf8(std::string_view text) noexcept {
  return text.empty() || simdjson::validate_utf8(text.data(), text.size());
}

}  // namespace atl::frontends
