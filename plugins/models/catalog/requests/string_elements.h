/// Checks the bytes of a BYTES tensor: a sequence of elements, each a 4-byte little-endian length and as many
/// bytes. Lengths and elements may cross buffers.
#pragma once

#include <cstdint>
#include <span>

#include "atoll/request/tensor.h"

namespace atl::models {

enum class StringElementsFault : uint32_t {
  kNone,
  kTruncatedLength,  ///< 1 to 3 bytes are left where a length is expected
  kTruncatedData,    ///< an element is longer than what is left
  kTooMany,
  kTooFew,
};

struct StringElementsCheck {
  StringElementsFault fault = StringElementsFault::kNone;
  uint64_t found = 0;     ///< kTooMany, kTooFew: elements; kTruncated*: bytes that are there
  uint64_t expected = 0;  ///< kTruncatedData: bytes of the element
};

/// Reads lengths only, so the cost grows with the elements, not with the bytes. \param buffers CPU memory
StringElementsCheck check_string_elements(std::span<const Buffer> buffers, uint64_t elements) noexcept;

}  // namespace atl::models
