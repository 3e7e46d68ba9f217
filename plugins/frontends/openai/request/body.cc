#include "frontends/openai/request/body.h"

#include <algorithm>

#include "atoll/core/text.h"
#include "atoll/lib/json_depth.h"
#include "atoll/lib/json_writer.h"

namespace atl::frontends::openai {
namespace {

/// Parts of a body are written anew, which takes a piece of the stack for each level.
constexpr size_t kMostLevels = 200;

bool is_id(const CheckedValue& value) noexcept { return value.IsInt() && value.GetInt() >= 0; }

/// One item of a list of texts or lists of ids. \returns false: it is neither
bool read_prompt(const CheckedValue& value, Prompt& prompt) {
  if (value.IsString()) {
    prompt.text = text_of(value);
    return true;
  }
  prompt.has_ids = true;
  return value.IsArray() && read_ids(value, prompt.ids);
}

}  // namespace

std::optional<ApiError> parse_body(std::string_view body, CheckedDocument& document) {
  if (is_json_deeper_than(body, kMostLevels))
    return ApiError{.message = cat("The body has more than ", kMostLevels, " levels of objects and lists.")};
  // Without recursion, which a text could make deep.
  constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag;
  document.Parse<kFlags>(body.data(), body.size());
  if (document.HasParseError())
    return ApiError{.message =
                        cat("The body is no valid JSON, from byte ", document.GetErrorOffset(), " on.")};
  if (!document.IsObject()) return ApiError{.message = "The body has to be a JSON object."};
  return std::nullopt;
}

std::string read_model(Fields& fields) {
  const std::string_view model = fields.text("model");
  if (model.empty()) fields.fail(wrong_field("model", "'model' is missing."));
  return std::string(model);
}

bool read_ids(const CheckedValue& value, std::vector<int32_t>& ids) {
  for (const CheckedValue& id : value.GetArray()) {
    if (!is_id(id)) return false;
    ids.push_back(id.GetInt());
  }
  return !ids.empty();
}

std::vector<Prompt> read_prompts(Fields& fields, const char* name, size_t most) {
  const CheckedValue* const value = fields.find(name);
  const auto refuse = [&](std::string_view what) {
    fields.fail(wrong_field(name, cat("'", name, "' ", what)));
    return std::vector<Prompt>();
  };
  if (value != nullptr && value->IsString()) return {{std::string(text_of(*value)), {}, false}};
  if (value == nullptr || !value->IsArray() || value->Empty())
    return refuse(cat("has to be a string, a list of 1 to ", most, " strings, or token ids."));
  std::vector<Prompt> prompts;
  if ((*value)[0].IsNumber()) {
    prompts.resize(1);
    prompts[0].has_ids = true;
    if (!read_ids(*value, prompts[0].ids))
      return refuse("has to hold token ids only: integers from 0 to 2147483647.");
    return prompts;
  }
  if (value->Size() > most) return refuse(cat("may have at most ", most, " items."));
  for (const CheckedValue& one : value->GetArray()) {
    if (!read_prompt(one, prompts.emplace_back()))
      return refuse("has to hold strings only, or lists of token ids only, none of them empty.");
    if (prompts.back().has_ids != prompts.front().has_ids)
      return refuse("has to hold either strings or lists of token ids.");
  }
  return prompts;
}

std::string json_of(const CheckedValue& value) {
  CheckedBuffer buffer;
  CheckedWriter json(buffer);
  value.Accept(json);
  return {buffer.GetString(), buffer.GetSize()};
}

bool is_among(std::string_view name, std::span<const std::string_view> names) noexcept {
  return std::find(names.begin(), names.end(), name) != names.end();
}

uint32_t count_unknown(const CheckedDocument& document, std::span<const std::string_view> known) noexcept {
  uint32_t count = 0;
  for (const auto& member : document.GetObject()) count += is_among(text_of(member.name), known) ? 0 : 1;
  return count;
}

}  // namespace atl::frontends::openai
