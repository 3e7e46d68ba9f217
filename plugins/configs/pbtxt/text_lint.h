/// Looks through a text that the parser did not take as it is, for messages better than the parser's.
#pragma once

#include <string>
#include <vector>

namespace atl::pbtxt {

/// Something wrong at a place of the text.
struct TextError {
  int line = 0;       ///< from 0, as the parser counts
  int column = 0;     ///< from 0, in bytes; a tab goes on to the next multiple of 8
  std::string field;  ///< "input[0].data_type"
  std::string reason;
};

struct TextLint {
  std::vector<TextError> unknown_fields;  ///< "unknown field 'x' in ModelConfig, did you mean 'y'?"
  std::vector<TextError> unknown_values;  ///< "unknown value 'X' of DataType, did you mean 'Y'?"
  std::vector<TextError> wrong_values;    ///< "Expected integer, got: x", in the parser's own words
  std::vector<TextError> repeated;        ///< fields beside others that exclude them, likewise
  /// The field being written at the place asked for; empty between the fields of the outermost message.
  std::string field_at_place;
  /// The two field names last read there, newest first: some mistakes are noticed only at the next token.
  TextError last_names[2];
};

/// Walks the tokens of a ModelConfig without recursion. \param line,column  a place (from 0) whose field is
/// wanted. Stops where the text stops making sense, at 100 levels, or after `errors_max` errors of a kind.
TextLint lint_text(const std::string& text, int line, int column, size_t errors_max);

}  // namespace atl::pbtxt
