/// A value as someone wrote it, before its type is checked: what a manifest's parser hands to the option
/// reader.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "atoll/runtime/problems.h"

namespace atl::runtime {

struct RawValue {
  /// A date, time or both, as written.
  struct Time {
    std::string text;
  };
  struct Member;
  using Array = std::vector<RawValue>;
  using Table = std::vector<Member>;  ///< in the order of the text, overrides last; keys are unique

  std::variant<bool, int64_t, double, std::string, Time, Array, Table> data;  ///< false to begin with
  SourceLocation where;

  const Table* table() const { return std::get_if<Table>(&data); }
  Table* table() { return std::get_if<Table>(&data); }
  /// The member named `key` of a table, else null.
  const Member* find(std::string_view key) const;
  Member* find(std::string_view key);
};

struct RawValue::Member {
  std::string key;
  SourceLocation where;  ///< of the key
  RawValue value;
};

/// What stands there, for error messages: string "lots", integer 5, table.
std::string found_text(const RawValue& value);

/// Reads the forms that option tables use: true, -2, 0.5, ["a", "b"], { key = "value" }. Strings have no
/// escapes. Null for any other text.
std::optional<RawValue> parse_literal(std::string_view text);

}  // namespace atl::runtime
