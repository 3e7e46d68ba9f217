/// Model control that clients have no part in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "atoll/models/model_control.h"

namespace atl::control {

/// Refuses every call. [any]
class ClosedControl final : public ModelControl {
 public:
  /// \param mode  a literal
  explicit ClosedControl(std::string_view mode) noexcept : mode_(mode) {}
  virtual ~ClosedControl() = default;

  std::string_view mode() const noexcept override { return mode_; }
  void load(std::string, std::vector<ModelControlParameter>, Done done) noexcept override { refuse(done); }
  void unload(std::string, std::vector<ModelControlParameter>, Done done) noexcept override { refuse(done); }

 private:
  static void refuse(const Done& done) {
    done(unavailable("explicit model load / unload is not allowed if polling is enabled"));
  }

  const std::string_view mode_;
};

}  // namespace atl::control
