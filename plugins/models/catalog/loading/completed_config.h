/// The configuration that a version is built with.
#pragma once

#include <string>
#include <utility>

#include "atoll/status.h"
#include "model_config.pb.h"
#include "models/catalog/loading/model_info.h"

namespace atl::models {

/// Completed and checked; parsed once.
struct CompletedConfig {
  std::string bytes;
  inference::ModelConfig message;

  /// Errors: those of parse_config(), and the one that the bytes stand for.
  static Result<CompletedConfig> from(Result<std::string> bytes) {
    if (!bytes.ok()) return std::move(bytes).status();
    CompletedConfig config{std::move(bytes).value(), {}};
    ATOLL_RETURN_IF_ERROR(parse_config(config.bytes, &config.message));
    return config;
  }
};

}  // namespace atl::models
