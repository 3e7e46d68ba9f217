/// One value of an option's type.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "atoll/abi/plugin.h"
#include "atoll/runtime/raw_value.h"

namespace atl::runtime {

/// The alternative in use follows from the type: INT and DURATION are int64_t, BYTES is uint64_t.
struct TypedValue {
  uint32_t type = ATOLL_OPTION_BOOL;
  std::variant<bool, int64_t, double, std::string, uint64_t, std::vector<std::string>,
               std::map<std::string, std::string>>
      data = false;
  bool operator==(const TypedValue&) const = default;
};

/// The row's default; empty, 0 or false if it has none.
TypedValue default_value(const atoll_option_v1& row);

/// The raw value as `type`; null if it is another or out of that type's domain.
std::optional<TypedValue> typed_value(uint32_t type, const RawValue& raw);

/// A default, minimum or maximum, as texts in tables are written. Strings stand bare.
std::optional<TypedValue> parse_typed_value(uint32_t type, const char* text);

/// Whether the value is one of the row's choices and within its range; a bound that is missing or malformed
/// does not bind (check_option_table() refuses malformed ones).
bool is_allowed(const atoll_option_v1& row, const TypedValue& value);

}  // namespace atl::runtime
