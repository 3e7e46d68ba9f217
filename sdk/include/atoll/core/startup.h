/// Whether the server has done what it does at its start. Service "atoll.startup/1", provided by
/// the model catalog; a program that has the server inside waits with it before it sends requests.
///
///     while (!startup->complete()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
#pragma once

#include <string_view>

namespace atl {

/// One flag. [any]
class Startup {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.startup/1";

  /// True when every model that was to be loaded at the start has been loaded or has failed. Once
  /// true, the answer stays so; which models serve is asked of the catalog. The answer never gets
  /// true while the repository cannot be listed, nor when the server has begun to end before.
  virtual bool complete() const noexcept = 0;

 protected:
  ~Startup() = default;
};

}  // namespace atl
