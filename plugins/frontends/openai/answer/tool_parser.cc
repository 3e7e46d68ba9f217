#include "frontends/openai/answer/tool_parser.h"

#include <algorithm>
#include <utility>

#include "atoll/lib/partial_match.h"

namespace atl::frontends::openai {
namespace {

/// Of blanks that are kept until it is known what follows.
constexpr size_t kBlankBytes = 1024;

constexpr std::string_view kBlanks = " \t\r\n";

std::string_view mark_of(ToolSyntax syntax) noexcept {
  switch (syntax) {
    case ToolSyntax::kHermes:
      return "<tool_call>";
    case ToolSyntax::kLlama3:
      return "<|python_tag|>";
    case ToolSyntax::kMistral:
      return "[TOOL_CALLS]";
    case ToolSyntax::kList:
    case ToolSyntax::kArguments:
      break;
  }
  return {};
}

void add_part(std::vector<AnswerPart>& parts, AnswerPart::Kind kind, uint32_t call, std::string_view text) {
  AnswerPart& part = parts.emplace_back();
  part.kind = kind;
  part.call = call;
  part.text = text;
}

size_t blanks_before(std::string_view text) noexcept {
  return std::min(text.find_first_not_of(kBlanks), text.size());
}

}  // namespace

std::optional<ToolSyntax> tool_syntax_of(std::string_view name) noexcept {
  if (name == "hermes") return ToolSyntax::kHermes;
  if (name == "llama3" || name == "llama3_json") return ToolSyntax::kLlama3;
  if (name == "mistral") return ToolSyntax::kMistral;
  return std::nullopt;
}

ToolParser::ToolParser(Options options)
    : options_(std::move(options)),
      mark_(mark_of(options_.syntax)),
      end_mark_(options_.syntax == ToolSyntax::kHermes ? "</tool_call>" : "") {
  if (options_.syntax == ToolSyntax::kLlama3 || options_.syntax == ToolSyntax::kArguments)
    place_ = Place::kStart;
  if (options_.syntax == ToolSyntax::kList) place_ = Place::kBefore;
}

void ToolParser::add(std::string_view text, Parts& parts) {
  while (!text.empty()) {
    size_t used = 0;
    switch (place_) {
      case Place::kStart:
        used = read_start(text, parts);
        break;
      case Place::kText:
        used = read_text(text, parts);
        break;
      case Place::kBefore:
        used = read_before(text, parts);
        break;
      case Place::kCall:
        used = read_call(text, parts);
        break;
      case Place::kBetween:
        used = read_between(text, parts);
        break;
      case Place::kArguments:
        used = read_arguments(text, parts);
        break;
      case Place::kDone:
        return;
    }
    text.remove_prefix(used);
  }
}

void ToolParser::finish(Parts& parts) {
  if (place_ == Place::kCall && !scanner_->has_begun()) give_up(parts);
  // The mark without anything behind it stays text as well.
  if (place_ == Place::kStart || place_ == Place::kBefore) add_text(std::exchange(raw_, {}), parts);
  add_text(std::exchange(held_, {}), parts);
  if (calls_ == 0 && !blanks_.empty()) flush_blanks(parts);
}

size_t ToolParser::read_start(std::string_view text, Parts& parts) {
  const size_t blanks = blanks_before(text);
  raw_ += text.substr(0, blanks);
  if (blanks == text.size()) {
    if (raw_.size() > kBlankBytes) give_up(parts);
    return blanks;
  }
  if (text[blanks] != '{') {
    give_up(parts);
  } else if (options_.syntax == ToolSyntax::kArguments) {
    raw_.clear();
    begin_call(options_.tools.front(), parts);
    begin_object(true);
    place_ = Place::kArguments;
  } else {
    begin_object(false);
  }
  return blanks;
}

size_t ToolParser::read_text(std::string_view text, Parts& parts) {
  if (mark_.empty()) {
    add_text(text, parts);
    return text.size();
  }
  const size_t before = held_.size();
  held_ += text;
  // Behind a call its end mark is no text.
  size_t found = held_.find(mark_), end = std::string::npos;
  if (calls_ != 0 && !end_mark_.empty()) end = held_.find(end_mark_);
  if (found == std::string::npos && end == std::string::npos) {
    size_t kept = partial_match(held_, mark_);
    if (calls_ != 0 && !end_mark_.empty()) kept = std::max(kept, partial_match(held_, end_mark_));
    add_text(std::string_view(held_).substr(0, held_.size() - kept), parts);
    held_.erase(0, held_.size() - kept);
    return text.size();
  }
  const bool is_mark = found < end;
  const size_t at = is_mark ? found : end, behind = at + (is_mark ? mark_ : end_mark_).size();
  add_text(std::string_view(held_).substr(0, at), parts);
  held_.clear();
  if (is_mark) {
    raw_ = mark_;
    has_list_ = false;
    place_ = Place::kBefore;
  }
  return behind - before;
}

size_t ToolParser::read_before(std::string_view text, Parts& parts) {
  const size_t blanks = blanks_before(text);
  raw_ += text.substr(0, blanks);
  if (raw_.size() > kBlankBytes) give_up(parts);
  if (blanks == text.size() || place_ != Place::kBefore) return blanks;
  const bool may_be_list = options_.syntax == ToolSyntax::kMistral || options_.syntax == ToolSyntax::kList;
  if (text[blanks] == '[' && may_be_list && !std::exchange(has_list_, true)) {
    raw_ += '[';
    return blanks + 1;
  }
  if (text[blanks] == '{') {
    begin_object(true);
  } else {
    give_up(parts);
  }
  return blanks;
}

size_t ToolParser::read_call(std::string_view text, Parts& parts) {
  size_t used = 0;
  const bool had_begun = scanner_->has_begun();
  const CallScanner::State state = scanner_->add(text, &used);
  bool begins = !had_begun && scanner_->has_begun();
  if (begins && !has_mark_ && !is_known(scanner_->name())) {
    raw_ += text.substr(0, used);
    give_up(parts);
    return used;
  }
  if (!had_begun && !begins) raw_ += text.substr(0, used);
  if (begins) begin_call(scanner_->name(), parts);
  add_arguments(scanner_->take_arguments(), parts);
  if (state == CallScanner::State::kEnded) {
    end_call(parts);
  } else if (state == CallScanner::State::kNoCall) {
    // What has begun as a call stays one; what follows is text.
    scanner_->has_begun() ? end_call(parts) : give_up(parts);
    if (place_ == Place::kBetween) place_ = Place::kText;
  }
  return used;
}

size_t ToolParser::read_between(std::string_view text, Parts& parts) {
  (void)parts;
  // Braces too many are a frequent mistake of models.
  const std::string_view skipped = options_.syntax == ToolSyntax::kHermes   ? " \t\r\n}"
                                   : options_.syntax == ToolSyntax::kLlama3 ? " \t\r\n;"
                                                                            : " \t\r\n,";
  const size_t blanks = std::min(text.find_first_not_of(skipped), text.size());
  if (blanks == text.size()) return blanks;
  if (text[blanks] == '{') {
    begin_object(true);
    return blanks;
  }
  place_ = Place::kText;
  return blanks + (text[blanks] == ']' && has_list_ ? 1 : 0);
}

size_t ToolParser::read_arguments(std::string_view text, Parts& parts) {
  // The object itself is read as the arguments of a call would be.
  size_t used = 0;
  const CallScanner::State state = scanner_->add(text, &used);
  add_arguments(scanner_->take_arguments(), parts);
  if (state != CallScanner::State::kReading) end_call(parts);
  return used;
}

void ToolParser::begin_object(bool has_mark) {
  scanner_.emplace(CallScanner::Options{.needs_arguments = !has_mark, .stops_at_name = !has_mark});
  has_mark_ = has_mark;
  has_arguments_ = false;
  place_ = Place::kCall;
  if (options_.syntax != ToolSyntax::kArguments) return;
  size_t used = 0;
  (void)scanner_->add(R"({"name":"-","arguments":)", &used);
}

void ToolParser::begin_call(const std::string& name, Parts& parts) {
  raw_.clear();
  blanks_.clear();
  add_part(parts, AnswerPart::Kind::kCall, calls_++, name);
}

void ToolParser::end_call(Parts& parts) {
  if (!has_arguments_) add_arguments("{}", parts);
  scanner_.reset();
  place_ = options_.one_call ? Place::kDone : Place::kBetween;
}

void ToolParser::add_arguments(std::string_view text, Parts& parts) {
  if (text.empty()) return;
  has_arguments_ = true;
  add_part(parts, AnswerPart::Kind::kArguments, calls_ - 1, text);
}

void ToolParser::give_up(Parts& parts) {
  scanner_.reset();
  place_ = Place::kText;
  add_text(std::exchange(raw_, {}), parts);
}

void ToolParser::add_text(std::string_view text, Parts& parts) {
  if (text.empty()) return;
  const size_t last = text.find_last_not_of(kBlanks);
  const size_t kept = last == std::string_view::npos ? 0 : last + 1;
  if (kept != 0) {
    flush_blanks(parts);
    parts.back().text += text.substr(0, kept);
  }
  blanks_ += text.substr(kept);
  if (blanks_.size() > kBlankBytes) flush_blanks(parts);
}

void ToolParser::flush_blanks(Parts& parts) {
  add_part(parts, AnswerPart::Kind::kText, 0, blanks_);
  blanks_.clear();
}

bool ToolParser::is_known(const std::string& name) const noexcept {
  return std::find(options_.tools.begin(), options_.tools.end(), name) != options_.tools.end();
}

}  // namespace atl::frontends::openai
