/// What is behind the '?' of a call.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include "atoll/core/status.h"

namespace atl::pools {

/// Names and values of a query, "force=true&pool=fraud". A mistake in it is refused and never read as something else: a flag that was
/// meant to be off must not delete a pool.
class Query {
 public:
  /// Errors: INVALID_ARGUMENT a name comes twice.
  static Result<Query> parse(std::string_view text);

  /// Errors: INVALID_ARGUMENT there is a name that the call does not have.
  Status allow(std::initializer_list<std::string_view> names) const;
  /// "true" or "1", "false" or "0", in any case; not given: false. Errors: INVALID_ARGUMENT it is something else, or nothing.
  Result<bool> flag(std::string_view name) const;
  /// Not given: empty.
  std::string text(std::string_view name) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace atl::pools
