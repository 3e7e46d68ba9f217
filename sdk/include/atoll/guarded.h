/// Calling what may throw from functions that may not.
#pragma once

#include <exception>
#include <string_view>

#include "atoll/status.h"

namespace atl {

/// Calls a function that returns a Status or a Result. What it throws becomes an INTERNAL failure: "<what> threw:
/// <why>".
template <class Function>
auto guarded(std::string_view what, Function&& function) noexcept -> decltype(function()) {
  try {
    return function();
  } catch (const std::exception& error) {
    return internal_error(what, " threw: ", error.what());
  } catch (...) {
    return internal_error(what, " threw something that is not a std::exception");
  }
}

}  // namespace atl
