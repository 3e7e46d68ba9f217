/// Model control: what should be served, and whether clients may say so. Service "atoll.model_control/1".
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/request/tensor.h"

namespace atl {

/// A load parameter: "config" (JSON text) or "file:<path>" (bytes), or `unload_dependents` (bool).
struct ModelControlParameter {
  std::string key;
  ParameterType type = ParameterType::kString;
  std::string text;
  bool bool_value = false;
  int64_t int_value = 0;
};

/// [any]; never blocks: `done` is called once, on this or another thread.
class ModelControl {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.model_control/1";
  static constexpr bool kOneProvider = true;  ///< two would load and unload against each other
  using Done = std::function<void(Status)>;

  /// "none", "poll", "explicit".
  virtual std::string_view mode() const noexcept = 0;
  /// Errors in modes none and poll: UNAVAILABLE "explicit model load / unload is not allowed if polling is
  /// enabled".
  virtual void load(std::string model, std::vector<ModelControlParameter> parameters, Done done) noexcept = 0;
  virtual void unload(std::string model, std::vector<ModelControlParameter> parameters,
                      Done done) noexcept = 0;

 protected:
  ~ModelControl() = default;
};

}  // namespace atl
