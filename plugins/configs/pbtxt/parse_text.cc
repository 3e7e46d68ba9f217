#include "configs/pbtxt/parse_text.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "configs/pbtxt/checks/check_values.h"

namespace atl::pbtxt {

namespace {

namespace protobuf = google::protobuf;

/// Keeps the first error; unknown fields arrive as warnings.
class Collector final : public protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (!first_) first_ = TextError{line, column, {}, message};
  }
  void AddWarning(int, int, const std::string&) override { warned_ = true; }

  const std::optional<TextError>& first() const { return first_; }
  bool warned() const { return warned_; }

 private:
  std::optional<TextError> first_;
  bool warned_ = false;
};

std::string leaf(const std::string& field) {
  std::string name = field.substr(field.rfind('.') + 1);
  return name.substr(0, name.find('['));
}

/// Adds the field to the parser's error, and moves it to where the mistake is rather than was noticed.
TextError complete(TextError error, const TextLint& lint) {
  error.field = lint.field_at_place;
  for (const TextError& name : lint.last_names) {
    bool quoted =
        !name.field.empty() && error.reason.find(cat('"', leaf(name.field), '"')) != std::string::npos;
    if (quoted) return {name.line, name.column, name.field, error.reason};
  }
  return error;
}

std::string format(const std::string& path, const TextError& error) {
  if (error.line < 0) return cat(path, ": ", error.reason);
  std::string place = cat(path, ":", error.line + 1, ":", error.column + 1, ": ");
  return error.field.empty() ? place + error.reason : cat(place, "field '", error.field, "': ", error.reason);
}

Status failure(const std::string& path, const std::vector<TextError>& errors) {
  std::string text;
  for (size_t i = 0; i < errors.size() && i < kTextErrorsMax; ++i) {
    if (i != 0) text += "; ";
    text += format(path, errors[i]);
  }
  if (errors.size() > kTextErrorsMax) text += "; and more";
  return Status(Code::kInvalidArgument, std::move(text));
}

enum class Repeated { kRefuse, kTake };  ///< fields that exclude each other

/// \returns the parser's error; one without a place: there are only unknown fields; nothing: all is well
std::optional<TextError> parse(const std::string& text, Repeated repeated, TextReading& reading) {
  Collector collector;
  protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&collector);
  reading.source = SourceMap(reading.source.path());
  reading.config.Clear();
  parser.WriteLocationsTo(reading.source.tree());
  parser.SetRecursionLimit(kNestingMax);
  // Unknown fields are let through at first, so that all of them are found in one go.
  parser.AllowUnknownField(true);
  protobuf::io::ArrayInputStream input(text.data(), static_cast<int>(text.size()));
  reading.complete = repeated == Repeated::kRefuse ? parser.Parse(&input, &reading.config)
                                                   : parser.Merge(&input, &reading.config);
  if (reading.complete && !collector.warned()) return std::nullopt;
  return collector.first().value_or(TextError{-1, -1, {}, {}});
}

void append(std::vector<TextError>& errors, const std::vector<TextError>& more) {
  errors.insert(errors.end(), more.begin(), more.end());
}

bool is_any_of(const std::vector<TextError>& errors, const TextError& hard) {
  return std::ranges::any_of(errors, [&](const TextError& one) { return one.reason == hard.reason; });
}

/// Adds what the parser stopped at, and the values that it would have refused behind it. Those are sure as far as its own
/// mistake is one of a value, too: behind one of form, names may be taken for values.
void add_hard(TextReading& reading, TextError hard, const TextLint& lint) {
  const auto place = [](const TextError& error) { return std::tie(error.line, error.column); };
  const bool is_unknown = hard.reason.starts_with("Unknown enumeration value");
  const bool is_value = is_any_of(lint.wrong_values, hard) || (is_unknown && !lint.unknown_values.empty());
  for (const TextError& value : lint.wrong_values) {
    if (value.field == hard.field && value.reason == hard.reason) continue;
    if (is_value || place(value) < place(hard)) reading.errors.push_back(value);
  }
  if (!is_unknown || lint.unknown_values.empty()) reading.errors.push_back(std::move(hard));
}

}  // namespace

TextReading read_text(const std::string& path, const std::string& text, UnknownFields unknown_fields,
                      size_t errors_max) {
  TextReading reading;
  reading.source = SourceMap(path);
  if (text.size() > kTextBytesMax) {
    reading.errors.push_back(
        {-1, -1, {}, cat("has ", text.size(), " bytes, expected at most ", kTextBytesMax)});
    return reading;
  }
  std::optional<TextError> hard = parse(text, Repeated::kRefuse, reading);
  if (reading.complete && !hard) return reading;

  if (!hard) hard = TextError{-1, -1, {}, {}};
  TextLint lint = lint_text(text, hard->line, hard->column, errors_max);
  if (!reading.complete && is_any_of(lint.repeated, *hard)) {
    // It stopped there; what stands behind is looked at, too.
    reading.errors = std::move(lint.repeated);
    hard = parse(text, Repeated::kTake, reading).value_or(TextError{-1, -1, {}, {}});
    lint = lint_text(text, hard->line, hard->column, errors_max);
  }
  append(reading.errors, lint.unknown_values);
  auto& fields = unknown_fields == UnknownFields::kRefuse ? reading.errors : reading.unknown_fields;
  append(fields, lint.unknown_fields);
  if (!reading.complete) add_hard(reading, complete(*hard, lint), lint);
  std::stable_sort(reading.errors.begin(), reading.errors.end(), [](const TextError& a, const TextError& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  });
  return reading;
}

Result<ParsedText> parse_text(const std::string& path, const std::string& text,
                              UnknownFields unknown_fields) {
  TextReading reading = read_text(path, text, unknown_fields, kTextErrorsMax + 1);
  if (!reading.errors.empty()) return failure(path, reading.errors);
  ATOLL_RETURN_IF_ERROR(check_values(reading.config, reading.source));
  ParsedText parsed;
  for (const TextError& error : reading.unknown_fields) parsed.warnings.push_back(format(path, error));
  parsed.config = std::move(reading.config);
  parsed.source = std::move(reading.source);
  return parsed;
}

}  // namespace atl::pbtxt
