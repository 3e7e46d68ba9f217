#include "frontends/openai/request_parser.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>

#include "atoll/core/text.h"
#include "atoll/lib/json_writer.h"
#include "frontends/openai/chat.h"
#include "frontends/openai/fields.h"

namespace atl::frontends::openai {
namespace {

constexpr int64_t kMostTokens = std::numeric_limits<int32_t>::max();
constexpr size_t kStopsMax = 16;

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

/// What other servers know and this one does not do. Refused unless the value says that it is not wanted.
constexpr const char* kNotServed[] = {
    "audio",
    "bad_words",
    "best_of",
    "chat_template",
    "continue_final_message",
    "echo",
    "functions",
    "function_call",
    "guided_choice",
    "guided_grammar",
    "guided_json",
    "guided_regex",
    "logprobs",
    "prediction",
    "prompt_logprobs",
    "response_format",
    "suffix",
    "tools",
    "tool_choice",
    "top_logprobs",
    "truncate_prompt_tokens",
    "use_beam_search",
    "web_search_options",
};

/// Accepted, and without effect here.
constexpr std::string_view kWithoutEffect[] = {
    "add_generation_prompt",
    "add_special_tokens",
    "cache_salt",
    "chat_template_kwargs",
    "metadata",
    "modalities",
    "parallel_tool_calls",
    "priority",
    "prompt_cache_key",
    "reasoning_effort",
    "safety_identifier",
    "service_tier",
    "skip_special_tokens",
    "store",
    "user",
    "verbosity",
};
constexpr std::string_view kRead[] = {
    "model",      "messages",   "prompt",
    "n",          "stream",     "stream_options",
    "stop",       "max_tokens", "max_completion_tokens",
    "seed",       "ignore_eos", "stop_token_ids",
    "logit_bias",
};
constexpr std::string_view kReadOfEmbeddings[] = {"model", "input", "encoding_format", "dimensions", "user"};

bool is_among(std::string_view name, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_known(std::string_view name) {
  return is_among(name, kRead) || is_among(name, kWithoutEffect) ||
         std::any_of(std::begin(kNumbers), std::end(kNumbers),
                     [&](const NumberField& one) { return name == one.name; }) ||
         std::any_of(std::begin(kNotServed), std::end(kNotServed),
                     [&](const char* one) { return name == one; });
}

std::string json_of(const CheckedValue& value) {
  CheckedBuffer buffer;
  CheckedWriter json(buffer);
  value.Accept(json);
  return {buffer.GetString(), buffer.GetSize()};
}

/// Whether the value says that the client does not want the field's effect.
bool is_unwanted(std::string_view name, const CheckedValue& value) {
  if (value.IsFalse() || (value.IsArray() && value.Empty())) return true;
  if (value.IsInt64() && (value.GetInt64() == 0 || (name == "best_of" && value.GetInt64() == 1))) return true;
  if (value.IsString() &&
      (value.GetStringLength() == 0 || text_of(value) == "none" || text_of(value) == "auto"))
    return true;
  return name == "response_format" && value.IsObject() && value.HasMember("type") &&
         value["type"].IsString() && text_of(value["type"]) == "text";
}

void refuse_what_is_not_served(Fields& fields) {
  for (const char* name : kNotServed) {
    const CheckedValue* const value = fields.find(name);
    if (value != nullptr && !is_unwanted(name, *value))
      fields.fail(not_served(name, cat("'", name, "' is not served with this value.")));
  }
}

std::vector<std::string> read_stops(Fields& fields) {
  const CheckedValue* const value = fields.find("stop");
  if (value == nullptr) return {};
  std::vector<std::string> stops;
  const auto add = [&](const CheckedValue& one) {
    const bool is_text = one.IsString() && one.GetStringLength() != 0;
    if (is_text) stops.emplace_back(text_of(one));
    return is_text;
  };
  const bool is_right = value->IsArray()
                            ? value->Size() <= kStopsMax && std::all_of(value->Begin(), value->End(), add)
                            : add(*value);
  if (!is_right)
    fields.fail(wrong_field("stop", cat("'stop' has to be a string or a list of at most ", kStopsMax,
                                        " strings, none of them empty.")));
  return stops;
}

/// Texts of one field. \param most  in a list
std::vector<std::string> read_texts(Fields& fields, const char* name, size_t most) {
  const CheckedValue* const value = fields.find(name);
  if (value != nullptr && value->IsString()) return {std::string(text_of(*value))};
  std::vector<std::string> texts;
  if (value == nullptr || !value->IsArray() || value->Empty() || value->Size() > most) {
    fields.fail(
        wrong_field(name, cat("'", name, "' has to be a string or a list of 1 to ", most, " strings.")));
    return texts;
  }
  for (const CheckedValue& one : value->GetArray()) {
    if (one.IsNumber() || one.IsArray()) {
      fields.fail(not_served(name, cat("'", name, "' as token ids is not served: give texts.")));
      return texts;
    }
    if (!one.IsString()) {
      fields.fail(wrong_field(name, cat("'", name, "' has to hold strings only.")));
      return texts;
    }
    texts.emplace_back(text_of(one));
  }
  return texts;
}

void read_sampling(Fields& fields, CompletionRequest& request) {
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
  if (fields.flag("ignore_eos", false)) request.sampling.push_back({"ignore_eos", "true"});
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
  const char* const newer = "max_completion_tokens";
  request.max_tokens_field = request.is_chat && fields.has(newer) ? newer : "max_tokens";
  request.max_tokens = fields.integer(request.max_tokens_field.c_str(), 1, kMostTokens);
}

void read_stream(Fields& fields, CompletionRequest& request) {
  request.stream = fields.flag("stream", false);
  const CheckedValue* const options = fields.find("stream_options");
  if (options == nullptr) return;
  if (!request.stream)
    return fields.fail(wrong_field("stream_options", "'stream_options' goes with 'stream' only."));
  if (!options->IsObject())
    return fields.fail(wrong_field("stream_options", "'stream_options' has to be an object."));
  Fields inner(*options);
  request.include_usage = inner.flag("include_usage", false);
  if (inner.failure()) fields.fail(wrong_field("stream_options.include_usage", inner.failure()->message));
}

/// The object in the body. Errors: it is none.
std::optional<ApiError> parse(std::string_view body, CheckedDocument& document) {
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

}  // namespace

std::string CompletionRequest::sampling_json(uint32_t choice) const {
  std::string json = "{";
  const auto add = [&](std::string_view name, std::string_view value) {
    json += cat(json.size() == 1 ? "" : ",", "\"", name, "\":", value);
  };
  for (const SamplingField& field : sampling) add(field.name, field.json);
  // Wraps around: any number is a seed.
  if (seed) add("seed", cat(static_cast<int64_t>(static_cast<uint64_t>(*seed) + choice)));
  if (max_tokens) add("max_tokens", cat(*max_tokens));
  if (!stops.empty()) {
    CheckedBuffer buffer;
    CheckedWriter writer(buffer);
    write_array(writer, stops, [&](const std::string& stop) { write_text(writer, stop); });
    add("stop", {buffer.GetString(), buffer.GetSize()});
  }
  return json + "}";
}

const SamplingField* CompletionRequest::first_to_follow() const noexcept {
  const auto found = std::find_if(sampling.begin(), sampling.end(),
                                  [](const SamplingField& one) { return !one.is_default; });
  return found == sampling.end() ? nullptr : &*found;
}

std::variant<CompletionRequest, ApiError> read_completion(std::string_view body, bool is_chat) {
  CheckedDocument document;
  if (auto failure = parse(body, document)) return std::move(*failure);
  Fields fields(document);
  CompletionRequest request;
  request.is_chat = is_chat;
  request.model = read_model(fields);
  if (is_chat) {
    const std::vector<ChatMessage> messages = read_messages(fields);
    request.prompts = {chat_text(messages)};
    request.messages = chat_json(messages);
  } else {
    request.prompts = read_texts(fields, "prompt", kChoicesMax);
  }
  request.n = static_cast<uint32_t>(fields.integer("n", 1, kChoicesMax).value_or(1));
  if (request.n * request.prompts.size() > kChoicesMax)
    fields.fail(
        wrong_field("n", cat("'n' times the number of prompts has to be at most ", kChoicesMax, ".")));
  read_stream(fields, request);
  request.stops = read_stops(fields);
  read_sampling(fields, request);
  refuse_what_is_not_served(fields);
  for (const auto& member : document.GetObject())
    request.unknown_fields += is_known(text_of(member.name)) ? 0 : 1;
  if (fields.failure()) return std::move(*fields.failure());
  return request;
}

std::variant<EmbeddingRequest, ApiError> read_embedding(std::string_view body) {
  CheckedDocument document;
  if (auto failure = parse(body, document)) return std::move(*failure);
  Fields fields(document);
  EmbeddingRequest request;
  request.model = read_model(fields);
  request.texts = read_texts(fields, "input", kTextsMax);
  const std::string_view format = fields.text("encoding_format");
  request.is_base64 = format == "base64";
  if (!request.is_base64 && !format.empty() && format != "float")
    fields.fail(wrong_field("encoding_format", "'encoding_format' has to be float or base64."));
  request.dimensions = fields.integer("dimensions", 1, kMostTokens).value_or(0);
  for (const auto& member : document.GetObject())
    request.unknown_fields += is_among(text_of(member.name), kReadOfEmbeddings) ? 0 : 1;
  if (fields.failure()) return std::move(*fields.failure());
  return request;
}

}  // namespace atl::frontends::openai
