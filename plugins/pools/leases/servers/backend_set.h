/// Sets of backends, small enough to be compared for a thousand instances in a microsecond.
#pragma once

#include <bitset>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/text.h"

namespace atl::pools {

inline constexpr size_t kBackendsMax = 256;  ///< different ones, in all pools

/// By number; see BackendNames.
using BackendSet = std::bitset<kBackendsMax>;

inline bool is_subset(const BackendSet& part, const BackendSet& whole) noexcept {
  return (part & ~whole).none();
}

/// The numbers of backends' names, which are given in the order in which they are met. [one thread at a time]
class BackendNames {
 public:
  /// \returns nothing if there are kBackendsMax others
  std::optional<size_t> number_of(std::string_view name) {
    for (size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == name) return i;
    }
    if (names_.size() == kBackendsMax) return std::nullopt;
    names_.emplace_back(name);
    return names_.size() - 1;
  }
  /// \returns whether it has a number; then it is in the set
  bool add(std::string_view name, BackendSet& set) {
    const std::optional<size_t> number = number_of(name);
    if (number) set.set(*number);
    return number.has_value();
  }
  std::vector<std::string> names_of(const BackendSet& set) const {
    std::vector<std::string> names;
    for (size_t i = 0; i < names_.size(); ++i) {
      if (set.test(i)) names.push_back(names_[i]);
    }
    return names;
  }
  /// "onnxruntime, python"
  std::string text_of(const BackendSet& set) const {
    std::string text;
    for (const std::string& name : names_of(set)) text += cat(text.empty() ? "" : ", ", name);
    return text;
  }

 private:
  std::vector<std::string> names_;
};

}  // namespace atl::pools
