/// The answers of /v1/responses.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontends/openai/answer/answer_format.h"

namespace atl::frontends::openai {

/// What of a request stands in its answer; JSON, as the client sent it.
struct ResponseEcho {
  std::string instructions = "null";
  std::string max_output_tokens = "null";
  std::string temperature = "1.0", top_p = "1.0";
  std::string tools = "[]", tool_choice = "\"auto\"";
  std::string format = R"({"type":"text"})";
  std::string effort = "null";
  std::string metadata = "{}", user = "null";
  bool is_parallel = true;
};

class ResponsesFormat final : public AnswerFormat {
 public:
  ResponsesFormat(std::string model, int64_t created_s, ResponseEcho echo);
  virtual ~ResponsesFormat() = default;

  std::string whole(std::span<const AnswerChoice> choices, const Usage& usage) override;
  void open(uint32_t choice, const Usage& so_far, std::string& out) override;
  void text(uint32_t choice, std::string_view text, const std::vector<TokenLogprob>& tokens,
            std::string& out) override;
  void call(uint32_t choice, uint32_t index, const ToolCall& call, std::string& out) override;
  void arguments(uint32_t choice, uint32_t index, std::string_view text, std::string& out) override;
  void close(uint32_t choice, const AnswerChoice& answer, std::string& out) override;
  void end(std::span<const AnswerChoice> choices, const Usage& usage, std::string& out) override;
  void failure(const ApiError& error, std::string& out) override;

 private:
  /// A message, or a call of a function.
  struct Item {
    std::string id;
    bool is_call = false;
    ToolCall call;
    std::string text;
    std::vector<TokenLogprob> tokens;
  };

  Item& begin_item(bool is_call);
  /// \param status  "in_progress" or "completed" \param is_empty  without what it says
  void append_item(const Item& item, std::string_view status, bool is_empty, std::string& out) const;
  static void append_part(const Item& item, bool is_empty, std::string& out);
  /// \param usage  null: not known yet
  void append_response(std::string_view status, const Usage* usage, const ApiError* error,
                       std::string& out) const;
  /// Begins an event; its further members follow, and end_event().
  void begin_event(std::string_view type, std::string& out);
  /// As begin_event(), with the place of the present item. \param has_part  and of its part
  void begin_item_event(std::string_view type, bool has_part, std::string& out);
  static void end_event(std::string& out) { out += "}\n\n"; }
  void response_event(std::string_view type, std::string_view status, const Usage* usage,
                      const ApiError* error, std::string& out);
  /// The present item, if there is one, is complete.
  void end_item(std::string& out);

  const std::string id_, model_;
  const int64_t created_s_;
  const ResponseEcho echo_;
  std::vector<Item> items_;
  bool has_open_item_ = false;
  bool is_full_ = false;  ///< ended at the limit of tokens
  uint64_t sequence_ = 0;
};

}  // namespace atl::frontends::openai
