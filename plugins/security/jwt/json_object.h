/// JSON objects from outside: the head and the claims of a token, a set of keys.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "atoll/lib/checked_document.h"

namespace atl::jwt {

/// \param document  gets the text, in whatever depth it is nested
/// \returns false: the text is no JSON object in UTF-8, or a member of the object comes twice: programs differ
/// in which of the two they take
bool parse_object(std::string_view text, CheckedDocument& document);
/// Nothing: there is no such member, or it is no text. \param object  is one
std::optional<std::string_view> text_member(const CheckedValue& object, const char* name) noexcept;

}  // namespace atl::jwt
