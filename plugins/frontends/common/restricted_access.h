/// Calls that only clients with a key may make.
///
/// The manifest names groups of calls and, for each group, a key and the value to present with it:
/// "model-repository,logging:admin-key=s3cret". Values are secrets: they are in no message made here.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/status.h"

namespace atl::frontends {

enum class ApiCategory : uint32_t {
  kHealth,
  kMetadata,
  kInference,
  kSharedMemory,
  kModelConfig,
  kModelRepository,
  kStatistics,
  kTrace,
  kLogging
};
inline constexpr uint32_t kApiCategoryCount = 9;

/// "health", "shared-memory".
std::string_view api_category_name(ApiCategory category) noexcept;

/// Whether a name may be that of a category which a plugin brings: lower case letters, digits, '-', '_', and
/// a dot inside, which those of the frontends do not have; 64 bytes at most. Not one of theirs with a dot in
/// place of '-', which is a mistake.
bool is_own_category(std::string_view name) noexcept;

/// Read-only after parse(). [any]
class RestrictedAccess {
 public:
  /// Nothing is restricted.
  RestrictedAccess() noexcept = default;

  /// \param entries  "<category>,<category>:<key>=<value>" each; the value may hold any character.
  /// \param word     what this transport calls them in messages: "protocol" or "api".
  /// \param takes_own  categories may be named that plugins bring, which need not be there now
  /// Errors: INVALID_ARGUMENT not of this form, an unknown category, a category named twice.
  static Result<RestrictedAccess> parse(const std::vector<std::string>& entries, std::string_view word,
                                        bool takes_own = false) noexcept;

  /// The key to present for calls of this category; null: they are free. Lives as long as this object.
  const std::string* key_of(ApiCategory category) const noexcept {
    const Group& group = groups_[static_cast<uint32_t>(category)];
    return group.key.empty() ? nullptr : &group.key;
  }

  /// The same of a category that is a plugin's own.
  const std::string* key_of(std::string_view own_category) const noexcept {
    const auto group = own_groups_.find(own_category);
    return group == own_groups_.end() ? nullptr : &group->second.key;
  }

  /// Whether a call may be made. \param presented  every value that the client sent under the key; several
  /// are refused even if one of them is right. Takes the same time wherever a wrong value differs.
  bool allows(ApiCategory category, std::span<const std::string_view> presented) const noexcept;
  bool allows(std::string_view own_category, std::span<const std::string_view> presented) const noexcept;

 private:
  struct Group {
    std::string key;  ///< empty: free
    std::string value;
  };
  static bool allows(const Group& group, std::span<const std::string_view> presented) noexcept;

  std::array<Group, kApiCategoryCount> groups_;
  std::map<std::string, Group, std::less<>> own_groups_;
};

}  // namespace atl::frontends
