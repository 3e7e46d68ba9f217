/// For the setters of a server's options.
#pragma once

#include <utility>

#include "error.h"

namespace atl::triton {

/// Runs what stores an option, and may find no memory.
template <class Store>
TRITONSERVER_Error* stored(Store&& store) noexcept {
  return guarded([&]() -> TRITONSERVER_Error* {
    std::forward<Store>(store)();
    return nullptr;
  });
}

}  // namespace atl::triton
