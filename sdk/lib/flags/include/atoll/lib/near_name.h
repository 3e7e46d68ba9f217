/// What was probably meant by a name that there is not.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "atoll/runtime/problems.h"

namespace atl::lib {

/// The known name that is most like the given one. Empty: no known name is near it.
inline std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known) {
  return runtime::nearest_word(name, known);
}

/// ", did you mean 'quota'?" if one of the known names is near; else empty.
inline std::string near_name(std::string_view name, std::span<const std::string_view> known) {
  return runtime::suggestion(name, known);
}

}  // namespace atl::lib
