#include "frontends/openai/request/sampling.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "atoll/core/text.h"
#include "frontends/openai/request/body.h"

namespace atl::frontends::openai {
namespace {

constexpr double kMostBias = 100;

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

/// Whether this is a JSON object from token ids, written as texts, to numbers from -100 to 100.
bool is_bias(const CheckedValue& value) {
  if (!value.IsObject()) return false;
  return std::all_of(value.MemberBegin(), value.MemberEnd(), [](const auto& one) {
    const std::string_view id = text_of(one.name);
    int32_t token = 0;
    const auto read = std::from_chars(id.data(), id.data() + id.size(), token);
    return read.ec == std::errc() && read.ptr == id.data() + id.size() && token >= 0 &&
           one.value.IsNumber() && std::abs(one.value.GetDouble()) <= kMostBias;
  });
}

void read_token_lists(Fields& fields, GenerationRequest& request) {
  if (const CheckedValue* const bias = fields.find("logit_bias"); bias != nullptr) {
    if (!is_bias(*bias))
      return fields.fail(wrong_field(
          "logit_bias", "'logit_bias' has to be an object from token ids to numbers from -100 to 100."));
    if (!bias->ObjectEmpty()) request.sampling.push_back({"logit_bias", json_of(*bias)});
  }
  if (const CheckedValue* const stops = fields.find("stop_token_ids"); stops != nullptr) {
    std::vector<int32_t> ids;
    if (!stops->IsArray() || !read_ids(*stops, ids))
      return fields.fail(wrong_field("stop_token_ids", "'stop_token_ids' has to be a list of token ids."));
    if (!ids.empty()) request.sampling.push_back({"stop_token_ids", json_of(*stops)});
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

/// Keywords of JSON schemas that a grammar, which writes from left to right, cannot hold a text to: engines leave them out.
constexpr std::string_view kNotHeld[] = {"not",
                                         "if",
                                         "then",
                                         "else",
                                         "multipleOf",
                                         "uniqueItems",
                                         "contains",
                                         "minContains",
                                         "maxContains",
                                         "patternProperties",
                                         "propertyNames",
                                         "minProperties",
                                         "maxProperties",
                                         "dependentRequired",
                                         "dependentSchemas",
                                         "unevaluatedProperties",
                                         "unevaluatedItems"};
/// Their members are names that the client has chosen, and no keywords.
constexpr std::string_view kNamedSchemas[] = {"properties", "$defs", "definitions"};
/// Their values are no schemas.
constexpr std::string_view kValues[] = {"enum", "const", "default", "examples"};

/// A keyword of the schema that answers could break; empty: none.
std::string_view keyword_not_held(const CheckedValue& schema) {
  if (schema.IsArray()) {
    for (const CheckedValue& one : schema.GetArray()) {
      if (const auto found = keyword_not_held(one); !found.empty()) return found;
    }
  }
  if (!schema.IsObject()) return {};
  for (const auto& [key, value] : schema.GetObject()) {
    const std::string_view name = text_of(key);
    if (is_among(name, kNotHeld)) return name;
    if (is_among(name, kValues)) continue;
    if (!is_among(name, kNamedSchemas) || !value.IsObject()) {
      if (const auto found = keyword_not_held(value); !found.empty()) return found;
      continue;
    }
    for (const auto& named : value.GetObject()) {
      if (const auto found = keyword_not_held(named.value); !found.empty()) return found;
    }
  }
  return {};
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
  read_token_lists(fields, request);
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
  const CheckedValue* const inner = schema_in(format, "json_schema");
  const bool is_nested = inner != nullptr && inner->IsObject();
  if (is_nested) schema = schema_in(*inner, "schema");
  if (type == "json_schema" && schema == nullptr)
    return fields.fail(wrong_field(where, "A format of the type json_schema has to have a 'schema'."));
  if (schema != nullptr && !schema->IsObject())
    return fields.fail(wrong_field(where, cat("The schema in '", where, "' has to be an object.")));
  const CheckedValue* const strict = schema_in(is_nested ? *inner : format, "strict");
  const std::string_view not_held = schema != nullptr && strict != nullptr && strict->IsTrue()
                                        ? keyword_not_held(*schema)
                                        : std::string_view();
  if (!not_held.empty())
    return fields.fail(not_served(where, cat("The schema in '", where, "' has the keyword '", not_held,
                                             "', which is not enforced: leave it out, or 'strict'.")));
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
