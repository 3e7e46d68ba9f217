#include "backends/llamacpp/sampling/sampling_options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <iterator>

#include "atoll/lib/checked_document.h"
#include "atoll/lib/json_depth.h"
#include "atoll/lib/json_writer.h"
#include "backends/llamacpp/requests/tensor_names.h"

namespace atl::llamacpp {
namespace {

constexpr size_t kStopsMax = 64;
constexpr size_t kBiasesMax = 1024;
constexpr int32_t kTopLogprobsMax = 20;
constexpr int32_t kAnyTokens = std::numeric_limits<int32_t>::max();

std::string json_of(const CheckedValue& value) {
  CheckedBuffer buffer;
  CheckedWriter writer(buffer);
  value.Accept(writer);
  return {buffer.GetString(), buffer.GetSize()};
}

std::string_view text_of(const CheckedValue& value) { return {value.GetString(), value.GetStringLength()}; }

Status wrong(std::string_view field, const CheckedValue& value, std::string_view expected) {
  constexpr size_t kShown = 60;
  const std::string found = json_of(value);
  const std::string_view shown = std::string_view(found).substr(0, kShown);
  return invalid_argument("sampling_parameters: field '", field, "': found ", shown,
                          shown.size() < found.size() ? "..." : "", ", expected ", expected);
}

/// A number, or a text that is one: clients of Triton's vLLM backend send both.
template <class T>
std::optional<T> number_in(const CheckedValue& value) {
  if (value.IsString()) {
    const std::string_view text = text_of(value);
    T number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
  }
  if constexpr (std::is_floating_point_v<T>) {
    return value.IsNumber() ? std::optional<T>(value.GetDouble()) : std::nullopt;
  } else {
    if (value.IsInt64()) return static_cast<T>(value.GetInt64());
    // 5.0 is a whole number, too.
    if (!value.IsDouble() || value.GetDouble() != std::floor(value.GetDouble()) ||
        std::abs(value.GetDouble()) > 1e15)
      return std::nullopt;
    return static_cast<T>(value.GetDouble());
  }
}

Status read_double(std::string_view field, const CheckedValue& value, double low, double high, double& to) {
  const std::optional<double> number = number_in<double>(value);
  if (!number || !std::isfinite(*number) || *number < low || *number > high)
    return wrong(field, value, cat("a number from ", low, " to ", high));
  to = *number;
  return {};
}

template <class T>
Status read_int(std::string_view field, const CheckedValue& value, int64_t low, int64_t high, T& to) {
  const std::optional<int64_t> number = number_in<int64_t>(value);
  if (!number || *number < low || *number > high)
    return wrong(field, value, cat("a whole number from ", low, " to ", high));
  to = static_cast<T>(*number);
  return {};
}

Status read_bool(std::string_view field, const CheckedValue& value, bool& to) {
  if (value.IsBool()) {
    to = value.GetBool();
    return {};
  }
  const std::string_view text = value.IsString() ? text_of(value) : std::string_view();
  if (text != "true" && text != "false" && text != "True" && text != "False")
    return wrong(field, value, "true or false");
  to = text == "true" || text == "True";
  return {};
}

Status read_text(std::string_view field, const CheckedValue& value, std::string& to) {
  if (!value.IsString()) return wrong(field, value, "a text");
  to = text_of(value);
  return {};
}

Status read_stops(const CheckedValue& value, std::vector<std::string>& to) {
  constexpr std::string_view kExpected = "a text, or a list of at most 64 texts, none of them empty";
  to.clear();
  if (value.IsString()) {
    if (value.GetStringLength() == 0) return wrong("stop", value, kExpected);
    to.emplace_back(text_of(value));
    return {};
  }
  if (!value.IsArray() || value.Size() > kStopsMax) return wrong("stop", value, kExpected);
  for (const CheckedValue& one : value.GetArray()) {
    if (!one.IsString() || one.GetStringLength() == 0) return wrong("stop", value, kExpected);
    to.emplace_back(text_of(one));
  }
  return {};
}

Status read_stop_tokens(const CheckedValue& value, int32_t tokens, std::vector<Token>& to) {
  const std::string expected = cat("a list of at most ", kBiasesMax, " token ids from 0 to ", tokens - 1);
  if (!value.IsArray() || value.Size() > kBiasesMax) return wrong("stop_token_ids", value, expected);
  for (const CheckedValue& one : value.GetArray()) {
    if (!one.IsInt() || one.GetInt() < 0 || one.GetInt() >= tokens)
      return wrong("stop_token_ids", value, expected);
    to.push_back(one.GetInt());
  }
  return {};
}

Status read_bias(const CheckedValue& value, int32_t tokens, std::vector<std::pair<Token, float>>& to) {
  const std::string expected = cat("an object of at most ", kBiasesMax, " token ids from 0 to ", tokens - 1,
                                   ", each with a number from -100 to 100");
  if (!value.IsObject() || value.MemberCount() > kBiasesMax) return wrong("logit_bias", value, expected);
  for (const auto& member : value.GetObject()) {
    const std::optional<int64_t> token = number_in<int64_t>(member.name);
    const std::optional<double> bias = number_in<double>(member.value);
    if (!token || *token < 0 || *token >= tokens || !bias || !(std::abs(*bias) <= 100))
      return wrong("logit_bias", value, expected);
    to.emplace_back(static_cast<Token>(*token), static_cast<float>(*bias));
  }
  return {};
}

Status read_logprobs(const CheckedValue& value, std::optional<int32_t>& to) {
  if (value.IsFalse()) return {};
  int32_t count = 0;
  if (!value.IsTrue()) ATOLL_RETURN_IF_ERROR(read_int("logprobs", value, 0, kTopLogprobsMax, count));
  to = count;
  return {};
}

Status read_schema(const CheckedValue& value, std::string& to) {
  if (value.IsString()) {
    to = text_of(value);
    return {};
  }
  if (!value.IsObject() && !value.IsBool()) return wrong("json_schema", value, "a JSON schema");
  to = json_of(value);
  return {};
}

Status read_seed(const CheckedValue& value, std::optional<uint64_t>& to) {
  if (value.IsUint64()) {
    to = value.GetUint64();
    return {};
  }
  int64_t seed = 0;
  ATOLL_RETURN_IF_ERROR(read_int("seed", value, std::numeric_limits<int64_t>::min(),
                                 std::numeric_limits<int64_t>::max(), seed));
  to = static_cast<uint64_t>(seed);
  return {};
}

using Value = const CheckedValue&;

struct FieldReader {
  std::string_view name;
  Status (*read)(Value value, int32_t tokens, SamplingOptions& to);
};

constexpr FieldReader kFields[] = {
    {"temperature", [](Value v, int32_t,
                       SamplingOptions& o) { return read_double("temperature", v, 0, 100, o.temperature); }},
    {"top_p", [](Value v, int32_t, SamplingOptions& o) { return read_double("top_p", v, 0, 1, o.top_p); }},
    {"min_p", [](Value v, int32_t, SamplingOptions& o) { return read_double("min_p", v, 0, 1, o.min_p); }},
    {"top_k",
     [](Value v, int32_t, SamplingOptions& o) { return read_int("top_k", v, -1, kAnyTokens, o.top_k); }},
    {"presence_penalty",
     [](Value v, int32_t, SamplingOptions& o) {
       return read_double("presence_penalty", v, -2, 2, o.presence_penalty);
     }},
    {"frequency_penalty",
     [](Value v, int32_t, SamplingOptions& o) {
       return read_double("frequency_penalty", v, -2, 2, o.frequency_penalty);
     }},
    {"repetition_penalty",
     [](Value v, int32_t, SamplingOptions& o) {
       return read_double("repetition_penalty", v, 0.01, 10, o.repetition_penalty);
     }},
    {"seed", [](Value v, int32_t, SamplingOptions& o) { return read_seed(v, o.seed); }},
    {"logit_bias",
     [](Value v, int32_t tokens, SamplingOptions& o) { return read_bias(v, tokens, o.logit_bias); }},
    {"max_tokens", [](Value v, int32_t,
                      SamplingOptions& o) { return read_int("max_tokens", v, 1, kAnyTokens, o.max_tokens); }},
    {"min_tokens", [](Value v, int32_t,
                      SamplingOptions& o) { return read_int("min_tokens", v, 0, kAnyTokens, o.min_tokens); }},
    {"stop", [](Value v, int32_t, SamplingOptions& o) { return read_stops(v, o.stops); }},
    {"stop_token_ids",
     [](Value v, int32_t tokens, SamplingOptions& o) { return read_stop_tokens(v, tokens, o.stop_tokens); }},
    {"ignore_eos",
     [](Value v, int32_t, SamplingOptions& o) { return read_bool("ignore_eos", v, o.ignore_eos); }},
    {"include_stop_str_in_output",
     [](Value v, int32_t, SamplingOptions& o) {
       return read_bool("include_stop_str_in_output", v, o.include_stop);
     }},
    {"skip_special_tokens",
     [](Value v, int32_t, SamplingOptions& o) {
       return read_bool("skip_special_tokens", v, o.skip_special_tokens);
     }},
    {"logprobs", [](Value v, int32_t, SamplingOptions& o) { return read_logprobs(v, o.logprobs); }},
    {"grammar", [](Value v, int32_t, SamplingOptions& o) { return read_text("grammar", v, o.grammar); }},
    {"json_schema", [](Value v, int32_t, SamplingOptions& o) { return read_schema(v, o.json_schema); }},
    {"priority",
     [](Value v, int32_t, SamplingOptions& o) {
       return read_int("priority", v, -1'000'000'000, 1'000'000'000, o.priority);
     }},
    {"n",
     [](Value v, int32_t, SamplingOptions&) {
       int64_t choices = 0;
       return read_int("n", v, 1, 1, choices);
     }},
};

Status check_together(const SamplingOptions& options) {
  if (options.min_tokens > options.max_tokens) {
    return invalid_argument("sampling_parameters: field 'min_tokens': found ", options.min_tokens,
                            ", expected at most max_tokens, which is ", options.max_tokens);
  }
  if (!options.grammar.empty() && !options.json_schema.empty())
    return invalid_argument(
        "sampling_parameters: found fields 'grammar' and 'json_schema', expected one of them");
  return {};
}

}  // namespace

Result<SamplingOptions> read_sampling_options(std::string_view json, int32_t tokens) {
  SamplingOptions options;
  if (json.empty()) return options;
  if (is_json_deeper_than(json, kJsonDepthMax))
    return invalid_argument("sampling_parameters: found JSON of more than ", kJsonDepthMax, " levels");
  CheckedDocument document;
  // Not recursive: however deep a client nests, the stack stays flat.
  document.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
  if (document.HasParseError()) {
    return invalid_argument("sampling_parameters: found no JSON at byte ", document.GetErrorOffset(),
                            ", expected an object");
  }
  if (!document.IsObject())
    return invalid_argument("sampling_parameters: found no object, expected a JSON object");
  for (const auto& member : document.GetObject()) {
    const std::string_view name = text_of(member.name);
    const auto* const field = std::find_if(std::begin(kFields), std::end(kFields),
                                           [&](const FieldReader& one) { return one.name == name; });
    if (field == std::end(kFields))
      return invalid_argument("sampling_parameters: field '", name, "' is not known to this backend");
    // null stands for the default, as in OpenAI's API.
    if (!member.value.IsNull()) ATOLL_RETURN_IF_ERROR(field->read(member.value, tokens, options));
  }
  if (options.top_k < 0) options.top_k = 0;
  // 0 would leave no token; it is what clients send for "the most likely one".
  if (options.top_p == 0) options.top_k = 1;
  if (options.top_p == 0) options.top_p = 1;
  ATOLL_RETURN_IF_ERROR(check_together(options));
  return options;
}

}  // namespace atl::llamacpp
