/// Finds a tensor's position in a configuration by name.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/models/model.h"

namespace atl::models {

/// Clients mostly send tensors in the order of the configuration, so a position is guessed first. Borrows the
/// specs.
class SpecNames {
 public:
  explicit SpecNames(const std::vector<TensorSpec>& specs) : specs_(specs) {
    if (specs.size() <= kScanMax) return;
    sorted_.reserve(specs.size());
    for (size_t i = 0; i < specs.size(); ++i) sorted_.emplace_back(specs[i].name, static_cast<int32_t>(i));
    std::sort(sorted_.begin(), sorted_.end());
  }

  /// \returns -1 for an unknown name.
  int32_t find(std::string_view name, size_t guess) const noexcept {
    if (guess < specs_.size() && specs_[guess].name == name) return static_cast<int32_t>(guess);
    if (sorted_.empty()) {
      for (size_t i = 0; i < specs_.size(); ++i) {
        if (specs_[i].name == name) return static_cast<int32_t>(i);
      }
      return -1;
    }
    auto at = std::lower_bound(sorted_.begin(), sorted_.end(), name,
                               [](const auto& entry, std::string_view key) { return entry.first < key; });
    return at != sorted_.end() && at->first == name ? at->second : -1;
  }

 private:
  static constexpr size_t kScanMax = 8;  // up to here comparing them all is as fast as a search
  const std::vector<TensorSpec>& specs_;
  std::vector<std::pair<std::string_view, int32_t>> sorted_;
};

}  // namespace atl::models
