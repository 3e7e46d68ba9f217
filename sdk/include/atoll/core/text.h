/// Small text helpers for messages. No allocation happens on the success path of callers, because messages
/// are only built when something failed.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace atl {

namespace text_detail {
inline void append(std::string& out, std::string_view text) { out.append(text); }
inline void append(std::string& out, char c) { out.push_back(c); }
// A template, because a literal would rather become a bool than a string_view.
template <std::same_as<bool> T>
void append(std::string& out, T value) {
  out.append(value ? "true" : "false");
}
template <std::integral T>
requires(!std::same_as<T, bool> && !std::same_as<T, char>) void append(std::string& out, T value) {
  char digits[24];
  auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, end);
}
template <std::floating_point T>
void append(std::string& out, T value) {
  char digits[32];
  auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, end);
}
template <class T>
concept Joinable =
    std::convertible_to<const T&, std::string_view> || std::integral<T> || std::floating_point<T>;
}  // namespace text_detail

/// Joins texts, characters, booleans and numbers: cat("got ", n, " inputs").
template <class... Parts>
std::string cat(const Parts&... parts) {
  static_assert((text_detail::Joinable<Parts> && ...),
                "cat() joins texts, characters, booleans and numbers; print a pointer or an object yourself");
  std::string out;
  (text_detail::append(out, parts), ...);
  return out;
}

/// A shape as the protocols print it: [-1,3].
inline std::string shape_text(std::span<const int64_t> shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i != 0) out.push_back(',');
    text_detail::append(out, shape[i]);
  }
  out.push_back(']');
  return out;
}

/// Text of fixed capacity inside trivially copyable structs (events). Longer texts are cut and end in "...".
template <size_t kCapacity>
class FixedText {
  static_assert(kCapacity > 8);

 public:
  FixedText() noexcept = default;
  template <class Text>
  requires std::convertible_to<const Text&, std::string_view> FixedText(const Text& from)
  noexcept {  // NOLINT(google-explicit-constructor): assigned from any text
    const std::string_view text = from;
    size_t size = text.size() < kCapacity ? text.size() : kCapacity - 1;
    if (size != 0) std::memcpy(data_, text.data(), size);
    if (size < text.size()) std::memcpy(data_ + size - 3, "...", 3);
    size_ = static_cast<uint32_t>(size);
  }
  std::string_view view() const noexcept { return {data_, size_}; }
  friend bool operator==(const FixedText& a, const FixedText& b) noexcept { return a.view() == b.view(); }

 private:
  uint32_t size_ = 0;
  char data_[kCapacity] = {};
};

}  // namespace atl
