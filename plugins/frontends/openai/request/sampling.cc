#include "frontends/openai/request/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "atoll/core/text.h"
#include "frontends/openai/request/body.h"

namespace atl::frontends::openai {
namespace {

/// A number that changes how the model samples.
struct NumberField {
  const char* name;
  double least, most, fallback;
  bool is_integer = false;
};
constexpr NumberField kNumbers[] = {
    {"temperature", 0, 2, 1},
    {"top_p", 0, 1, 1},
    {"min_p", 0, 1, 0},
    {"presence_penalty", -2, 2, 0},
    {"frequency_penalty", -2, 2, 0},
    {"repetition_penalty", 0, 10, 1},
    {"top_k", -1, 1'000'000, 0, true},
    {"min_tokens", 0, kMostTokens, 0, true},
};

constexpr std::string_view kNames[] = {
    "temperature",
    "top_p",
    "min_p",
    "presence_penalty",
    "frequency_penalty",
    "top_k",
    "min_tokens",
    "repetition_penalty",
    "ignore_eos",
    "logit_bias",
    "seed",
    "stop_token_ids",
    "priority",
    "response_format",
    "json_schema",
    "include_stop_str_in_output",
    "skip_special_tokens",
    "grammar",
    "guided_json",
    "guided_grammar",
};

void read_numbers(Fields& fields, GenerationRequest& request) {
  for (const NumberField& one : kNumbers) {
    if (one.is_integer) {
      const auto value =
          fields.integer(one.name, static_cast<int64_t>(one.least), static_cast<int64_t>(one.most));
      // -1 and 0 both mean that the field has no effect.
      if (value) request.sampling.push_back({one.name, json_of(*fields.find(one.name)), *value <= 0});
    } else if (const auto value = fields.number(one.name, one.least, one.most)) {
      request.sampling.push_back(
          {one.name, json_of(*fields.find(one.name)), std::abs(*value - one.fallback) < 1e-9});
    }
  }
}

/// A format of which there may be one. \param json  a schema, or a string with a grammar
void set_format(Fields& fields, const char* where, std::string name, std::string json,
                GenerationRequest& request) {
  if (!request.format_field.empty())
    return fields.fail(wrong_field(where, cat("'", where, "' and '", request.format_field,
                                              "' both say what the answer has to look like: give one.")));
  request.format_field = where;
  request.sampling.push_back({std::move(name), std::move(json)});
}

/// The schema of a format; null: it has none of this name.
const CheckedValue* schema_in(const CheckedValue& format, const char* name) {
  const auto found = format.FindMember(name);
  return found == format.MemberEnd() || found->value.IsNull() ? nullptr : &found->value;
}

}  // namespace

std::span<const std::string_view> sampling_fields() noexcept { return kNames; }

void read_sampling(Fields& fields, GenerationRequest& request) {
  read_numbers(fields, request);
  if (fields.flag("ignore_eos", false)) request.sampling.push_back({"ignore_eos", "true"});
  request.includes_stop = fields.flag("include_stop_str_in_output", false);
  if (request.includes_stop)
    request.sampling.push_back({"include_stop_str_in_output", "true", /*is_default=*/true});
  if (!fields.flag("skip_special_tokens", true)) request.sampling.push_back({"skip_special_tokens", "false"});
  if (const auto priority = fields.integer("priority", std::numeric_limits<int32_t>::min(),
                                           std::numeric_limits<int32_t>::max()))
    request.sampling.push_back({"priority", cat(*priority), /*is_default=*/true});
  for (const char* name : {"logit_bias", "stop_token_ids"}) {
    const CheckedValue* const value = fields.find(name);
    if (value == nullptr || (value->IsArray() && value->Empty()) ||
        (value->IsObject() && value->ObjectEmpty()))
      continue;
    if (value->IsArray() || value->IsObject()) {
      request.sampling.push_back({name, json_of(*value)});
    } else {
      fields.fail(wrong_field(name, cat("'", name, "' has a value of the wrong type.")));
    }
  }
  request.seed =
      fields.integer("seed", std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
}

void read_stops(Fields& fields, const char* name, GenerationRequest& request) {
  const CheckedValue* const value = fields.find(name);
  if (value == nullptr) return;
  const auto add = [&](const CheckedValue& one) {
    const bool is_text =
        one.IsString() && one.GetStringLength() != 0 && one.GetStringLength() <= kMostStopBytes;
    if (is_text) request.stops.emplace_back(text_of(one));
    return is_text;
  };
  const bool is_right = value->IsArray()
                            ? value->Size() <= kMostStops && std::all_of(value->Begin(), value->End(), add)
                            : add(*value);
  if (!is_right)
    fields.fail(wrong_field(name, cat("'", name, "' has to be a string or a list of at most ", kMostStops,
                                      " strings of 1 to ", kMostStopBytes, " bytes.")));
}

void read_format(Fields& fields, const CheckedValue& format, const char* where, GenerationRequest& request) {
  const bool has_type = format.IsObject() && format.HasMember("type") && format["type"].IsString();
  const std::string_view type = has_type ? text_of(format["type"]) : std::string_view();
  if (type == "text") return;
  if (type != "json_object" && type != "json_schema")
    return fields.fail(
        wrong_field(where, cat("'", where, "' has to have the 'type' text, json_object or json_schema.")));
  const CheckedValue* schema = schema_in(format, "schema");
  if (const CheckedValue* inner = schema_in(format, "json_schema"); inner != nullptr && inner->IsObject())
    schema = schema_in(*inner, "schema");
  if (type == "json_schema" && schema == nullptr)
    return fields.fail(wrong_field(where, "A format of the type json_schema has to have a 'schema'."));
  if (schema != nullptr && !schema->IsObject())
    return fields.fail(wrong_field(where, cat("The schema in '", where, "' has to be an object.")));
  set_format(fields, where, "json_schema", schema == nullptr ? R"({"type":"object"})" : json_of(*schema),
             request);
}

void read_response_format(Fields& fields, GenerationRequest& request) {
  if (const CheckedValue* format = fields.find("response_format"); format != nullptr)
    read_format(fields, *format, "response_format", request);
  for (const char* name : {"json_schema", "guided_json"}) {
    const CheckedValue* const schema = fields.find(name);
    if (schema == nullptr) continue;
    if (!schema->IsObject())
      return fields.fail(wrong_field(name, cat("'", name, "' has to be a JSON schema, which is an object.")));
    set_format(fields, name, "json_schema", json_of(*schema), request);
  }
  for (const char* name : {"grammar", "guided_grammar"}) {
    if (!fields.text(name).empty()) set_format(fields, name, "grammar", json_of(*fields.find(name)), request);
  }
}

}  // namespace atl::frontends::openai
