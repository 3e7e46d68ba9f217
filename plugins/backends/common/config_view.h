/// A model's configuration for backends that need more of it than ModelSource::model says: the message,
/// parsed once when the model loads.
#pragma once

#include <cstdint>
#include <string_view>

#include "atoll/backend/backend.h"
#include "atoll/core/status.h"
#include "model_config.pb.h"

namespace atl::backends {

/// ModelConfig's element type as the SDK's; both use the same numbers.
constexpr DataType data_type_of(inference::DataType type) noexcept { return static_cast<DataType>(type); }

/// Owns the parsed message. Movable. Reading is thread safe.
class ConfigView {
 public:
  /// \param serialized  bytes of inference.ModelConfig, as in ModelSource::config.
  /// Errors: INTERNAL the bytes are no ModelConfig.
  static Result<ConfigView> parse(std::string_view serialized);

  const inference::ModelConfig& message() const noexcept { return config_; }

 private:
  inference::ModelConfig config_;
};

}  // namespace atl::backends
