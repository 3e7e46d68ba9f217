#include "atoll/proto/model_config_json.h"

#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver_util.h>

#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "model_config.pb.h"

namespace atl::proto {

namespace {

/// Keeps the order of the fields.
using Json = nlohmann::ordered_json;

constexpr const char* kTypeUrlPrefix = "type.googleapis.com";

/// Where 64-bit numbers are numbers; "*" stands for every element of an array and every value of a map.
constexpr std::string_view kNumbers[] = {
    "input/*/dims/*",
    "input/*/reshape/shape/*",
    "output/*/dims/*",
    "output/*/reshape/shape/*",
    "version_policy/specific/versions/*",
    "dynamic_batching/max_queue_delay_microseconds",
    "dynamic_batching/priority_levels",
    "dynamic_batching/default_priority_level",
    "dynamic_batching/default_queue_policy/default_timeout_microseconds",
    "dynamic_batching/priority_queue_policy/*/default_timeout_microseconds",
    "sequence_batching/max_sequence_idle_microseconds",
    "sequence_batching/oldest/max_queue_delay_microseconds",
    "sequence_batching/direct/max_queue_delay_microseconds",
    "sequence_batching/state/*/dims/*",
    "ensemble_scheduling/step/*/model_version",
    "model_warmup/*/inputs/*/dims/*",
};

void make_number(Json* value) {
  if (!value->is_string()) return;
  const auto& text = value->get_ref<const std::string&>();
  const char* end = text.data() + text.size();
  int64_t signed_number = 0;
  uint64_t unsigned_number = 0;
  if (std::from_chars(text.data(), end, signed_number).ec == std::errc()) {
    *value = signed_number;
  } else if (std::from_chars(text.data(), end, unsigned_number).ec == std::errc()) {
    *value = unsigned_number;
  }
}

/// Recurses once for each step of the path.
void make_numbers(Json* value, std::string_view path) {
  if (path.empty()) return make_number(value);
  std::string_view step = path.substr(0, path.find('/'));
  path.remove_prefix(step.size() == path.size() ? step.size() : step.size() + 1);
  if (step == "*") {
    if (!value->is_structured()) return;
    for (Json& element : *value) make_numbers(&element, path);
  } else if (value->is_object()) {
    auto member = value->find(std::string(step));
    if (member != value->end()) make_numbers(&*member, path);
  }
}

}  // namespace

Result<std::string> model_config_json(std::string_view config) {
  if (config.empty()) return std::string();
  const std::string bytes(config);
  // The printer takes bytes that end within a field.
  if (!inference::ModelConfig().ParseFromString(bytes)) {
    return internal_error("the configuration has no JSON form: it cannot be parsed");
  }
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  const google::protobuf::Descriptor& type = *inference::ModelConfig::descriptor();
  // From the bytes and not from a message, because they keep maps in the order of their keys.
  std::unique_ptr<google::protobuf::util::TypeResolver> types(
      google::protobuf::util::NewTypeResolverForDescriptorPool(kTypeUrlPrefix, type.file()->pool()));
  std::string text;
  auto printed = google::protobuf::util::BinaryToJsonString(
      types.get(), cat(kTypeUrlPrefix, "/", type.full_name()), bytes, &text, options);
  if (!printed.ok()) return internal_error("the configuration has no JSON form: ", printed.ToString());
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return internal_error("the configuration has no JSON form");
  for (std::string_view path : kNumbers) make_numbers(&json, path);
  return json.dump();
}

}  // namespace atl::proto
