/// The JSON object that is the body of a management call.
#pragma once

#include <string_view>

#include "atoll/core/status.h"
#include "frontends/http/codec/json_document.h"
#include "frontends/http/codec/json_values.h"

namespace atl::frontends::http {

/// One call's. What is read from it is valid as long as it lives.
class JsonBody {
 public:
  /// Errors: INVALID_ARGUMENT no JSON, no object, a member twice.
  Status parse(std::string_view text) noexcept;
  /// The same, and no text at all is an object without members.
  Status parse_optional(std::string_view text) noexcept;
  JsonObject object() const noexcept { return object_; }

 private:
  JsonDocument document_;
  JsonObject object_;
};

/// Refuses an object that has a member twice. Errors: INVALID_ARGUMENT.
Status check_members(JsonObject object) noexcept;

/// A member of an object that check_members() has passed. \returns false: there is none.
bool find_member(JsonObject object, std::string_view name, JsonElement* value) noexcept;

}  // namespace atl::frontends::http
