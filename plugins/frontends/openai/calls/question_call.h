/// A call whose answer is written from all that the model has said.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/openai/calls/group_call.h"
#include "frontends/openai/calls/outputs.h"

namespace atl::frontends::openai {

/// What a model has said in all of its responses; empty: nothing.
struct ModelAnswer {
  std::vector<float> numbers;      ///< of the outputs of floating point
  std::vector<std::string> texts;  ///< of those of BYTES
  std::vector<int64_t> integers;   ///< of all others but the count of tokens
  uint64_t input_tokens = 0;
};

/// Several texts of one call, each a request of its own. The outputs that are wanted are of different kinds, so each lands in a
/// member of its own.
class QuestionCall final : public GroupCall {
 public:
  /// Makes the body of the answer. Errors: the model has not said what it should.
  using Write = std::function<Result<std::string>(std::vector<ModelAnswer>& answers)>;
  /// What is asked.
  struct Question {
    std::vector<Prompt> prompts;         ///< each in a request of its own
    std::string query;                   ///< with documents
    std::vector<std::string> documents;  ///< not empty: one request, which has these and the query
    std::string messages;                ///< of a chat: in place of the prompt, if the model takes messages
    std::string chat_options;            ///< empty: none
    std::vector<std::string_view> wanted;
    ErrorJson errors = &openai_error_json;
  };

  /// Answers the exchange, now or later. [any]
  static void start(OpenAiContext& context, HttpExchange& exchange, Question question, Write write,
                    CallOrigin head, FoundModel model, Pass pass);

 private:
  class Item;

  QuestionCall(OpenAiContext& context, HttpExchange& exchange, Question question, Write write,
               CallOrigin head, FoundModel model, Pass pass);
  virtual ~QuestionCall();

  void make_items();
  void finish(const ApiError* failure) noexcept override;

  const Question question_;
  const Write write_;
  std::vector<std::string> texts_;  ///< encoded; inputs point there
  std::string tokens_name_;         ///< of the output, as the model has it
  std::vector<std::unique_ptr<Item>> items_;
};

}  // namespace atl::frontends::openai
