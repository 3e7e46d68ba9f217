/// Values of a JSON document as typed C++ values, with the texts that clients know for wrong types.
///
/// All functions fail with INVALID_ARGUMENT and leave the result alone then. `name` is what the text calls
/// the value: "Unable to parse 'shape': attempt to access JSON non-array as array".
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "atoll/core/status.h"
#include "frontends/http/codec/json_document.h"

namespace atl::frontends::http {

enum class JsonKind : uint32_t { kBool, kInt, kUint, kNumber, kString, kArray, kObject };

/// "attempt to access JSON non-string as string"; the whole text where the protocol has no prefix.
std::string_view wrong_kind_text(JsonKind wanted) noexcept;
/// "Unable to parse '<name>': attempt to access JSON non-string as string"
Status wrong_kind(std::string_view name, JsonKind wanted) noexcept;
/// "Unable to parse '<name>': attempt to access non-existing object member '<name>'"
Status missing_member(std::string_view name) noexcept;

Status read_bool(std::string_view name, JsonElement value, bool* out) noexcept;
Status read_uint(std::string_view name, JsonElement value, uint64_t* out) noexcept;
/// Borrowed from the document. May hold NUL characters.
Status read_string(std::string_view name, JsonElement value, std::string_view* out) noexcept;
Status read_array(std::string_view name, JsonElement value, JsonArray* out) noexcept;
Status read_object(std::string_view name, JsonElement value, JsonObject* out) noexcept;

/// A member to look for.
struct JsonMember {
  std::string_view name;
  JsonElement value = {};
  bool present = false;
};

/// Finds members of an object, in one pass; members with other names are skipped.
/// Errors: one of them is there twice.
///
///     enum { kId, kInputs };
///     JsonMember members[] = {{"id"}, {"inputs"}};
///     ATOLL_RETURN_IF_ERROR(find_members(object, members));
///     if (!members[kInputs].present) return missing_member("inputs");
Status find_members(JsonObject object, std::span<JsonMember> members) noexcept;

}  // namespace atl::frontends::http
