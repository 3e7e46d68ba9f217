/// One line of a file of keys: who may do what, by a token.
///
///     ci:9f86d081...:inference@fraud-*,metadata,health:tenant=fraud;expires=2027-01-31T00:00:00Z
///
/// Tokens are "atk_<id>_<random>" and stand nowhere: not in the file, nor in a message made here.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/frontend/access.h"

namespace atl {

inline constexpr std::string_view kKeyTokenBegin = "atk_";

using Sha256 = std::array<uint8_t, 32>;

/// What a caller may do. Read-only after parse(). [any]
class Permissions {
 public:
  /// \param text  "*", or "<category>" and "<category>@<pattern>" with commas between them
  /// Errors: INVALID_ARGUMENT an unknown category, an empty pattern, nothing.
  static Result<Permissions> parse(std::string_view text) noexcept;

  /// As Identity::may() and may_all().
  bool may(std::string_view category, std::string_view model) const noexcept;
  bool may_all(std::string_view category) const noexcept;

 private:
  struct Permission {
    std::string category;
    std::string pattern;    ///< of models; empty: all calls of the category
    bool is_group = false;  ///< the first word of categories of plugins: "openai"
    bool is_for(std::string_view name) const noexcept;
  };
  bool is_all_ = false;
  std::vector<Permission> list_;
};

/// One line.
struct KeyLine {
  std::string id;
  Sha256 digest{};
  Permissions permissions;
  std::string permissions_text;  ///< as it stands in the line
  std::string tenant;
  std::string expires_text;
  std::optional<int64_t> expires_s;  ///< since 1970, UTC
};

/// Errors: INVALID_ARGUMENT, without what stands where the digest belongs.
Result<KeyLine> parse_key_line(std::string_view line) noexcept;

/// Whether a text is of the pattern, in which '*' stands for any characters, also none. Takes no more time than the
/// product of both lengths.
bool matches_pattern(std::string_view pattern, std::string_view text) noexcept;

/// Whether it is 1 to 64 lower-case letters, digits and '-'.
bool is_key_id(std::string_view text) noexcept;

}  // namespace atl
