/// Calling what may throw from functions that may not.
#pragma once

#include <exception>
#include <string_view>
#include <type_traits>

#include "atoll/status.h"

namespace atl {

/// Calls a function that returns a Status, a Result or nothing, for which it is a Status. What it throws becomes
/// an INTERNAL failure: "<what> threw: <why>".
template <class Function>
auto guarded(std::string_view what, Function&& function) noexcept {
  using Returned = decltype(function());
  using Outcome = std::conditional_t<std::is_void_v<Returned>, Status, Returned>;
  try {
    if constexpr (std::is_void_v<Returned>) {
      function();
      return Outcome();
    } else {
      return Outcome(function());
    }
  } catch (const std::exception& error) {
    return Outcome(internal_error(what, " threw: ", error.what()));
  } catch (...) {
    return Outcome(internal_error(what, " threw something that is not a std::exception"));
  }
}

}  // namespace atl
