/// What the bodies of all calls have in common.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/lib/checked_document.h"
#include "frontends/openai/api_error.h"
#include "frontends/openai/request/fields.h"
#include "frontends/openai/request/generation_request.h"

namespace atl::frontends::openai {

/// The object in the body. Errors: it is none.
std::optional<ApiError> parse_body(std::string_view body, CheckedDocument& document);
/// The field `model`, which has to be there.
std::string read_model(Fields& fields);
/// Texts, or token ids, of one field: one, or a list of at most `most`.
std::vector<Prompt> read_prompts(Fields& fields, const char* name, size_t most);
/// A list of token ids. \returns false: it is none
bool read_ids(const CheckedValue& value, std::vector<int32_t>& ids);
std::string json_of(const CheckedValue& value);
bool is_among(std::string_view name, std::span<const std::string_view> names) noexcept;
/// How many fields are not among these.
uint32_t count_unknown(const CheckedDocument& document, std::span<const std::string_view> known) noexcept;

}  // namespace atl::frontends::openai
