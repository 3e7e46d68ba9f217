/// Large texts of JSON without a document of their size: the long arrays are found and left out, the rest is
/// small.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"

namespace atl::frontends::http {

/// An array of numbers, texts, flags, nulls and such arrays; nothing in it is an object.
struct LongArray {
  std::string_view text;    ///< "[...]", valid JSON but for the literals that json_document.h names
  uint64_t items = 0;       ///< of the outermost level, arrays too
  uint64_t elements = 0;    ///< values that are no arrays, of all levels
  uint64_t texts = 0;       ///< of them
  uint64_t text_bytes = 0;  ///< of the texts as they are meant, without escapes
};

/// Values (members' names included) that a text may have beside its long arrays: more than any request within
/// the limits on inputs, outputs, dimensions and parameters has.
inline constexpr uint64_t kMostOtherValues = 131072;
/// Arrays with more elements than this are long.
inline constexpr uint64_t kMostShortElements = 1024;
/// Names that begin so are ours: members of clients that do are refused where it matters.
inline constexpr char kOwnNames = '\x01';
/// The name of the only member of an object that stands for a long array; its value is the position.
inline constexpr std::string_view kLongArrayName = "\x01[";

/// A large text, read once.
struct ShortenedJson {
  std::vector<LongArray> arrays;  ///< point into the text that was read
  std::string
      text;  ///< the rest, each array replaced by an object; empty if there are no arrays: all is the rest

  /// Checks the whole text and sets both. Memory beside them does not grow with the text, but for its longest
  /// string. Time is linear. Errors: INVALID_ARGUMENT as JsonDocument::parse(), more than kMostOtherValues.
  /// Throws std::bad_alloc.
  Status read(std::string_view from);
  /// Empties both, and gives their memory back. Most texts are not large: then there is nothing to do.
  void release() noexcept {
    if (arrays.capacity() != 0) *this = {};
  }
};

}  // namespace atl::frontends::http
