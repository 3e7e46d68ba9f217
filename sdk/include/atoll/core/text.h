/// Small helpers for texts: messages of failures, lines of logs, texts in events.
///
///     return invalid_argument("input '", name, "': found shape ", shape_text(found), ", expected ",
///                             shape_text(expected));           // joined as cat() joins its parts
///     const std::string key = cat(model, "/", version);        // "resnet50/3"
///
/// cat() and shape_text() allocate, and may throw std::bad_alloc. Callers build messages only when
/// something has failed, so that success allocates nothing. All functions may be called on any
/// thread.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace atl {

/// How cat() writes its parts; callers need nothing of this namespace.
namespace text_detail {
/// Each of these functions writes one part at the end of `out`. Numbers are written as
/// std::to_chars writes them, the same in every locale.
inline void append(std::string& out, std::string_view text) { out.append(text); }
/// A character as itself, not as its number.
inline void append(std::string& out, char c) { out.push_back(c); }
// A template, because a literal would rather become a bool than a string_view.
template <std::same_as<bool> T>
void append(std::string& out, T value) {
  out.append(value ? "true" : "false");
}
// Enough for 64 bits with a sign.
template <std::integral T>
requires(!std::same_as<T, bool> && !std::same_as<T, char>) void append(std::string& out, T value) {
  char digits[24];
  auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, end);
}
/// With the fewest digits that read back as the same number: 0.1, not 0.10000000000000001.
template <std::floating_point T>
void append(std::string& out, T value) {
  // Enough for the shortest form of any double.
  char digits[32];
  auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, end);
}
/// What cat() takes. Pointers are left out on purpose: nobody wants an address in a message. Other
/// objects write their own text, as shape_text() does.
template <class T>
concept Joinable =
    std::convertible_to<const T&, std::string_view> || std::integral<T> || std::floating_point<T>;
}  // namespace text_detail

/// Joins texts, characters, booleans and numbers to one new text:
///
///     cat("got ", 3, " inputs, expected ", 4)  // "got 3 inputs, expected 4"
///     cat("ratio ", 0.5, ", exact: ", true)    // "ratio 0.5, exact: true"
///
/// An enumerator has to be cast to a number, or given by its name. [any]
template <class... Parts>
std::string cat(const Parts&... parts) {
  static_assert((text_detail::Joinable<Parts> && ...),
                "cat() joins texts, characters, booleans and numbers; print a pointer or an object yourself");
  std::string out;
  (text_detail::append(out, parts), ...);
  return out;
}

/// A shape as the protocols and Triton's messages print it: "[-1,3]", and "[]" for a tensor without
/// dimensions. -1 is a dimension of any size: a shape of a model's configuration has such
/// dimensions, a tensor's own shape has none. [any]
inline std::string shape_text(std::span<const int64_t> shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i != 0) out.push_back(',');
    text_detail::append(out, shape[i]);
  }
  out.push_back(']');
  return out;
}

/// A text inside of a trivially copyable struct, such as an event (events.h): the text lies in the
/// struct itself, and no pointer leads out of it, so the struct may be copied as bytes and outlive
/// whoever made it.
///
///     struct MyEvent {
///       FixedText<128> model;  // up to 127 bytes
///     };
///     event.model = std::string_view(name);
///
/// There is room for kCapacity - 1 bytes. A longer text is cut, which may be in the middle of a
/// character, and ends in "...".
template <size_t kCapacity>
class FixedText {
  static_assert(kCapacity > 8);

 public:
  /// The empty text.
  FixedText() noexcept = default;
  /// Copies a text, implicitly, so that `event.reason = status.message()` works. Neither allocates
  /// nor throws.
  template <class Text>
  requires std::convertible_to<const Text&, std::string_view> FixedText(const Text& from)
  noexcept {  // NOLINT(google-explicit-constructor): assigned from any text
    const std::string_view text = from;
    size_t size = text.size() < kCapacity ? text.size() : kCapacity - 1;
    if (size != 0) std::memcpy(data_, text.data(), size);
    // The last three bytes of a text that was cut.
    if (size < text.size()) std::memcpy(data_ + size - 3, "...", 3);
    size_ = static_cast<uint32_t>(size);
  }
  /// The text, borrowed from this object.
  std::string_view view() const noexcept { return {data_, size_}; }
  /// Equal texts; what lies behind them does not count.
  friend bool operator==(const FixedText& a, const FixedText& b) noexcept { return a.view() == b.view(); }

 private:
  /// Bytes of the text.
  uint32_t size_ = 0;
  /// The text, and zeros behind it: nothing else of the process's memory is copied along with the
  /// struct.
  char data_[kCapacity] = {};
};

}  // namespace atl
