/// What schedulers add to requests.
#pragma once

#include <string_view>

#include "atoll/request/request.h"

namespace atl::schedulers {

/// The request's input of this name, or a new one. The reference holds until the next one is added.
inline InputTensor& input_named(Request& request, std::string_view name) noexcept {
  for (InputTensor& input : request.inputs) {
    if (input.name == name) return input;
  }
  return request.add_input();
}

}  // namespace atl::schedulers
