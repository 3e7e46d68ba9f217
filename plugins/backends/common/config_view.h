/// A model's configuration as a backend reads it: parsed once when the model loads, never per request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "atoll/backend.h"
#include "atoll/status.h"
#include "model_config.pb.h"

namespace atl::backends {

/// ModelConfig's element type as the SDK's; both use the same numbers.
constexpr DataType data_type_of(inference::DataType type) noexcept { return static_cast<DataType>(type); }
/// And back; TYPE_INVALID for kInvalid.
constexpr inference::DataType config_data_type_of(DataType type) noexcept {
  return static_cast<inference::DataType>(type);
}

/// Owns the parsed message. Movable. Reading is thread safe.
class ConfigView {
 public:
  /// \param serialized  bytes of inference.ModelConfig, as in ModelSource::config.
  /// Errors: INTERNAL the bytes are no ModelConfig.
  static Result<ConfigView> parse(std::string_view serialized);

  const inference::ModelConfig& message() const noexcept { return config_; }
  const std::string& name() const noexcept { return config_.name(); }
  uint32_t max_batch_size() const noexcept {
    return config_.max_batch_size() > 0 ? static_cast<uint32_t>(config_.max_batch_size()) : 0;
  }
  bool decoupled() const noexcept { return config_.model_transaction_policy().decoupled(); }

  /// The text of `parameters { key: "<key>" value { string_value: "<text>" } }`; nothing if the key is
  /// missing. Borrowed from this object.
  std::optional<std::string_view> parameter(std::string_view key) const;
  /// The same as a decimal number. A missing key gives the fallback.
  /// Errors: INVALID_ARGUMENT not a number, or outside minimum..maximum; names model, key, found, expected.
  Result<int64_t> int_parameter(std::string_view key, int64_t fallback, int64_t minimum,
                                int64_t maximum) const;
  /// The same as "true", "false", "1" or "0".
  /// Errors: INVALID_ARGUMENT any other text.
  Result<bool> bool_parameter(std::string_view key, bool fallback) const;

 private:
  inference::ModelConfig config_;
};

}  // namespace atl::backends
