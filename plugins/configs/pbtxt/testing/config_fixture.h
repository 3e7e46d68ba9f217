/// For tests: short ways from a text to a configuration or to what is wrong with it.
#pragma once

#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "atoll/testing/fake_log.h"
#include "configs/pbtxt/pbtxt_model_configs.h"

namespace atl::pbtxt {

/// Where the texts of the tests seem to come from.
inline constexpr const char* kPath = "/models/m/config.pbtxt";

/// The model 'm', not on any disk.
inline RepositoryModel model_with(std::string text, std::vector<RepositoryVersion> versions = {}) {
  RepositoryModel model;
  model.entry = {"m", "/models", "/models/m"};
  model.config_path = kPath;
  model.config_text = std::move(text);
  model.versions = std::move(versions);
  return model;
}

inline inference::ModelConfig config_of(const std::string& text) {
  inference::ModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

inline inference::ModelConfig config_from_bytes(const std::string& bytes) {
  inference::ModelConfig config;
  EXPECT_TRUE(config.ParseFromString(bytes));
  return config;
}

/// What read() says of the text of model 'm'.
inline Status read_status(const std::string& text, bool strict = false, Settings settings = {}) {
  auto bytes = PbtxtModelConfigs(settings, nullptr).read(model_with(text), strict);
  return bytes.ok() ? Status() : std::move(bytes).status();
}

/// The message alone, as clients see it; "OK" for success.
inline std::string read_message(const std::string& text, bool strict = false) {
  Status status = read_status(text, strict);
  return status.ok() ? "OK" : std::string(status.message());
}

/// A text that breaks a rule, and what is said of it.
struct RuleCase {
  std::string text;
  std::string message;
};

/// Each text, after the prefix, gives exactly its message as INVALID_ARGUMENT.
inline void expect_messages(const std::string& prefix, const std::vector<RuleCase>& cases,
                            bool strict = false) {
  for (const RuleCase& rule : cases) {
    Status status = read_status(prefix + rule.text, strict);
    EXPECT_EQ(status.ok() ? "OK" : std::string(status.message()), rule.message) << rule.text;
    bool expected_code = status.ok() || status.code() == Code::kInvalidArgument;
    EXPECT_TRUE(expected_code) << rule.text << ": " << code_name(status.code());
  }
}

}  // namespace atl::pbtxt
