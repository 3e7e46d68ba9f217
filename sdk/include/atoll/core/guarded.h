/// Calls of functions that may throw, from functions that may not. Functions of interfaces are
/// noexcept: an exception that leaves one of them ends the process.
///
///     Result<Model> load(const std::string& path) noexcept {
///       return guarded("reading the model", [&]() -> Result<Model> { return parse(read(path)); });
///     }
///
/// Foreign libraries, std::filesystem and regular expressions throw; so does each allocation when
/// there is no memory. Where nothing throws, the guard costs nothing, so it may stand on the
/// request path.
#pragma once

#include <exception>
#include <new>
#include <string_view>
#include <type_traits>

#include "atoll/core/status.h"

namespace atl {

/// Calls a function that returns a Status, a Result or nothing, on the calling thread, and turns
/// what it throws into a failure.
/// \param what  the subject of the failure's message: "reading the model"
/// \param function  called once, without arguments
/// \returns what the function returned; for a function that returns nothing, whether it threw.
/// Errors, if it throws: RESOURCE_EXHAUSTED for std::bad_alloc, "<what>: the server has not enough
/// memory for it"; INTERNAL for anything else, "<what> threw: <why>". [any]
template <class Function>
auto guarded(std::string_view what, Function&& function) noexcept
    -> std::conditional_t<std::is_void_v<decltype(function())>, Status, decltype(function())> {
  try {
    // A function without a result has succeeded when it returns.
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
