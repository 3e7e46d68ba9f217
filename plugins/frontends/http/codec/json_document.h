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

#include "atoll/status.h"

namespace atl::frontends::http {

/// Bytes that must be readable behind a text given to JsonDocument::parse(). What they hold does not matter.
inline constexpr size_t kJsonPaddingBytes = 64;
/// Most objects and arrays inside each other.
inline constexpr uint32_t kMaxJsonDepth = 100;

using JsonElement = simdjson::dom::element;
using JsonObject = simdjson::dom::object;
using JsonArray = simdjson::dom::array;

/// One parsed text at a time. Memory is kept for the next one, up to that of texts of 1 MiB; release() gives
/// back more. Not thread safe: one a thread.
class JsonDocument {
 public:
  /// Parses the text in place: it is not copied and need not outlive the call, but kJsonPaddingBytes behind
  /// it must be readable. Memory used is at most about 16 times the text, 24 times if it is made of the
  /// literals above. Time is linear.
  /// Errors: INVALID_ARGUMENT as above; RESOURCE_EXHAUSTED no memory.
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

  /// Lets go of what a large text has taken. Call when done with a document.
  void release() noexcept;

 private:
  simdjson::error_code parse_strict(const char* text, size_t size, uint32_t depth) noexcept;
  /// The slow way: for the reason of a refusal, or for what simdjson does not know.
  /// Throws std::bad_alloc.
  Status parse_again(std::string_view text);
  static bool literal(JsonElement value, double* number) noexcept;

  simdjson::dom::parser parser_;
  JsonElement root_;
  bool has_literals_ = false;
  std::unique_ptr<char[]> copy_;
  size_t copy_bytes_ = 0;
};

}  // namespace atl::frontends::http
