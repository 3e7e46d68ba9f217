/// Calls of tools in the text of a language model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/openai/answer/call_scanner.h"

namespace atl::frontends::openai {

/// How a model writes calls of tools in its text.
enum class ToolSyntax : uint32_t {
  kHermes,  ///< <tool_call>{"name":...,"arguments":{...}}</tool_call>
  kLlama3,  ///< {"name":...,"parameters":{...}} as all of the answer, or behind <|python_tag|>; several with ';' between
  kMistral,  ///< [TOOL_CALLS] [{"name":...,"arguments":{...}}, ...]
  // What this server makes the model write by a JSON schema:
  kList,       ///< [{"name":...,"parameters":{...}}, ...]
  kArguments,  ///< the arguments of a tool that is known
};
/// "hermes", "llama3" (or "llama3_json") and "mistral"; nothing: it is none of them.
std::optional<ToolSyntax> tool_syntax_of(std::string_view name) noexcept;

/// A further part of an answer.
struct AnswerPart {
  enum class Kind : uint32_t { kText, kCall, kArguments };
  Kind kind = Kind::kText;
  uint32_t call = 0;  ///< index of the call of a tool, from 0 on
  std::string text;   ///< kCall: the tool's name
};

/// Takes a text in pieces apart into plain text and calls. Reads each byte once, and holds back only what may become a call.
/// What begins like a call and is none stays text.
class ToolParser {
 public:
  struct Options {
    ToolSyntax syntax = ToolSyntax::kHermes;
    /// Of kLlama3: an object that is no call of one of these stays text. Of kArguments: the tool.
    std::vector<std::string> tools;
    bool one_call = false;  ///< nothing is read behind the end of the first call
  };
  explicit ToolParser(Options options);

  void add(std::string_view text, std::vector<AnswerPart>& parts);
  /// The end: what was held back.
  void finish(std::vector<AnswerPart>& parts);
  /// How many calls have begun.
  uint32_t calls() const noexcept { return calls_; }
  /// With one_call: there is one, and it has ended.
  bool is_done() const noexcept { return place_ == Place::kDone; }

 private:
  using Parts = std::vector<AnswerPart>;
  enum class Place {
    kStart,  ///< nothing but blanks has come: an object without mark may follow
    kText,
    kBefore,     ///< behind a mark: an object has to follow
    kCall,       ///< inside of an object
    kBetween,    ///< behind an object
    kArguments,  ///< inside of the only call's arguments
    kDone
  };

  // Each reads from the beginning of what is there, and returns how many bytes.
  size_t read_start(std::string_view text, Parts& parts);
  size_t read_text(std::string_view text, Parts& parts);
  size_t read_before(std::string_view text, Parts& parts);
  size_t read_call(std::string_view text, Parts& parts);
  size_t read_between(std::string_view text, Parts& parts);
  size_t read_arguments(std::string_view text, Parts& parts);

  void begin_object(bool has_mark);
  void begin_call(const std::string& name, Parts& parts);
  void end_call(Parts& parts);
  void add_arguments(std::string_view text, Parts& parts);
  /// It was no call: what was kept of it is text.
  void give_up(Parts& parts);
  void add_text(std::string_view text, Parts& parts);
  void flush_blanks(Parts& parts);
  bool is_known(const std::string& name) const noexcept;

  const Options options_;
  const std::string_view mark_, end_mark_;
  Place place_ = Place::kText;
  std::string held_;    ///< in kText: may be the beginning of a mark
  std::string blanks_;  ///< at the end of the text so far: they go out with what follows, if it is text
  std::string raw_;     ///< of what may be a call and has not begun as one
  std::optional<CallScanner> scanner_;
  bool has_mark_ = false;       ///< the object in scanner_ stands behind one
  bool has_list_ = false;       ///< the '[' behind the mark has come
  bool has_arguments_ = false;  ///< of the present call, any
  uint32_t calls_ = 0;
};

}  // namespace atl::frontends::openai
