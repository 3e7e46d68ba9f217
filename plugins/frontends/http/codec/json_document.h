/// JSON that came from a client: parsed by simdjson, judged by the rules clients know.
///
/// What is accepted is standard JSON (UTF-8, paired surrogates, at most 100 levels of nesting) and, because
/// clients send them, the number literals NaN, Inf, Infinity, -Inf and -Infinity and integers of any length
/// (which then are doubles). Everything else fails with INVALID_ARGUMENT and the protocol's text
/// "failed to parse the request JSON buffer: <reason> at <offset>". See json_values.h for reading values.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "atoll/core/status.h"
#include "frontends/http/codec/long_arrays.h"

namespace atl::frontends::http {

/// Bytes that must be readable behind a text given to JsonDocument::parse(). What they hold does not matter.
inline constexpr size_t kJsonPaddingBytes = 64;
/// Larger texts are parsed without their long arrays.
inline constexpr size_t kSmallJsonBytes = size_t{1} << 20;
/// Most objects and arrays inside each other.
inline constexpr uint32_t kMaxJsonDepth = 100;

using JsonElement = simdjson::dom::element;
using JsonObject = simdjson::dom::object;
using JsonArray = simdjson::dom::array;

/// One parsed text at a time. Memory is kept for the next one, up to that of texts of kSmallJsonBytes;
/// release() gives back more. Not thread safe: one a thread.
///
/// A text up to that size takes at most 24 times its size, but that is the thread's, whatever the number of
/// requests. Larger ones are read twice: once to check them and to find their long arrays, which are left out
/// of the document, and once where such an array is used. They take less than twice their size.
class JsonDocument {
 public:
  /// Parses the text in place: it is not copied and must outlive what is read from the document.
  /// kJsonPaddingBytes behind it must be readable. Time is linear.
  /// Errors: INVALID_ARGUMENT as above, more than kMostOtherValues in a large text; RESOURCE_EXHAUSTED no
  /// memory.
  Status parse(std::string_view text) noexcept;

  /// The same for a text that has nothing behind it; copies it first. For management calls.
  Status parse_unpadded(std::string_view text) noexcept;

  /// Only after parse() succeeded. It, and all that is read from it, texts included, is valid until the next
  /// parse() or release().
  JsonElement root() const noexcept { return root_; }

  /// Whether `value` is a number, or one of the literals above. Sets *number. An ordinary get_double() does
  /// not know the literals.
  bool number(JsonElement value, double* number) const noexcept {
    if (value.get_double().get(*number) == simdjson::SUCCESS) return true;
    return has_literals_ && literal(value, number);
  }

  /// Whether `value` is -0 written as an integer, which get_int64() does not know.
  bool is_minus_zero(JsonElement value) const noexcept {
    double number = 1;
    return has_literals_ && literal(value, &number) && number == 0;
  }

  /// The array that the value stands for if it was left out of the document, else null. Any array that is
  /// read may be one.
  const LongArray* long_array(JsonElement value) const noexcept {
    return shortened_.arrays.empty() ? nullptr : find_long_array(value);
  }

  /// Lets go of what a large text has taken. Call when done with a document.
  void release() noexcept;

 private:
  /// \param text  small, or what is left of a large one. Throws std::bad_alloc.
  Status parse_whole(std::string_view text);
  simdjson::error_code parse_strict(const char* text, size_t size, uint32_t depth) noexcept;
  /// The slow way: for the reason of a refusal, or for what simdjson does not know.
  /// \param was_parsed  simdjson has taken the text, which may have a -0. Throws std::bad_alloc.
  Status parse_again(std::string_view text, bool was_parsed);
  static bool literal(JsonElement value, double* number) noexcept;
  const LongArray* find_long_array(JsonElement value) const noexcept;

  simdjson::dom::parser parser_;
  JsonElement root_;
  bool has_literals_ = false;
  ShortenedJson shortened_;
  std::unique_ptr<char[]> copy_;
  size_t copy_bytes_ = 0;
};

}  // namespace atl::frontends::http
