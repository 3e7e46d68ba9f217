#include "frontends/http/management/settings_json.h"

#include <charconv>
#include <limits>

#include "frontends/common/json/json_text.h"
#include "frontends/http/management/json_body.h"

namespace atl::frontends::http {
namespace {

using LogValue = inference::LogSettingsRequest::SettingValue;

Status wrong(JsonKind wanted) noexcept {
  return Status(Code::kInvalidArgument, std::string(wrong_kind_text(wanted)));
}

Status read_levels(JsonElement value, std::vector<std::string>* levels) noexcept {
  JsonArray array;
  if (value.get_array().get(array) != simdjson::SUCCESS) return wrong(JsonKind::kArray);
  for (JsonElement item : array) {
    std::string_view level;
    if (item.get_string().get(level) != simdjson::SUCCESS) return wrong(JsonKind::kString);
    levels->emplace_back(level);
  }
  return {};
}

/// This wire's own text; what else can be wrong with a number has the same one on every wire.
Status check_trace_count(std::string_view text) noexcept {
  int64_t count = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count >= -1) return {};
  return invalid_argument("Unable to parse 'trace_count'. Expecting value >= -1, got:", text);
}

Status read_trace_value(std::string_view key, JsonElement value, std::vector<std::string>* values) noexcept {
  if (value.is_null()) return {};
  if (key == "trace_level") return read_levels(value, values);
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS) return wrong(JsonKind::kString);
  if (key == "trace_count") ATOLL_RETURN_IF_ERROR(check_trace_count(text));
  values->emplace_back(text);
  return {};
}

Status read_log_change(std::string_view key, JsonElement value,
                       inference::LogSettingsRequest* request) noexcept {
  auto add = [&]() -> LogValue& { return (*request->mutable_settings())[std::string(key)]; };
  if (value.is_null()) return {};
  if (key == "log_file") {
    add().set_string_param("");  // refused whatever it is
  } else if (key == "log_info" || key == "log_warning" || key == "log_error") {
    bool flag = false;
    ATOLL_RETURN_IF_ERROR(read_bool(key, value, &flag));
    add().set_bool_param(flag);
  } else if (key == "log_verbose_level") {
    uint64_t level = 0;
    ATOLL_RETURN_IF_ERROR(read_uint(key, value, &level));
    if (level > std::numeric_limits<uint32_t>::max()) {
      return invalid_argument("Unable to parse 'log_verbose_level': ", level, ", expected at most ",
                              std::numeric_limits<uint32_t>::max());
    }
    add().set_uint32_param(static_cast<uint32_t>(level));
  } else if (key == "log_format") {
    std::string_view format;
    ATOLL_RETURN_IF_ERROR(read_string(key, value, &format));
    if (format != "default" && format != "ISO8601") {
      return unavailable("invalid argument for --log_format, got: ", format);
    }
    add().set_string_param(std::string(format));
  }
  return {};
}

}  // namespace

Status read_trace_changes(std::string_view body, std::vector<TraceSetting>* changes) noexcept {
  JsonBody json;
  ATOLL_RETURN_IF_ERROR(json.parse(body));
  for (const simdjson::dom::key_value_pair& field : json.object()) {
    if (field.key == "trace_file") {
      return unimplemented("trace file location can not be updated through network protocol");
    }
    if (field.key != "trace_level" && field.key != "trace_rate" && field.key != "trace_count" &&
        field.key != "log_frequency") {
      continue;
    }
    TraceSetting& change = changes->emplace_back();
    change.key = field.key;
    ATOLL_RETURN_IF_ERROR(read_trace_value(field.key, field.value, &change.values));
  }
  return {};
}

std::string trace_settings_json(std::span<const TraceSetting> settings) {
  return json_text([&](JsonWriter& writer) {
    writer.StartObject();
    for (const TraceSetting& setting : settings) {
      write_key(writer, setting.key);
      if (setting.key == "trace_level" || setting.values.size() > 1) {
        write_array(writer, setting.values, [&](const std::string& text) { write_text(writer, text); });
      } else {
        write_text(writer, setting.values.empty() ? std::string_view() : setting.values.front());
      }
    }
    writer.EndObject();
  });
}

Status read_log_changes(std::string_view body, inference::LogSettingsRequest* request) noexcept {
  JsonBody json;
  ATOLL_RETURN_IF_ERROR(json.parse(body));
  for (const simdjson::dom::key_value_pair& field : json.object()) {
    ATOLL_RETURN_IF_ERROR(read_log_change(field.key, field.value, request));
  }
  return {};
}

std::string log_settings_json(const inference::LogSettingsResponse& response) {
  auto setting = [&](const char* key) {
    auto found = response.settings().find(key);
    return found == response.settings().end() ? inference::LogSettingsResponse::SettingValue()
                                              : found->second;
  };
  return json_text([&](JsonWriter& writer) {
    writer.StartObject();
    write_member(writer, "log_file", setting("log_file").string_param());
    for (const char* key : {"log_info", "log_warning", "log_error"}) {
      write_member(writer, key, setting(key).bool_param());
    }
    write_member(writer, "log_verbose_level", uint64_t{setting("log_verbose_level").uint32_param()});
    write_member(writer, "log_format", setting("log_format").string_param());
    writer.EndObject();
  });
}

}  // namespace atl::frontends::http
