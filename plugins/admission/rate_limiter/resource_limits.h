/// How many copies of resources the manifest says there are.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"

namespace atl::admission {

/// Entries "NAME:COUNT" (every device) and "NAME:COUNT:DEVICE". Of several for the same name and device the
/// smallest count holds. Names are matched as they are written.
class ResourceLimits {
 public:
  ResourceLimits() = default;
  /// Errors: INVALID_ARGUMENT quotes the entry and says what was expected.
  static Result<ResourceLimits> parse(const std::vector<std::string>& entries);

  /// Without any, a resource has as many copies as the instance that needs most of it.
  bool given() const noexcept { return !counts_.empty(); }
  /// The larger of the device's own count and the one of every device; 0 if neither is given.
  uint32_t of_device(std::string_view name, int32_t device_id) const noexcept;
  /// The largest count of the name, whatever its device; 0 if none is given.
  uint32_t global(std::string_view name) const noexcept;

 private:
  /// nullopt: every device.
  using Counts = std::map<std::optional<int32_t>, uint32_t>;
  std::map<std::string, Counts, std::less<>> counts_;
};

}  // namespace atl::admission
