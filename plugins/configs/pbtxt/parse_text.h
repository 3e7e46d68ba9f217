/// Text format of ModelConfig to message.
#pragma once

#include <string>
#include <vector>

#include "atoll/core/status.h"
#include "configs/pbtxt/source_map.h"
#include "configs/pbtxt/text_lint.h"
#include "model_config.pb.h"

namespace atl::pbtxt {

inline constexpr size_t kTextBytesMax = 16 * 1024 * 1024;
/// Deepest nesting of messages; ModelConfig itself needs seven.
inline constexpr int kNestingMax = 32;
/// Most errors that one failure lists.
inline constexpr size_t kTextErrorsMax = 10;

enum class UnknownFields { kRefuse, kWarn };

struct ParsedText {
  inference::ModelConfig config;
  SourceMap source;
  std::vector<std::string> warnings;  ///< unknown fields that were ignored, with their places
};

/// What a text holds, and everything that is wrong with it as a text.
struct TextReading {
  inference::ModelConfig config;
  SourceMap source;
  bool complete = false;                  ///< it was read to its end; `config` has all that is known
  std::vector<TextError> errors;          ///< in the order of the text
  std::vector<TextError> unknown_fields;  ///< those that were ignored
};

/// Reads a configuration as far as it goes. \param errors_max  about how many errors are looked for. Does not
/// look at the values of strings and enums (check_values.h). A text over kTextBytesMax is not read: one
/// error.
TextReading read_text(const std::string& path, const std::string& text, UnknownFields unknown_fields,
                      size_t errors_max);

/// Parses a configuration. \param path  of the file, for messages only.
/// Errors: INVALID_ARGUMENT "<path>:<line>:<column>: field '<field>': <reason>"; of several the first
/// kTextErrorsMax follow each other, joined by "; ". Besides what the text format asks for: every enum value
/// is a known one, and every string is UTF-8.
Result<ParsedText> parse_text(const std::string& path, const std::string& text, UnknownFields unknown_fields);

}  // namespace atl::pbtxt
