/// Model configurations for tests.
#pragma once

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "atoll/core/text.h"
#include "model_config.pb.h"

namespace atl::schedulers {

/// The bytes of a configuration in text format.
inline std::string config_bytes(const std::string& text) {
  inference::ModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config.SerializeAsString();
}

}  // namespace atl::schedulers
