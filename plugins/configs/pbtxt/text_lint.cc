#include "configs/pbtxt/text_lint.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <utility>

#include "atoll/core/text.h"
#include "configs/pbtxt/nearest.h"
#include "model_config.pb.h"

namespace atl::pbtxt {

namespace {

namespace protobuf = google::protobuf;
using protobuf::io::Tokenizer;

constexpr size_t kLevelsMax = 100;

class IgnoreErrors final : public protobuf::io::ErrorCollector {
 public:
  void AddError(int, int, const std::string&) override {}
};

/// What follows the name in a message's own words: "ModelDynamicBatching", "ModelVersionPolicy.Latest".
std::string short_name(const std::string& full_name) {
  constexpr std::string_view kPackage = "inference.";
  return full_name.starts_with(kPackage) ? full_name.substr(kPackage.size()) : full_name;
}

std::string with_suggestion(std::string text, std::string_view name, const std::vector<std::string>& known) {
  if (auto meant = nearest(name, known)) text += cat(", did you mean '", *meant, "'?");
  return text;
}

std::string unknown_field(const protobuf::Descriptor* type, const std::string& name) {
  std::vector<std::string> known;
  for (int i = 0; i < type->field_count(); ++i) known.push_back(type->field(i)->name());
  return with_suggestion(cat("unknown field '", name, "' in ", short_name(type->full_name())), name, known);
}

/// What other programs call types of tensors.
constexpr std::pair<std::string_view, std::string_view> kOtherTypeNames[] = {
    {"FLOAT", "FP32"},   {"FLOAT32", "FP32"},  {"DOUBLE", "FP64"}, {"FLOAT64", "FP64"}, {"HALF", "FP16"},
    {"FLOAT16", "FP16"}, {"BFLOAT16", "BF16"}, {"INT", "INT32"},   {"LONG", "INT64"},   {"BYTE", "UINT8"},
    {"BYTES", "STRING"}, {"STR", "STRING"},    {"BOOLEAN", "BOOL"}};

std::string unknown_value(const protobuf::EnumDescriptor* type, const std::string& name) {
  for (const auto& [other, ours] : kOtherTypeNames) {
    if (type->full_name() != "inference.DataType" || (name != other && name != cat("TYPE_", other))) continue;
    return with_suggestion(cat("unknown value '", name, "' of ", short_name(type->full_name())),
                           cat("TYPE_", ours), {cat("TYPE_", ours)});
  }
  std::vector<std::string> known;
  for (int i = 0; i < type->value_count(); ++i) known.push_back(type->value(i)->name());
  return with_suggestion(cat("unknown value '", name, "' of ", short_name(type->full_name())), name, known);
}

bool is_word(std::string text, std::initializer_list<std::string_view> words) {
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return std::ranges::find(words, text) != words.end();
}

/// The whole number that the field takes at most; 0: it takes others.
uint64_t whole_number_max(const protobuf::FieldDescriptor& field, bool is_negative) {
  using Field = protobuf::FieldDescriptor;
  switch (field.cpp_type()) {
    case Field::CPPTYPE_INT32:
    case Field::CPPTYPE_ENUM:
      return uint64_t{INT32_MAX} + (is_negative ? 1 : 0);
    case Field::CPPTYPE_INT64:
      return uint64_t{INT64_MAX} + (is_negative ? 1 : 0);
    case Field::CPPTYPE_UINT32:
      return UINT32_MAX;
    case Field::CPPTYPE_UINT64:
      return UINT64_MAX;
    default:
      return 0;
  }
}

/// Why the parser does not take the token as the field's value, in its words; empty: it does.
std::string wrong_value(const protobuf::FieldDescriptor& field, const Tokenizer::Token& token,
                        bool is_negative) {
  using Field = protobuf::FieldDescriptor;
  const std::string& text = token.text;
  const bool is_number = token.type == Tokenizer::TYPE_INTEGER;
  const bool is_name = token.type == Tokenizer::TYPE_IDENTIFIER;
  uint64_t value = 0;
  switch (field.cpp_type()) {
    case Field::CPPTYPE_MESSAGE:
      return cat("Expected \"{\", found \"", text, "\".");
    case Field::CPPTYPE_STRING:
      return token.type == Tokenizer::TYPE_STRING ? "" : cat("Expected string, got: ", text);
    case Field::CPPTYPE_FLOAT:
    case Field::CPPTYPE_DOUBLE:
      if (is_number || token.type == Tokenizer::TYPE_FLOAT) return "";
      return is_name && is_word(text, {"inf", "infinity", "nan"}) ? "" : cat("Expected double, got: ", text);
    case Field::CPPTYPE_BOOL:
      if (is_number && Tokenizer::ParseInteger(text, 1, &value)) return "";
      if (is_number) return cat("Integer out of range (", text, ")");
      if (!is_name) return cat("Expected identifier, got: ", text);
      if (text == "true" || text == "True" || text == "t" || text == "false" || text == "False" ||
          text == "f")
        return "";
      return cat("Invalid value for boolean field \"", field.name(), "\". Value: \"", text, "\".");
    case Field::CPPTYPE_ENUM:
      if (is_name && !is_negative) return "";  // whether there is such a one is asked elsewhere
      if (!is_number) return cat("Expected integer or identifier, got: ", text);
      break;
    default:
      if (!is_number) return cat("Expected integer, got: ", text);
  }
  const bool is_in_range = Tokenizer::ParseInteger(text, whole_number_max(field, is_negative), &value);
  return is_in_range ? "" : cat("Integer out of range (", text, ")");
}

bool takes_minus(const protobuf::FieldDescriptor& field) {
  using Field = protobuf::FieldDescriptor;
  const Field::CppType type = field.cpp_type();
  return type == Field::CPPTYPE_INT32 || type == Field::CPPTYPE_INT64 || type == Field::CPPTYPE_FLOAT ||
         type == Field::CPPTYPE_DOUBLE || type == Field::CPPTYPE_ENUM;
}

class Walker {
 public:
  Walker(const std::string& text, int line, int column, size_t errors_max)
      : input_(text.data(), static_cast<int>(text.size())),
        tokens_(&input_, &ignore_),
        line_(line),
        column_(column),
        errors_max_(errors_max) {
    tokens_.set_comment_style(Tokenizer::SH_COMMENT_STYLE);
    tokens_.set_allow_f_after_float(true);
    tokens_.set_require_space_after_number(false);
    tokens_.set_allow_multiline_strings(true);
    levels_.push_back({"", inference::ModelConfig::descriptor(), {}, {}, false});
  }

  TextLint run() && {
    while (tokens_.Next() && !levels_.empty() && levels_.size() <= kLevelsMax &&
           lint_.unknown_fields.size() < errors_max_ && lint_.unknown_values.size() < errors_max_ &&
           lint_.wrong_values.size() < errors_max_ && lint_.repeated.size() < errors_max_) {
      const auto& token = tokens_.current();
      bool reached = std::pair(token.line, token.column) >= std::pair(line_, column_);
      take(token);
      if (reached && !placed_) note_place();
    }
    if (!placed_) note_place();
    return std::move(lint_);
  }

 private:
  /// A message that is open.
  struct Level {
    std::string path;                  ///< "input[0]."
    const protobuf::Descriptor* type;  ///< null inside an unknown field
    std::map<std::string, int> seen;   ///< how often each field was written
    std::map<int, std::string>
        chosen;    ///< the fields that were written of each choice ("oneof"), by its index
    bool in_list;  ///< it is an element of [...]
  };
  enum class Expect { kName, kColonOrMessage, kValue, kListItem };

  void note_place() {
    placed_ = true;
    lint_.field_at_place = current_field();
  }

  std::string current_field() const {
    if (field_name_.empty()) return levels_.empty() ? "" : levels_.back().path.substr(0, path_size());
    return (levels_.empty() ? "" : levels_.back().path) + field_name_;
  }
  size_t path_size() const { return levels_.back().path.empty() ? 0 : levels_.back().path.size() - 1; }

  void take(const Tokenizer::Token& token) {
    const std::string& text = token.text;
    if (text == "{" || text == "<") {
      if (field_ != nullptr && field_->message_type() == nullptr && expect_ == Expect::kColonOrMessage)
        wrong(token, cat("Expected \":\", found \"", text, "\"."));
      return open_message();
    }
    if (text == "}" || text == ">") return close_message();
    if (text == "[") return open_list();
    if (text == "]") {
      in_list_ = false;
      expect_ = Expect::kName;
      return;
    }
    if (text == "," || text == ";") {
      if (in_list_) next_item();
      return;
    }
    if (text == ":") {
      expect_ = in_list_ ? Expect::kListItem : Expect::kValue;
      return;
    }
    if (expect_ == Expect::kName && token.type == Tokenizer::TYPE_IDENTIFIER) return name(token);
    if (expect_ == Expect::kValue || expect_ == Expect::kListItem) return value(token);
    if (expect_ == Expect::kColonOrMessage && field_ != nullptr) {
      const bool is_message = field_->message_type() != nullptr;
      wrong(token, cat("Expected \"", is_message ? "{" : ":", "\", found \"", text, "\"."));
    }
    // Parts of a string may follow each other; behind anything else names may be taken for values, and values for names.
    if (token.type != Tokenizer::TYPE_STRING || expect_ != Expect::kName) is_lost_ = true;
  }

  void wrong(const Tokenizer::Token& token, std::string reason) {
    if (!is_lost_)
      lint_.wrong_values.push_back({token.line, token.column, current_field(), std::move(reason)});
  }

  /// A field that may be written once, and one of a choice.
  void look_for_others(const Tokenizer::Token& token) {
    Level& level = levels_.back();
    if (is_lost_ || field_->is_repeated()) return;
    std::string reason;
    if (level.seen[bare_name_]++ > 0) {
      reason = cat("Non-repeated field \"", bare_name_, "\" is specified multiple times.");
    } else if (const auto* choice = field_->containing_oneof(); choice != nullptr) {
      const auto [other, is_first] = level.chosen.emplace(choice->index(), bare_name_);
      if (!is_first)
        reason = cat("Field \"", bare_name_, "\" is specified along with field \"", other->second,
                     "\", another member of oneof \"", choice->name(), "\".");
    }
    if (!reason.empty())
      lint_.repeated.push_back({token.line, token.column, current_field(), std::move(reason)});
  }

  void name(const Tokenizer::Token& token) {
    Level& level = levels_.back();
    field_ = level.type == nullptr ? nullptr : level.type->FindFieldByName(token.text);
    bare_name_ = token.text;
    field_name_ = bare_name_;
    if (field_ != nullptr && field_->is_repeated() && !field_->is_map()) next_index();
    if (level.type != nullptr && field_ == nullptr) {
      lint_.unknown_fields.push_back(
          {token.line, token.column, current_field(), unknown_field(level.type, token.text)});
    }
    if (field_ != nullptr) look_for_others(token);
    if (!placed_) {
      lint_.last_names[1] = std::move(lint_.last_names[0]);
      lint_.last_names[0] = {token.line, token.column, current_field(), {}};
    }
    expect_ = Expect::kColonOrMessage;
  }

  void next_index() { field_name_ = cat(bare_name_, "[", levels_.back().seen[bare_name_]++, "]"); }
  void next_item() {
    if (field_ != nullptr && field_->is_repeated() && !field_->is_map()) next_index();
    expect_ = Expect::kListItem;
  }

  void value(const Tokenizer::Token& token) {
    bool names_value = field_ != nullptr && field_->type() == protobuf::FieldDescriptor::TYPE_ENUM &&
                       token.type == Tokenizer::TYPE_IDENTIFIER;
    if (names_value && field_->enum_type()->FindValueByName(token.text) == nullptr) {
      lint_.unknown_values.push_back(
          {token.line, token.column, current_field(), unknown_value(field_->enum_type(), token.text)});
    }
    const bool is_minus = token.text == "-";
    if (field_ != nullptr && (!is_minus || !takes_minus(*field_)) && !is_refused_) {
      if (std::string reason = wrong_value(*field_, token, is_negative_); !reason.empty()) {
        wrong(token, std::move(reason));
        is_refused_ = is_minus;
      }
    } else if (!is_minus) {
      is_refused_ = false;
    }
    is_negative_ = is_minus;
    if (is_minus || in_list_) return;
    expect_ = Expect::kName;
  }

  void open_list() {
    in_list_ = true;
    expect_ = Expect::kListItem;
  }

  void open_message() {
    const protobuf::Descriptor* type = field_ == nullptr ? nullptr : field_->message_type();
    levels_.push_back({current_field() + ".", type, {}, {}, in_list_});
    names_.push_back({field_, bare_name_});
    in_list_ = false;
    leave_field();
  }

  void close_message() {
    in_list_ = levels_.back().in_list;
    levels_.pop_back();
    if (names_.empty()) return;
    if (in_list_) {
      field_ = names_.back().first;
      bare_name_ = names_.back().second;
      field_name_ = bare_name_;
    } else {
      leave_field();
    }
    names_.pop_back();
    expect_ = in_list_ ? Expect::kListItem : Expect::kName;
  }

  void leave_field() {
    field_ = nullptr;
    field_name_.clear();
    expect_ = Expect::kName;
  }

  IgnoreErrors ignore_;
  protobuf::io::ArrayInputStream input_;
  Tokenizer tokens_;
  const int line_;
  const int column_;
  const size_t errors_max_;
  TextLint lint_;
  bool placed_ = false;
  Expect expect_ = Expect::kName;
  bool in_list_ = false;
  bool is_lost_ = false;      ///< what follows cannot be told apart
  bool is_negative_ = false;  ///< a minus was the token before
  bool is_refused_ = false;   ///< likewise, where none may be
  std::vector<Level> levels_;
  std::vector<std::pair<const protobuf::FieldDescriptor*, std::string>> names_;  ///< of the open messages
  const protobuf::FieldDescriptor* field_ = nullptr;
  std::string bare_name_;
  std::string field_name_;  ///< with its index
};

}  // namespace

TextLint lint_text(const std::string& text, int line, int column, size_t errors_max) {
  return Walker(text, line, column, errors_max).run();
}

}  // namespace atl::pbtxt
