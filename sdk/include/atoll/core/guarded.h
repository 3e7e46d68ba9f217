/// Calling what may throw from functions that may not.
#pragma once

#include <exception>
#include <new>
#include <string_view>
#include <type_traits>

#include "atoll/core/status.h"

namespace atl {

/// Calls a function that returns a Status, a Result or nothing. What it throws becomes an INTERNAL failure:
/// "<what> threw: <why>"; a want of memory is RESOURCE_EXHAUSTED. \returns what the function returned; of one that returns nothing, whether it threw
template <class Function>
auto guarded(std::string_view what, Function&& function) noexcept
    -> std::conditional_t<std::is_void_v<decltype(function())>, Status, decltype(function())> {
  try {
    if constexpr (std::is_void_v<decltype(function())>) {
      function();
      return Status();
    } else {
      return function();
    }
  } catch (const std::bad_alloc&) {
    return make_status(Code::kResourceExhausted, what, ": the server has not enough memory for it");
  } catch (const std::exception& error) {
    return internal_error(what, " threw: ", error.what());
  } catch (...) {
    return internal_error(what, " threw something that is not a std::exception");
  }
}

}  // namespace atl
