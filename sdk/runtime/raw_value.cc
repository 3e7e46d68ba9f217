#include "atoll/runtime/raw_value.h"

#include <algorithm>
#include <charconv>

namespace atl::runtime {
namespace {

constexpr size_t kShownBytesMax = 60;

class LiteralReader {
 public:
  explicit LiteralReader(std::string_view text) : rest_(text) {}

  std::optional<RawValue> read() {
    skip_blanks();
    RawValue value;
    bool good = take('[')   ? list(value.data.emplace<RawValue::Array>())
                : take('{') ? map(value.data.emplace<RawValue::Table>())
                            : scalar(value);
    skip_blanks();
    return good && rest_.empty() ? std::optional(std::move(value)) : std::nullopt;
  }

 private:
  bool list(RawValue::Array& out) {
    return items(']', [&] { return string(out.emplace_back()); });
  }

  bool map(RawValue::Table& out) {
    return items('}', [&] {
      auto& member = out.emplace_back();
      if (rest_.starts_with('"') || rest_.starts_with('\'')) {
        RawValue key;
        if (!string(key)) return false;
        member.key = std::get<std::string>(key.data);
      } else {
        member.key = word(" =");
      }
      skip_blanks();
      if (member.key.empty() || !take('=')) return false;
      skip_blanks();
      return string(member.value);
    });
  }

  template <class Item>
  bool items(char end, const Item& item) {
    for (skip_blanks(); !take(end); skip_blanks()) {
      if (!item()) return false;
      skip_blanks();
      if (!take(',') && !rest_.starts_with(end)) return false;
    }
    return true;
  }

  bool string(RawValue& out) {
    if (!rest_.starts_with('"') && !rest_.starts_with('\'')) return false;
    size_t end = rest_.find(rest_[0], 1);
    std::string_view text = rest_.substr(1, end == std::string_view::npos ? 0 : end - 1);
    if (end == std::string_view::npos || text.find('\\') != std::string_view::npos) return false;
    out.data = std::string(text);
    rest_.remove_prefix(end + 1);
    return true;
  }

  bool scalar(RawValue& out) {
    std::string_view text = word(" \t");
    if (text == "true" || text == "false") {
      out.data = text == "true";
      return true;
    }
    return number<int64_t>(text, out) || number<double>(text, out);
  }

  template <class T>
  static bool number(std::string_view text, RawValue& out) {
    T value{};
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return false;
    out.data = value;
    return true;
  }

  std::string_view word(std::string_view ends) {
    auto text = rest_.substr(0, rest_.find_first_of(ends));
    rest_.remove_prefix(text.size());
    return text;
  }
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size())); }

  std::string_view rest_;
};

}  // namespace

const RawValue::Member* RawValue::find(std::string_view key) const {
  if (table() == nullptr) return nullptr;
  auto found =
      std::find_if(table()->begin(), table()->end(), [&](const Member& member) { return member.key == key; });
  return found == table()->end() ? nullptr : &*found;
}

RawValue::Member* RawValue::find(std::string_view key) {
  return const_cast<Member*>(static_cast<const RawValue*>(this)->find(key));
}

std::string found_text(const RawValue& value) {
  struct Describe {
    std::string operator()(bool v) const { return cat("boolean ", v); }
    std::string operator()(int64_t v) const { return cat("integer ", v); }
    std::string operator()(double v) const { return cat("float ", v); }
    std::string operator()(const std::string& v) const {
      return cat("string \"", v.substr(0, kShownBytesMax), v.size() > kShownBytesMax ? "..." : "", '"');
    }
    std::string operator()(const RawValue::Time& v) const { return cat("date or time ", v.text); }
    std::string operator()(const RawValue::Array&) const { return "array"; }
    std::string operator()(const RawValue::Table&) const { return "table"; }
  };
  return std::visit(Describe{}, value.data);
}

std::optional<RawValue> parse_literal(std::string_view text) { return LiteralReader(text).read(); }

}  // namespace atl::runtime
