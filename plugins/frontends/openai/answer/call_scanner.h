/// One call of a tool, as a language model writes it: a JSON object with a name and arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace atl::frontends::openai {

/// Reads {"name": "...", "arguments": {...}} as it comes, byte by byte, each byte once. "parameters" stands for
/// "arguments". What stands in the arguments is passed on as the model wrote it.
class CallScanner {
 public:
  enum class State { kReading, kEnded, kNoCall };

  struct Options {
    bool needs_arguments = false;  ///< an object that has only a name is no call
    bool stops_at_name =
        false;  ///< add() returns where the call begins, as the caller may not want one of that name
  };
  explicit CallScanner(Options options)
      : needs_arguments_(options.needs_arguments), stops_at_name_(options.stops_at_name) {}

  /// \param used  set to how many bytes were read: fewer than there are behind the end, and where it is no call
  State add(std::string_view text, size_t* used);

  /// Name and beginning of the arguments are known.
  bool has_begun() const noexcept { return has_begun_; }
  const std::string& name() const noexcept { return name_; }
  /// The part of the arguments that has come since the last time; empty before has_begun().
  std::string take_arguments();

 private:
  enum class Place { kOpen, kKeyOrEnd, kKey, kKeyText, kColon, kValue, kComma, kEnd };
  enum class Field { kOther, kName, kArguments };

  /// False: this cannot be a call.
  bool read(char c);
  bool begin_value(char c);
  bool end_value();
  /// A byte of a value that is no word.
  bool read_value(char c);
  bool end_object();

  const bool needs_arguments_, stops_at_name_;
  Place place_ = Place::kOpen;
  Field field_ = Field::kOther;
  std::string key_, text_;  ///< text_: of a value that is a string
  std::string name_, arguments_;
  bool has_name_ = false, has_arguments_ = false, has_begun_ = false;
  // Of the value that is read.
  bool is_text_ = false, is_word_ = false;  ///< word: a number, true, false, null
  bool in_quotes_ = false, is_escaped_ = false;
  uint32_t depth_ = 0;
};

}  // namespace atl::frontends::openai
