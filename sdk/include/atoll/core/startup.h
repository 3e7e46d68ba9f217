/// Whether the server has done what it does at start. Service "atoll.startup/1", provided by the model catalog.
#pragma once

#include <string_view>

namespace atl {

class Startup {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.startup/1";

  /// What was to be loaded at start is loaded, or has failed. Once true it stays so. It never gets true if the
  /// repository cannot be listed. [any]
  virtual bool complete() const noexcept = 0;

 protected:
  ~Startup() = default;
};

}  // namespace atl
