#include "frontends/openai/answer/call_scanner.h"

#include <utility>

#include "atoll/lib/checked_document.h"

namespace atl::frontends::openai {
namespace {

constexpr size_t kKeyBytes = 64;
constexpr size_t kNameBytes = 256;
constexpr size_t kWordBytes = 8;  // as long as any that matters
/// Of arguments that stand before the name, or in quotes, and so have to be kept.
constexpr size_t kKeptBytes = size_t{1} << 20;

bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/// What a JSON string says. \param quoted  with its quotes \returns false: it is none
bool unquote(const std::string& quoted, std::string* text) {
  CheckedDocument document;
  document.Parse(quoted.data(), quoted.size());
  if (document.HasParseError() || !document.IsString()) return false;
  text->assign(document.GetString(), document.GetStringLength());
  return true;
}

}  // namespace

CallScanner::State CallScanner::add(std::string_view text, size_t* used) {
  const bool had_begun = has_begun_;
  for (*used = 0; *used < text.size() && place_ != Place::kEnd; ++*used) {
    if (has_begun_ != had_begun && stops_at_name_) break;
    if (!read(text[*used])) return State::kNoCall;
  }
  return place_ == Place::kEnd ? State::kEnded : State::kReading;
}

std::string CallScanner::take_arguments() {
  return has_begun_ ? std::exchange(arguments_, {}) : std::string();
}

bool CallScanner::read(char c) {
  const bool is_outside =
      place_ != Place::kKeyText && (place_ != Place::kValue || (!is_text_ && depth_ == 0));
  if (is_outside && is_blank(c) && !is_word_) return true;
  switch (place_) {
    case Place::kOpen:
      place_ = Place::kKeyOrEnd;
      return c == '{';
    case Place::kKeyOrEnd:
      if (c == '}') return end_object();
      [[fallthrough]];
    case Place::kKey:
      place_ = Place::kKeyText;
      key_.clear();
      return c == '"';
    case Place::kKeyText:
      if (c != '"') {
        key_ += c;
        return key_.size() <= kKeyBytes;
      }
      field_ = key_ == "name"                                ? Field::kName
               : key_ == "arguments" || key_ == "parameters" ? Field::kArguments
                                                             : Field::kOther;
      place_ = Place::kColon;
      return true;
    case Place::kColon:
      place_ = Place::kValue;
      depth_ = 0;
      is_text_ = is_word_ = in_quotes_ = is_escaped_ = false;
      text_.clear();
      return c == ':';
    case Place::kValue:
      if (!is_text_ && !is_word_ && depth_ == 0 && !begin_value(c)) return false;
      if (!is_word_) return read_value(c);
      if (c == ',' || c == '}' || is_blank(c)) return end_value() && read(c);
      if (text_.size() < kWordBytes) text_ += c;
      return true;
    case Place::kComma:
      if (c == '}') return end_object();
      place_ = Place::kKey;
      return c == ',';
    case Place::kEnd:
      break;
  }
  return false;
}

bool CallScanner::begin_value(char c) {
  is_text_ = c == '"';
  is_word_ = c != '"' && c != '{' && c != '[';  // or true, false, null
  if (is_word_ && !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-')) return false;
  if (field_ == Field::kName) return is_text_ && !std::exchange(has_name_, true);
  if (field_ != Field::kArguments) return true;
  // An object; a text that has the object; null.
  const bool can_be = c == '{' || c == '"' || c == 'n';
  if (!can_be || std::exchange(has_arguments_, true)) return false;
  if (c == '{') has_begun_ = !name_.empty();
  return true;
}

bool CallScanner::read_value(char c) {
  if (is_text_) {
    if (field_ != Field::kOther) text_ += c;
  } else if (field_ == Field::kArguments) {
    arguments_ += c;
  }
  bool ends = false;
  if (std::exchange(is_escaped_, false)) {
    // Whatever it is, it ends nothing.
  } else if (in_quotes_ && c == '\\') {
    is_escaped_ = true;
  } else if (c == '"') {
    in_quotes_ = !in_quotes_;
    ends = !in_quotes_ && depth_ == 0;
  } else if (!in_quotes_ && (c == '{' || c == '[')) {
    ++depth_;
  } else if (!in_quotes_ && (c == '}' || c == ']')) {
    ends = --depth_ == 0;
  }
  if (ends) return end_value();
  if (field_ == Field::kName) return text_.size() <= kNameBytes;
  return has_begun_ || (text_.size() <= kKeptBytes && arguments_.size() <= kKeptBytes);
}

bool CallScanner::end_value() {
  place_ = Place::kComma;
  const bool was_text = std::exchange(is_text_, false), was_word = std::exchange(is_word_, false);
  depth_ = 0;
  if (field_ == Field::kName) {
    if (!unquote(text_, &name_) || name_.empty()) return false;
  } else if (field_ == Field::kArguments) {
    if (was_word && text_ != "null") return false;
    if (was_text && !unquote(text_, &arguments_)) return false;
  }
  if (has_arguments_ && !name_.empty()) has_begun_ = true;
  return true;
}

bool CallScanner::end_object() {
  place_ = Place::kEnd;
  if (name_.empty() || (needs_arguments_ && !has_arguments_)) return false;
  has_begun_ = true;
  return true;
}

}  // namespace atl::frontends::openai
