/// Names of numbers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace atl::triton {

/// The name at the number's place; `otherwise` for a number that has none.
template <size_t kCount>
const char* name_of(const char* const (&names)[kCount], int number, const char* otherwise) noexcept {
  const auto index = static_cast<uint32_t>(number);
  return index < kCount ? names[index] : otherwise;
}

}  // namespace atl::triton
