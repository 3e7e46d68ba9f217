#include "frontends/http/management/settings_json.h"

#include <gtest/gtest.h>

namespace atl::frontends::http {
namespace {

// --- trace ---

/// "key=a|b;" for every change.
std::string trace_changes(std::string_view body) {
  std::vector<TraceSetting> changes;
  Status status = read_trace_changes(body, &changes);
  EXPECT_TRUE(status.ok()) << status.text();
  std::string text;
  for (const TraceSetting& change : changes) {
    text += cat(change.key, "=");
    for (const std::string& value : change.values) text += cat(value, "|");
    text += ";";
  }
  return text;
}
Status trace_refusal(std::string_view body) {
  std::vector<TraceSetting> changes;
  return read_trace_changes(body, &changes);
}

TEST(TraceJson, ReadsChanges) {
  EXPECT_EQ(trace_changes("{}"), "");
  EXPECT_EQ(trace_changes(R"({"trace_level":["TIMESTAMPS","TENSORS"],"trace_rate":"5","trace_count":"-1",)"
                          R"("log_frequency":"0"})"),
            "trace_level=TIMESTAMPS|TENSORS|;trace_rate=5|;trace_count=-1|;log_frequency=0|;");
  EXPECT_EQ(trace_changes(R"({"trace_level":[]})"), "trace_level=;");
}

TEST(TraceJson, NullClearsAndOtherNamesAreIgnored) {
  EXPECT_EQ(trace_changes(R"({"trace_level":null,"trace_rate":null,"other":1,"trace_mode":"triton"})"),
            "trace_level=;trace_rate=;");
}

TEST(TraceJson, RefusesWithTheProtocolsTexts) {
  for (const char* key : {"trace_rate", "trace_count", "log_frequency"}) {
    Status status = trace_refusal(cat("{\"", key, "\":5}"));
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_EQ(status.message(), "attempt to access JSON non-string as string");
  }
  EXPECT_EQ(trace_refusal(R"({"trace_level":"OFF"})").message(), "attempt to access JSON non-array as array");
  EXPECT_EQ(trace_refusal(R"({"trace_level":[1]})").message(), "attempt to access JSON non-string as string");
  EXPECT_EQ(trace_refusal("").message(),
            "failed to parse the request JSON buffer: The document is empty. at 0");
  EXPECT_EQ(trace_refusal(R"({"trace_rate":"1","trace_rate":"2"})").message(),
            "the JSON object has the member 'trace_rate' twice, expected once");
  for (const char* value : {"\"x\"", "null", "1"}) {
    Status status = trace_refusal(cat(R"({"trace_file":)", value, "}"));
    EXPECT_EQ(status.code(), Code::kUnimplemented);
    EXPECT_EQ(status.message(), "trace file location can not be updated through network protocol");
  }
}

TEST(TraceJson, ACountBelowMinusOneHasThisWiresText) {
  EXPECT_EQ(trace_refusal(R"({"trace_count":"-2"})").message(),
            "Unable to parse 'trace_count'. Expecting value >= -1, got:-2");
  // What is no number at all is refused with the texts of all wires, elsewhere.
  EXPECT_EQ(trace_changes(R"({"trace_count":"-2x"})"), "trace_count=-2x|;");
}

TEST(TraceJson, WritesSettingsInTheOrderGiven) {
  const std::vector<TraceSetting> settings = {{"trace_level", {"OFF"}}, {"trace_rate", {"1000"}},
                                              {"trace_count", {"-1"}},  {"log_frequency", {"0"}},
                                              {"trace_file", {}},       {"trace_mode", {"triton"}}};
  EXPECT_EQ(trace_settings_json(settings),
            R"({"trace_level":["OFF"],"trace_rate":"1000","trace_count":"-1","log_frequency":"0",)"
            R"("trace_file":"","trace_mode":"triton"})");
}

// --- log ---

Status log_refusal(std::string_view body) {
  inference::LogSettingsRequest request;
  return read_log_changes(body, &request);
}

TEST(LogJson, ReadsChanges) {
  inference::LogSettingsRequest request;
  Status status = read_log_changes(
      R"({"log_info":false,"log_warning":true,"log_error":null,"log_verbose_level":4294967295,)"
      R"("log_format":"ISO8601","other":{}})",
      &request);
  ASSERT_TRUE(status.ok()) << status.text();
  const auto& settings = request.settings();
  ASSERT_EQ(settings.size(), 4u);
  EXPECT_EQ(settings.at("log_info").parameter_choice_case(),
            inference::LogSettingsRequest::SettingValue::kBoolParam);
  EXPECT_FALSE(settings.at("log_info").bool_param());
  EXPECT_TRUE(settings.at("log_warning").bool_param());
  EXPECT_EQ(settings.at("log_verbose_level").uint32_param(), UINT32_MAX);
  EXPECT_EQ(settings.at("log_format").string_param(), "ISO8601");
}

TEST(LogJson, TheFileIsHandedOnToBeRefused) {
  for (const char* value : {"\"x\"", "1", "\"\""}) {
    inference::LogSettingsRequest request;
    ASSERT_TRUE(read_log_changes(cat(R"({"log_file":)", value, "}"), &request).ok());
    EXPECT_EQ(request.settings().count("log_file"), 1u);
  }
}

TEST(LogJson, RefusesWithTheProtocolsTexts) {
  for (const char* key : {"log_info", "log_warning", "log_error"}) {
    Status status = log_refusal(cat("{\"", key, "\":1}"));
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_EQ(status.message(),
              cat("Unable to parse '", key, "': attempt to access JSON non-boolean as boolean"));
  }
  for (const char* level : {"-1", "\"1\"", "1.5"}) {
    EXPECT_EQ(log_refusal(cat(R"({"log_verbose_level":)", level, "}")).message(),
              "Unable to parse 'log_verbose_level': attempt to access JSON non-unsigned-integer as "
              "unsigned-integer");
  }
  EXPECT_EQ(log_refusal(R"({"log_verbose_level":4294967296})").message(),
            "Unable to parse 'log_verbose_level': 4294967296, expected at most 4294967295");
  EXPECT_EQ(log_refusal(R"({"log_format":true})").message(),
            "Unable to parse 'log_format': attempt to access JSON non-string as string");
  Status format = log_refusal(R"({"log_format":"xml"})");
  EXPECT_EQ(format.code(), Code::kUnavailable);
  EXPECT_EQ(format.message(), "invalid argument for --log_format, got: xml");
  EXPECT_EQ(log_refusal("").message(),
            "failed to parse the request JSON buffer: The document is empty. at 0");
}

TEST(LogJson, WritesAllSettingsInOrder) {
  inference::LogSettingsResponse response;
  auto& settings = *response.mutable_settings();
  settings["log_format"].set_string_param("default");
  settings["log_verbose_level"].set_uint32_param(2);
  settings["log_error"].set_bool_param(true);
  settings["log_warning"].set_bool_param(false);
  settings["log_info"].set_bool_param(true);
  settings["log_file"].set_string_param("/tmp/a\"b");
  EXPECT_EQ(log_settings_json(response),
            R"({"log_file":"/tmp/a\"b","log_info":true,"log_warning":false,"log_error":true,)"
            R"("log_verbose_level":2,"log_format":"default"})");
}

}  // namespace
}  // namespace atl::frontends::http
